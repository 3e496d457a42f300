"""`verbose` and `progress` of estimators: quiet by default, one line in a terminal, a bar in a notebook."""

import io
import pickle
import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone

import odtc
from odtc.estimators.progress import ShownProgress
from odtc.model.solution import Progress

RNG = np.random.default_rng(0)
X, LABEL = RNG.integers(0, 9, (60, 4)).astype(float), RNG.integers(0, 2, 60)
SURVIVAL = np.array(list(zip(RNG.random(60) < 0.7, RNG.integers(1, 20, 60))), dtype=[("event", bool), ("time", float)])
ALL = {
    odtc.OptimalTreeClassifier: LABEL,
    odtc.OptimalTreeRegressor: LABEL + X[:, 0],
    odtc.OptimalSurvivalTree: SURVIVAL,
    odtc.OptimalPolicyTree: RNG.random((60, 2)),
}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(params=ALL, ids=lambda cls: cls.__name__)
def case(request):
    return request.param, ALL[request.param]


def test_nothing_is_shown_by_default(case, capsys):
    cls, y = case
    cls(2).fit(X, y)
    assert capsys.readouterr() == ("", "")


def test_what_was_found_is_one_line_where_there_is_no_terminal(case, capsys):
    cls, y = case
    fitted = cls(2, verbose=1).fit(X, y)
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and "\r" not in err and "\x1b" not in err
    found = re.fullmatch(
        rf"{cls.__name__}: {fitted.claim_} · objective (\S+) · bound \S+ · (\d+) leaves · \S+ s\n", err
    )
    assert float(found[1]) == pytest.approx(fitted.objective_, rel=1e-3) and int(found[2]) == fitted.get_n_leaves()


def test_a_terminal_has_one_line_that_changes(case, monkeypatch):
    cls, y = case
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setenv("COLUMNS", "40")
    cls(2, verbose=True, time_limit=60).fit(X, y)
    *changing, last, end = re.split(r"\n|\r\x1b\[K", shown.getvalue())
    assert end == "" and last.startswith(f"{cls.__name__}: proved optimal")
    assert all(len(line) < 40 for line in changing) and any("/60 s" in line for line in changing)
    assert shown.getvalue().count("\n") == 1


def test_a_notebook_has_a_bar(monkeypatch, capsys):
    pages = []
    place = SimpleNamespace(update=pages.append)
    shown = SimpleNamespace(HTML=str, display=lambda page, display_id: pages.append(page) or place)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=1)))
    monkeypatch.setitem(sys.modules, "IPython.display", shown)
    odtc.OptimalTreeClassifier(2, verbose=1, time_limit=60).fit(X, LABEL)
    assert '<progress max="1" value="1.000">' in pages[-1] and "proved optimal" in pages[-1]
    assert len(pages) > 2 and all("<progress" in page for page in pages[1:])
    assert capsys.readouterr().err == ""


def test_progress_is_in_the_units_of_the_objective():
    said = []
    fitted = odtc.OptimalTreeClassifier(2, model="flowoct", solver="highs", progress=said.append).fit(X, LABEL)
    assert min(one.incumbent for one in said if one.incumbent is not None) == pytest.approx(fitted.objective_)
    shown = ShownProgress("tree", 0, said.append, None, 0.5)
    with shown.solving(None) as hearing:
        hearing.progress(Progress(1.0, 8.0, 4.0, 3))
    assert (said[-1].incumbent, said[-1].bound, said[-1].gap) == (4.0, 2.0, 0.5)
    assert shown.line().endswith("s · best 4 · bound 2 · gap 50 %")


def test_a_leaf_by_itself_is_shown_too(case, capsys):
    cls, y = case
    cls(0, verbose=1).fit(X, y)
    assert "1 leaf ·" in capsys.readouterr().err


def test_the_log_of_a_solver_is_shown_on_request(capsys):
    odtc.OptimalTreeClassifier(1, model="flowoct", solver="highs", verbose=2).fit(X, LABEL)
    assert "MIP has" in capsys.readouterr().err


def test_estimators_that_show_progress_are_cloned_and_pickled(case):
    cls, y = case
    fitted = clone(cls(1, verbose=1, progress=print)).fit(X, y)
    assert pickle.loads(pickle.dumps(fitted)).get_params()["progress"] is print


@pytest.mark.parametrize(("name", "value"), [("verbose", -1), ("verbose", "yes"), ("progress", 3)])
def test_what_cannot_be_shown_is_refused(case, name, value):
    cls, y = case
    with pytest.raises(ValueError, match=f"expected {name} as"):
        cls(1, **{name: value}).fit(X, y)
