"""Paths of depths and penalties: scores that follow from proved trees equal those of separate fits."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odtc.data.dataset import NUMERIC, Dataset, Feature
from odtc.errors import ChoiceError
from odtc.evaluation import cross_validation
from odtc.evaluation.cross_validation import score_fold
from odtc.evaluation.studies import price_path
from odtc.evaluation.studies.engine import Step, bundles, finish_in_turn, local, run_tasks
from odtc.evaluation.studies.study import Study, TableRows
from odtc.evaluation.studies.sweep import sweep_of
from odtc.workflow.specification import ModelSpec, RunSpec

PRICES = ("0", "0.3", "0.55", "0.7", "0.9", "0.97")


def table(seed: int, n: int, m: int, values: int, classes: int) -> Dataset:
    """Rows with ties and equal ones; the first column says a part of the class."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, values, (n, m)).astype(float)
    y = ((X[:, 0] > values // 2) ^ (rng.random(n) < 0.25)).astype(np.int32)
    noise = rng.random(n) < 0.15
    y[noise] = rng.integers(0, classes, noise.sum())
    y[: 2 * classes] = np.arange(2 * classes) % classes
    features = tuple(Feature(f"x{j}", NUMERIC) for j in range(m))
    return Dataset("made", X, y, features, tuple("abc"[:classes]), rng.integers(1, 3, n).astype(float))


@settings(max_examples=3)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(14, 40),
    m=st.integers(1, 4),
    values=st.integers(2, 6),
    classes=st.integers(2, 3),
    least=st.sampled_from([None, 3]),
    model=st.sampled_from(["dpflow", "auto"]),
)
def test_a_path_scores_as_fits_of_their_own(seed, n, m, values, classes, least, model):
    data = table(seed, n, m, values, classes)
    part = np.arange(n) % 3 == 0
    part[: 2 * classes] = False
    train, test = data.taken(~part), data.taken(part)
    drawn = np.random.default_rng(seed).choice(PRICES, 4, replace=False)
    grid = cross_validation.grid([model], [1, 2, 3], {"lambda": list(drawn)}, [least])
    specs = [setting.of(RunSpec()) for setting in grid]
    turn = price_path.turns(spec.model for spec in specs)
    price_path.path_of.cache_clear()
    for spec in sorted(specs, key=lambda spec: turn[spec.model.depth, price_path.price_of(spec.model)]):
        found, alone = (score_fold(train, test, spec, 0, 0, path) for path in ("a", ""))
        assert replace(found, seconds=None) == replace(alone, seconds=None), spec.model


def test_a_grid_of_prices_is_a_few_fits(monkeypatch):
    data, prices = table(1, 60, 3, 5, 2), [str(k / 20) for k in range(20)]
    grid = cross_validation.grid(["dpflow"], [1, 2], {"lambda": prices})
    ran = []
    whole = cross_validation.run_spec
    monkeypatch.setattr(cross_validation, "run_spec", lambda *given: ran.append(given) or whole(*given))
    study = Study((TableRows.of(data),), grid, cross_validation.PLAIN, 2)
    (results,) = study.results(dict(enumerate(run_tasks(study.tasks, local(1)))), "accuracy")
    found = [result.folds for result in results]
    assert len(grid) * 2 == 80 and len(ran) <= 40
    # In the order of the grid, whatever the order of the fits.
    assert [[(one.setting, one.fold) for one in mine] for mine in found] == [[(s, 0), (s, 1)] for s in range(40)]
    leaves = np.array([[one.n_leaves for one in mine] for mine in found]).reshape(2, 20, 2)
    assert (np.diff(leaves, axis=1) <= 0).all() and all(one.proved for mine in found for one in mine)


def test_what_is_not_proved_to_be_the_first_stands_for_nothing():
    data = table(2, 30, 2, 4, 2)
    for spec in (
        RunSpec(model=ModelSpec("dpflow", 2, {"lambda": "0.5", "tail": "0"})),  # a model, and a solver
        RunSpec(model=ModelSpec("cart", 2)),
        RunSpec(model=ModelSpec("dpflow", 2, {"lambda": "half"})),
    ):
        path = price_path.PricePath()
        done = cross_validation.run_spec(spec, data) if spec.model.params.get("lambda") != "half" else None
        price = price_path.price_of(spec.model)
        if done is not None:
            path.note(2, price, done, "scores")
        assert path.scores(2, price) is None


def test_settings_of_one_path_differ_in_depth_and_price_alone():
    one = ModelSpec("dpflow", 2, {"lambda": "0.1"})
    same = [replace(one, depth=3), replace(one, params={"lambda": "0.2"})]
    others = [
        replace(one, params={"lambda": "0.1", "tail": "1"}),
        replace(one, params={}),
        replace(one, constraints=("leaf_rows >= 2",)),
        replace(one, class_weight="balanced"),
        replace(one, encoding="onehot"),
    ]
    assert all(price_path.beside_price(spec) == price_path.beside_price(one) for spec in same)
    assert all(price_path.beside_price(spec) != price_path.beside_price(one) for spec in others)


@dataclass(frozen=True)
class Numbered:
    n: int
    step: Step | None = None

    @property
    def key(self) -> str:
        return str(self.n)

    def run(self) -> dict:
        return {"n": self.n}


def test_bundles_are_whole_paths_if_there_is_work_for_all():
    tasks = [
        Numbered(at, Step(f"path {path}", f"depth {depth}", 10 - depth + turn))
        for at, (path, depth, turn) in enumerate((p, d, t) for d in (0, 3) for t in (1, 0) for p in (0, 1))
    ]
    assert bundles(tasks, 1) == bundles(tasks, 2) == [[6, 4, 2, 0], [7, 5, 3, 1]]
    assert bundles(tasks, 3) == bundles(tasks, 4) == [[2, 0], [3, 1], [6, 4], [7, 5]]
    assert bundles(tasks, 5) == [[at] for at in range(8)]
    assert bundles([Numbered(n) for n in range(3)], 1) == [[0], [1], [2]]
    assert sorted(local(1)(tasks, None)) == [(at, {"n": at}) for at in range(8)]
    assert finish_in_turn(tasks[:2], None) == [{"n": 0}, {"n": 1}]


def test_both_ends_come_before_the_middle():
    specs = [ModelSpec("dpflow", depth, {"lambda": f"0.{k}"}) for k in range(5) for depth in (1, 3)]
    turn = price_path.turns(specs)
    order = sorted((place for place in turn if place[1] is not None), key=turn.get)
    assert order == [(depth, price) for depth in (3, 1) for price in (0.0, 0.4, 0.2, 0.1, 0.3)]


def test_auto_has_the_parameters_of_the_models_that_it_chooses(tmp_path):
    (tmp_path / "t.csv").write_text("a,class\n" + "".join(f"{at},{at % 2}\n" for at in range(12)))
    grid = {"models": ["auto"], "depths": [1], "encodings": ["auto"], "seeds": [0], "folds": 2}
    study = sweep_of([tmp_path / "t.csv"], RunSpec(), grid | {"params": {"lambda": ["0", "0.9"]}}).study
    assert [task.spec.model.params for task in study.tasks] == [{"lambda": "0"}] * 2 + [{"lambda": "0.9"}] * 2
    parts = [study.part(which, 3) for which in range(3)]
    assert sorted(task.key for part in parts for task in part) == sorted(task.key for task in study.tasks)
    with pytest.raises(ChoiceError, match="none of them has"):
        sweep_of([tmp_path / "t.csv"], RunSpec(), grid | {"params": {"lamda": ["0"]}})
