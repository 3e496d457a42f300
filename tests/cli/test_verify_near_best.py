"""`odtc verify` of near-optimal trees: a wrong list or count, or one of another run, is refused."""

import json
import shutil

import pytest

from tests.command_line import MONKS, odtc, refused


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("near")
    shutil.copy(MONKS / "monks-1.csv", folder / "d.csv")
    words = ("d.csv", "--depth", 2, "--encoding", "onehot")
    assert odtc("fit", *words, "--pool", 6, "-o", "m", folder=folder).code == 0
    assert odtc("fit", *words, "--within", 4, "-o", "n", folder=folder).code == 0
    within = odtc("fit", *words, "--pool", 500, "--within", 4, "-o", "all", folder=folder)
    assert within.code == 0 and json.loads((folder / "all.pool.json").read_text())["complete"]
    assert odtc("fit", *words[:2], 1, *words[3:], "--pool", 6, "-o", "other", folder=folder).code == 0
    return folder


@pytest.mark.parametrize("name", ["m", "m.pool.json", "n", "n.near-optimal.json", "all"])
def test_what_a_run_leaves_is_verified(folder, name):
    said = odtc("verify", name, "--json", folder=folder)
    assert said.code == 0 and said.facts["verified"], said.err
    assert [one["check"] for one in said.facts["checks"]][-1] == ("near-optimal" if name.startswith("n") else "pool")
    assert "the run, and was not" not in said.err


def test_what_is_not_counted_again_is_called_the_word_of_the_run(folder):
    said = odtc("verify", "m", "--time-limit", 0, folder=folder)
    assert said.code == 0 and "no other tree is as good as one of these is stated by the run" in said.err
    said = odtc("verify", "n", "--time-limit", 0, folder=folder)
    assert said.code == 0 and "how many trees there are is stated by the run" in said.err


def _forged(folder, copy, name, forge):
    """A copy of the folder in which a file is forged."""
    shutil.copytree(folder, copy, dirs_exist_ok=True)
    facts = json.loads((copy / name).read_text())
    forge(facts)
    (copy / name).write_text(json.dumps(facts))
    return copy


def _leaf(tree):
    node = tree["root"]
    while "left" in node:
        node = node["left"]
    return node


def _costs_less(facts):
    facts["trees"][0]["objective"] -= 1


def _all_cost_less(facts):
    for one in facts["trees"]:
        one["objective"] -= 1


def _another_label(facts):
    leaf = _leaf(facts["trees"][2]["tree"])
    leaf["label"] = {"0": "1", "1": "0"}[leaf["label"]]


def _other_counts(facts):
    _leaf(facts["trees"][1]["tree"])["rows"][0] += 1


def _without_the_best(facts):
    del facts["trees"][0]
    facts["at_least"] -= 1


def _without_one(facts):
    costs = [one["objective"] for one in facts["trees"]]
    del facts["trees"][next(at for at in range(1, len(costs)) if costs[at - 1] < costs[at] < costs[-1])]


def _one_twice(facts):
    facts["trees"][1] = facts["trees"][0]


def _turned(facts):
    facts["trees"].reverse()


def _fewer(facts):
    facts["at_least"] = 1


def _none(facts):
    facts["trees"] = []


@pytest.mark.parametrize(
    "forge",
    [
        _costs_less,
        _all_cost_less,
        _another_label,
        _other_counts,
        _without_the_best,
        _without_one,
        _one_twice,
        _turned,
        _fewer,
        _none,
    ],
)
def test_a_pool_that_is_false_is_refused(folder, forge, tmp_path):
    forged = _forged(folder, tmp_path / "m", "m.pool.json", forge)
    for name in ("m", "m.pool.json"):
        assert "pool (m.pool.json: " in refused(odtc("verify", name, folder=forged))


def _without_the_last(facts):
    """The trees that cost most, so that those that are left are the best ones, in order."""
    most = facts["trees"][-1]["objective"]
    facts["trees"] = [one for one in facts["trees"] if one["objective"] < most]
    facts["at_least"] = len(facts["trees"])


def _a_higher_limit(facts):
    facts["limit"] += 2


def _a_lower_limit(facts):
    facts["limit"] -= 1


@pytest.mark.parametrize("forge", [_without_the_last, _a_higher_limit, _a_lower_limit])
def test_a_list_of_all_trees_within_a_limit_is_refused_if_it_is_not(folder, forge, tmp_path):
    forged = _forged(folder, tmp_path / "m", "all.pool.json", forge)
    assert "its limit is " in refused(odtc("verify", "all", folder=forged))


def test_a_list_without_its_limit_is_all_by_the_word_of_the_run_alone(folder, tmp_path):
    forged = _forged(folder, tmp_path / "m", "all.pool.json", lambda facts: facts.pop("limit"))
    said = odtc("verify", "all", folder=forged)
    assert said.code == 0 and "it states no bound" in said.err


def test_the_pool_of_another_run_is_refused(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "m", dirs_exist_ok=True)
    shutil.copy(folder / "other.pool.json", tmp_path / "m" / "m.pool.json")
    assert "pool (m.pool.json: its best tree costs 34" in refused(odtc("verify", "m", folder=tmp_path / "m"))


def _change(*path, by):
    def forge(facts):
        for key in path[:-1]:
            facts = facts[key]
        facts[path[-1]] = by(facts[path[-1]])

    forge.__name__ = ".".join(map(str, path))
    return forge


def _one_more(number):
    return number + 1


FORGED = [
    _change("count", by=_one_more),
    _change("best", by=lambda best: best - 1),
    _change("limit", by=_one_more),
    _change("depth", by=_one_more),
    _change("leaves", 0, 1, by=_one_more),
    _change("objectives", 0, 1, by=_one_more),
    _change("columns", 0, "trees", by=_one_more),
    _change("columns", 1, "best_without", by=lambda best: (best or 0) + 1),
    _change("columns", 0, "reliance", "greatest", by=lambda share: share / 2),
    _change("fewest_columns", "columns", by=lambda columns: columns - 1),
    _change("sample", "trees", 0, "objective", by=_one_more),
    _change("sample", "whole", by=lambda whole: not whole),
    _change("graph", "states", 0, 4, by=lambda arcs: arcs[1:]),
    _change("graph", "states", -1, 4, 0, 1, by=_one_more),
    _change("graph", "objective", 0, by=_one_more),
]


@pytest.mark.parametrize("forge", FORGED, ids=lambda forge: forge.__name__)
def test_a_set_that_is_false_is_refused(folder, forge, tmp_path):
    forged = _forged(folder, tmp_path / "m", "n.near-optimal.json", forge)
    said = odtc("verify", "n", folder=forged)
    assert said.code == 1 and ("near-optimal (n.near-optimal.json: " in said.err or "is damaged" in said.err), said.err


def _ended_before_columns(facts):
    """As of a set whose count is complete as its time ends."""
    for column in facts["columns"]:
        column |= {"trees": None, "share": None, "best_with": None, "best_without": None, "saved": None}
        column["reliance"] = None
    facts |= {"fewest_columns": None, "graph": None}
    facts["sample"] |= {"trees": [], "whole": False}


def _ended_in_its_sample(facts):
    facts["sample"]["trees"] = facts["sample"]["trees"][:2]
    facts["sample"]["whole"] = False


@pytest.mark.parametrize("end", [_ended_before_columns, _ended_in_its_sample])
def test_a_set_that_its_time_ended_says_less_and_is_no_forgery(folder, end, tmp_path):
    said = odtc("verify", "n", folder=_forged(folder, tmp_path / "m", "n.near-optimal.json", end))
    assert said.code == 0, said.err
    claimed = "stated by the run" in said.err or "claimed by the run" in said.err
    assert claimed or end is _ended_before_columns


@pytest.mark.parametrize(
    "forge",
    [
        _change("sample", "whole", by=lambda whole: True),
        _change("sample", "trees", 0, "objective", by=_one_more),
        _change("sample", "trees", by=lambda trees: trees[1:]),
        _change("columns", 0, "trees", by=_one_more),
        _change("columns", 0, "saved", "greatest", by=_one_more),
    ],
    ids=lambda forge: forge.__name__,
)
def test_what_such_a_set_says_is_held_against_the_data(folder, forge, tmp_path):
    def both(facts):
        _ended_in_its_sample(facts)
        forge(facts)

    said = odtc("verify", "n", folder=_forged(folder, tmp_path / "m", "n.near-optimal.json", both))
    assert said.code == 1 and "near-optimal (n.near-optimal.json: " in said.err, said.err
