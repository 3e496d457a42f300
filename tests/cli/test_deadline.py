"""A time limit includes the compiler: the best tree so far is the result, and a message reports the limit."""

import gzip
import importlib
import re
import signal
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from sklearn.exceptions import ConvergenceWarning

import odtc
from odtc.base import deadline, memory
from odtc.data import ranked_answers, reading
from odtc.data.cells import data_files
from odtc.data.cells.readers import arff, parquet
from odtc.data.dataset import Dataset, Feature
from odtc.data.ranked_answers import RankedAnswers
from odtc.errors import ModelError, TimeLimitReached
from odtc.model.solution import Solution, Termination
from odtc.problem import identity
from odtc.workflow import compiling
from tests import pipeline
from tests.command_line import contents, hearing, refused, signalled
from tests.command_line import odtc as command


def test_a_limit_holds_inside_and_no_longer():
    deadline.check()
    with deadline.within(1000):
        deadline.check()
        with deadline.within(-1), pytest.raises(TimeLimitReached):
            deadline.check()
        assert 0 < deadline.seconds_left() <= 1000
        with deadline.within(None):
            assert deadline.seconds_left() <= 1000
        with deadline.within(1e6):  # the limit around it comes first
            assert deadline.seconds_left() <= 1000
    assert deadline.seconds_left() is None


@pytest.mark.parametrize("common", [0, 3])
@pytest.mark.parametrize("seed", range(4))
def test_a_product_of_columns_that_are_rarely_not_0_is_the_product(seed, common, monkeypatch):
    random = np.random.default_rng(seed)
    left = np.zeros((300, 40), (bool, float)[seed % 2])
    for column in range(common, 38):  # two columns have no entry
        left[random.choice(300, random.integers(0, 5), replace=False), column] = 1 + seed % 2
    left[:, :common] = random.integers(0, 2, (300, common))
    left, right = left[:, random.permutation(40)], random.integers(-3, 4, (300, 7))
    whole = left.T.astype(float) @ right
    for block in (1, 2048 * 7 * 4, 1e5):
        monkeypatch.setattr(deadline, "BLOCK", block)
        assert np.array_equal(deadline.product(left, right, float), whole)


@pytest.mark.parametrize("shape", [(5, 3, 4), (5000, 30, 20), (3, 1, 1), (0, 2, 3)], ids=str)
def test_a_product_in_blocks_is_the_product(monkeypatch, shape):
    n, a, b = shape
    rng = np.random.default_rng(0)
    left, right = rng.integers(0, 2, (n, a)).astype(bool), rng.integers(0, 50, (n, b)).astype(float)
    whole = left.T.astype(float) @ right
    assert np.array_equal(deadline.product(left, right, float), whole)
    monkeypatch.setattr(deadline, "BLOCK", 40_000.0)
    assert np.array_equal(deadline.product(left, right, float), whole)
    with deadline.within(-1), pytest.raises(TimeLimitReached):
        deadline.product(left, right, float)


@pytest.fixture
def wide(tmp_path):
    """Four numeric columns of noise: the states of depth 4 take minutes."""
    rng = np.random.default_rng(0)
    lines = [
        "a,b,c,d,e,y",
        *(
            ",".join(map(str, row))
            for row in np.column_stack([rng.integers(0, 60, (1200, 5)), rng.integers(0, 3, 1200)]).tolist()
        ),
    ]
    (tmp_path / "wide.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        (),
        ("-p", "intervals=false"),
        ("-p", "proof=true"),
        ("-p", "tail=0"),
        ("--start", "local_search"),
        ("--start", "optimal"),
    ],
    ids=str,
)
def test_a_limit_that_ends_in_the_compile_hands_in_the_start(wide, words):
    limited = ("--model", "dpflow", "--solver", "highs", "--depth", 4, "--time-limit", 0.5)
    said = command("fit", "wide.csv", *limited, "--json", *words, folder=wide)
    assert said.code == 0, said.err
    facts = said.facts
    assert (facts["termination"], facts["has_solution"], facts["verified"]) == ("time_limit", True, True)
    assert 0 <= facts["bound"] <= facts["objective"] <= facts["cart_loss"] and "before the solver ran" in said.err
    assert facts["n_cols"] is None and set(contents(wide)) == {
        "wide.csv",
        "wide_dpflow_d4.log",
        "wide_dpflow_d4.run.json",
        "wide_dpflow_d4.tree.json",
    }


def test_the_limit_is_not_only_dpflows(wide):
    said = command("fit --model flowoct wide.csv --depth 4 --cuts subtree_value --time-limit 0.5 --json", folder=wide)
    assert said.code == 0 and said.facts["termination"] == "time_limit" and said.facts["verified"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("--model", "dpflow", "--depth", "2", "--encoding", "oblique:pool=4"),
        ("--model", "svm1_odt", "--depth", "1"),
        ("--model", "oct_h", "--depth", "1", "--start", "oblique"),
        ("--model", "oblique_search", "--depth", "1", "-p", "choice=training"),
    ],
    ids=str,
)
def test_a_search_for_hyperplanes_ends_with_the_limit(wide, monkeypatch, words):
    """They took their ten seconds whatever the limit said, in the encoding, the margin, the start and the learner."""
    asked = []
    for name in ("odtc.heuristics.oblique", "odtc.data.encodings.oblique"):
        module = importlib.import_module(name)
        monkeypatch.setattr(
            module,
            "search_hyperplanes",
            lambda *given, own=module.search_hyperplanes, **named: (
                asked.append(named["seconds"]) or own(*given, **named)
            ),
        )
    said = command("fit", "wide.csv", *words, "--time-limit", 1, "--json", folder=wide)
    assert said.code == 0 and said.facts["verified"], said.err
    assert asked and sum(asked) <= 1


def test_without_a_start_there_is_one_sentence(wide):
    said = command(
        "fit",
        "wide.csv",
        *("--model", "dpflow", "--solver", "highs", "--depth", 4, "--time-limit", 0.5, "--start", "none"),
        folder=wide,
    )
    assert "before the model was built" in refused(said, 3)
    assert set(contents(wide)) <= {"wide.csv", "wide_dpflow_d4.log"}


def test_in_python(wide):
    done = pipeline.fit(wide / "wide.csv", "dpflow", 4, time_limit=0.5)
    assert done.facts["termination"] == "time_limit" and done.decoded.verified and done.model is None


def test_ctrl_c_in_the_compile_leaves_nothing_half_written(wide):
    words = hearing("fit", "wide.csv", "--model", "dpflow", "--solver", "highs", "--depth", 4, "-o", "m")
    # The log is opened when the compile begins.
    said = signalled(words, wide, lambda: list(wide.glob(".m.log.*")), rest=0.5)
    assert said.code == 130 and "interrupted before the solver ran" in said.err, said.err
    assert said.out.count("best found: objective") == 1
    assert set(contents(wide)) == {"wide.csv", "m.log", "m.run.json", "m.tree.json"}
    assert command("show", "m.tree.json", folder=wide).code == 0


def test_a_solver_without_a_point_in_time_hands_in_the_start(monkeypatch, wide):
    """An LP solver takes no start: the tree is known nevertheless."""
    problem = pipeline.pose(wide / "wide.csv", "dpflow", 1)
    model = pipeline.compile_model(problem)
    heap, point = pipeline.start(model)
    monkeypatch.setattr(
        "odtc.workflow.solving.run_solver", lambda *_: Solution(None, Termination.TIME_LIMIT, solver="slow")
    )
    last, found = pipeline.solve_or_loop(model, start=point)
    done = pipeline.finish(last, found)
    assert (done.facts["termination"], done.facts["verified"]) == ("time_limit", True) and "start" in found.message
    assert done.decoded.heap.loss(problem.encoded) <= heap.loss(problem.encoded) and done.facts["bound"] is not None


def test_the_estimator_keeps_the_limit_too(wide):
    rows = np.loadtxt(wide / "wide.csv", delimiter=",", skiprows=1)
    with pytest.warns(ConvergenceWarning, match="time limit"):
        fitted = odtc.OptimalTreeClassifier(max_depth=4, model="dpflow", time_limit=0.5).fit(rows[:, :-1], rows[:, -1])
    assert fitted.status_ == "time_limit" and fitted.tree_.depth <= 4
    with pytest.raises(odtc.errors.NoSolutionError, match="before the model was built"):
        odtc.OptimalTreeClassifier(max_depth=4, model="dpflow", solver="highs", time_limit=0.5, start="none").fit(
            rows[:, :-1], rows[:, -1]
        )


def test_a_model_that_cannot_fit_is_refused_with_its_size(monkeypatch, wide):
    monkeypatch.setattr(memory, "available", lambda: 2**28)
    said = command("build wide.csv --model dpflow --depth 5 -p tail=0 -p fold=false -p intervals=false", folder=wide)
    words = refused(said)
    for word in ("states", "columns", "GiB", "--encoding", "-p tail=2", "--depth", "--model flowoct"):
        assert word in words
    assert set(contents(wide)) == {"wide.csv"}


def test_work_that_would_not_end_is_refused_with_its_length(monkeypatch, wide):
    monkeypatch.setattr(deadline, "HOPELESS", 0.5)
    for tail in ("auto", "1", "0"):
        words = refused(
            command("build wide.csv --model dpflow --depth 4 -p", f"tail={tail}", "-p", "intervals=false", folder=wide)
        )
        assert "multiplications" in words and "hours" in words and "--encoding" in words
    assert (
        command("build", "wide.csv", "--model", "dpflow", "--depth", 4, "--encoding", "auto:bins=2", folder=wide).code
        == 0
    )


def ranked(rows=200, splits=300):
    rng = np.random.default_rng(0)
    scale, place = np.repeat(np.arange(2), splits // 2), np.tile(np.arange(splits // 2), 2)
    return RankedAnswers(rng.integers(0, splits, (rows, 2)).astype(np.uint32), scale, place)


def test_a_table_of_answers_is_made_in_blocks_within_the_limit_and_the_memory(monkeypatch):
    whole = ranked().dense
    assert (whole == (ranked().rank[:, ranked().scale] > ranked().place)).all()
    monkeypatch.setattr(ranked_answers, "BLOCK_CELLS", 1000)  # three rows a block
    assert (ranked().dense == whole).all()
    with deadline.within(-1), pytest.raises(TimeLimitReached):
        np.asarray(ranked())
    monkeypatch.setattr(memory, "UNCHECKED_BYTES", 0)
    monkeypatch.setattr(memory, "available", lambda: 59_999)
    with pytest.raises(ModelError, match="the table of the answers of 200 rows to 300 splits would take about"):
        np.asarray(ranked())


def test_the_identity_of_a_model_is_found_within_the_limit_and_without_the_table(monkeypatch):
    rng = np.random.default_rng(0)
    features = Feature("a", "numeric"), Feature("b", "numeric")
    y = rng.integers(0, 2, 400).astype(np.int32)
    dataset = Dataset("d", rng.random((400, 2)), y, features, ("n", "p"), np.ones(400))
    problem = pipeline.pose(dataset, "dpflow", 2)
    plain, again = (
        replace(problem, encoded=replace(problem.encoded, X=X)) for X in (np.array(ranked(400)), ranked(400))
    )
    monkeypatch.setattr(RankedAnswers, "dense", property(lambda answers: pytest.fail("the table was made")))
    monkeypatch.setattr(identity, "RESULTS_AT_ONCE", 5000)
    assert identity.identity_of(again) == identity.identity_of(plain)
    with deadline.within(-1), pytest.raises(TimeLimitReached):
        identity.identity_of(plain)


@pytest.mark.parametrize("model", ["flowoct", "bendersoct", "cg"])
def test_ctrl_c_in_the_compile_hands_in_the_start(model, wide, monkeypatch):
    """Also SIGTERM, which is the same here: CART's tree is there, so it is the result, and nothing else is written."""

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(compiling, "compile_model", interrupted)
    words = ("wide.csv", "--model", model, "--depth", 2)
    said = command("fit", *words, "--json", folder=wide)
    assert said.code == 0, said.err
    facts = said.facts
    assert (facts["termination"], facts["has_solution"], facts["verified"]) == ("interrupted", True, True)
    assert facts["bound"] <= facts["objective"] <= facts["cart_loss"]
    assert "interrupted before the solver ran: the tree is the start" in said.err
    assert not [name for name in contents(wide) if name.endswith((".mps", ".odt.json", ".sol"))]
    for more in (("fit", "--start", "none"), ("build",)):  # there is nothing to hand in
        alone = command(more[0], *words, *more[1:], "-o", "other", folder=wide)
        assert alone.code == 130 and "interrupted before there was a result" in alone.err
        assert not [name for name in contents(wide) if name.startswith("other") and not name.endswith(".log")]


@pytest.mark.parametrize("model", ["oct_h", "svm1_odt"])
@pytest.mark.parametrize("end", [TimeLimitReached, KeyboardInterrupt], ids=["limit", "interrupt"])
def test_without_a_model_no_tree_worse_than_cart_is_handed_in(model, end, tmp_path, monkeypatch):
    """Neighbouring numbers leave no gap for a hyperplane: trimmed, a tree would be little more than a leaf."""

    def ended(*_, **__):
        raise end("it is over")

    monkeypatch.setattr(compiling, "compile_model", ended)
    rng = np.random.default_rng(0)
    a = np.sort(rng.random(400))
    b = rng.permutation(a)
    rows = zip(a, b, (rng.random(400) < 0.1) ^ (a > 0.5) ^ (b > 0.3))
    (tmp_path / "d.csv").write_text("a,b,y\n" + "".join(f"{a},{b},{int(y)}\n" for a, b, y in rows))
    said = command("fit", "d.csv", "--model", model, "--depth", 2, "--time-limit", 60, "--json", folder=tmp_path)
    assert said.code == 0, said.err
    facts = said.facts
    assert facts["objective"] <= facts["cart_loss"] and facts["verified"] and facts["termination"] != "optimal"
    assert facts["bound"] <= facts["objective"]
    if model == "oct_h" and end is TimeLimitReached:
        assert "less than the gap that oct_h requires" in said.err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("words", [("fit",), ("build",), ("certify",), ("tune",), ("select",), ("inspect",)], ids=str)
@pytest.mark.parametrize("place", ["odtc.data.reading:opened_by", "odtc.workflow.posing:encode"])
def test_a_real_signal_in_reading_or_encoding_ends_in_one_sentence(number, words, place, wide, monkeypatch):
    module, name = place.split(":")
    own, sent = getattr(importlib.import_module(module), name), []

    def signalled(*given, **named):
        sent.append(name)
        signal.raise_signal(number)
        return own(*given, **named)

    monkeypatch.setattr(importlib.import_module(module), name, signalled)
    said = command(*words, "wide.csv", *(() if words == ("inspect",) else ("-o", "m")), folder=wide)
    if not sent:  # it does not encode
        assert words[0] in ("inspect", "select") and said.code == 0, said.err
        return
    assert said.code == 128 + number
    assert "Traceback" not in said.err and "interrupted before there was a result" in said.err
    assert said.err.count("\n") == 1 and not said.out.strip()
    assert [file for file in contents(wide) if not file.endswith(".log")] == ["wide.csv"]


def _as_another_file(wide, suffix: str):
    """The table of `wide` in another format, or with quotes, which are read row by row."""
    table = pl.read_csv(wide / "wide.csv")
    path = wide / f"again{suffix}"
    if suffix == ".parquet":
        table.write_parquet(path, row_group_size=100)
    elif suffix == ".arff":
        path.write_bytes(arff.sample(table.with_columns(pl.all().cast(pl.Float64))))
    elif suffix == ".csv.gz":
        path.write_bytes(gzip.compress((wide / "wide.csv").read_bytes()))
    else:
        table.with_columns(pl.col("y").cast(pl.String)).write_csv(path, quote_style="non_numeric")
    return path


@pytest.mark.parametrize("suffix", [".csv", "-quoted.csv", ".csv.gz", ".parquet", ".arff"])
@pytest.mark.parametrize(
    "words",
    [
        ("fit",),
        ("fit", "--model", "flowoct"),
        ("fit", "--hold-out", "0.2"),
        ("fit", "--select", "coarse_to_fine"),
        ("fit", "--constraint", "recall[1] >= 0.5", "--confidence", "0.9"),
        ("certify",),
        ("select",),
        ("frontier", "--vary", "recall[1] >= 0.1:0.5:0.1"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_a_limit_that_ends_while_a_large_file_is_read_is_refused(words, suffix, wide, monkeypatch):
    """A file of several blocks is a large one; what would be said of a tree is of all its rows."""
    path = wide / "wide.csv" if suffix == ".csv" else _as_another_file(wide, suffix)
    for module in (reading, data_files):
        monkeypatch.setattr(module, "BATCH", 1 << 10)
    monkeypatch.setattr(arff, "LOOK", 1 << 10)
    monkeypatch.setattr(parquet, "GROUP", 100)
    before = set(contents(wide))
    told = refused(command(words[0], path.name, *words[1:], "--time-limit", 1e-6, "-o", "m", folder=wide))
    assert path.name in told and "while" in told and "was read, after" in told and "--time-limit" in told
    assert 0 < int(re.search(r"after ([\d,]+) of its rows", told)[1].replace(",", "")) < 1200
    assert set(contents(wide)) == before


def test_a_file_of_one_block_is_read_whatever_the_limit(wide):
    said = command("fit", "wide.csv", "--time-limit", 1e-6, "--json", folder=wide)
    assert said.code == 0 and said.facts["n_rows"] == 1200, said.err


@pytest.mark.parametrize("suffix", [".csv", "-quoted.csv", ".csv.gz", ".parquet", ".arff"])
def test_a_limit_that_does_not_end_changes_nothing_of_what_is_read(suffix, wide, monkeypatch):
    path = wide / "wide.csv" if suffix == ".csv" else _as_another_file(wide, suffix)
    whole, held_out = odtc.read(path), odtc.read(path, hold_out=0.25)
    for module in (reading, data_files):
        monkeypatch.setattr(module, "BATCH", 1 << 10)
    monkeypatch.setattr(arff, "LOOK", 1 << 10)
    monkeypatch.setattr(parquet, "GROUP", 100)
    with deadline.within(1000):
        again, apart = odtc.read(path), odtc.read(path, hold_out=0.25)
    assert np.array_equal(again.X, whole.X) and np.array_equal(again.y, whole.y)
    assert np.array_equal(apart.X, held_out.X) and np.array_equal(apart.y, held_out.y)
    assert apart.held_out.equals(held_out.held_out)
