"""`odtc verify` of a frontier: wrong or foreign points are refused, and claims without a proof are reported."""

import json
import shutil

import pytest

import odtc as package
from tests.command_line import MONKS, odtc, refused

VARY = "recall[1] >= 0.4:1:0.2"
WORDS = ("--depth", 2, "--encoding", "onehot")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("curve")
    shutil.copy(MONKS / "monks-1.csv", folder / "d.csv")
    kept = ("--constraint", "precision[1] >= 0.65", "--constraint", "leaf_rows >= 20")
    more = ("--vary", VARY, *kept, "-o", "m")
    assert odtc("frontier", "d.csv", *WORDS, *more, folder=folder).code == 0
    assert odtc("frontier", "d.csv", *WORDS, "--vary", VARY, "-o", "free", folder=folder).code == 0
    falling = ("--vary", "false_positive_rate[1] <= 0:0.4:0.1", "--class-weight", "0=2,1=1", "-o", "falling")
    assert odtc("frontier", "d.csv", *WORDS, *falling, folder=folder).code == 0
    return folder


@pytest.mark.parametrize("name", ["m", "m.frontier.json", "free", "falling"])
def test_what_the_command_writes_is_verified(folder, name):
    said = odtc("verify", name, "--json", folder=folder)
    assert said.code == 0 and said.facts["verified"] and said.facts["claimed"] == [], said.err
    assert [one["check"] for one in said.facts["checks"]] == ["frontier", "trees", "bounds"]


def test_names_for_readers_are_not_counts(folder, tmp_path):
    (tmp_path / "book.csv").write_text("column,value,text\na1,,the head\nclass,1,yes\n")
    words = folder / "d.csv", "--depth", 1, "--labels", "book.csv", "--vary", "leaves <= 1:2", "-o", "m"
    assert odtc("frontier", *words, folder=tmp_path).code == 0
    assert odtc("verify", "m", folder=tmp_path).code == 0


def test_bounds_that_are_not_searched_again_are_called_the_word_of_the_run(folder):
    said = odtc("verify", "m", "--time-limit", 0, "--json", folder=folder)
    points = json.loads((folder / "m.frontier.json").read_text())["points"]
    assert {one["ended"] for one in points} == {"optimal", "infeasible"}
    assert said.code == 0 and said.facts["claimed"] == [one["constraint"] for one in points], said.err
    assert "is stated by the run, and was not recomputed" in said.err


def test_the_frontier_of_a_stem_is_verified_with_its_run(folder, tmp_path):
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    assert odtc("fit", "d.csv", *WORDS, "-o", "m", folder=tmp_path).code == 0
    said = odtc("verify", "m", "--json", folder=tmp_path)
    checks = [one["check"] for one in said.facts["checks"]]
    assert said.code == 0 and "tree file" in checks and checks[-3:] == ["frontier", "trees", "bounds"]
    _forge(tmp_path, lambda facts: facts["points"][0].update(objective=0.0))
    assert "trees (m.frontier.json: " in refused(odtc("verify", "m", folder=tmp_path))


def test_the_frontier_of_another_data_file_beside_a_run_is_refused(folder, tmp_path):
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    assert odtc("fit", MONKS / "monks-2.csv", *WORDS, "-o", "m", folder=tmp_path).code == 0
    assert "m.frontier.json was made from a data file with the SHA-256" in refused(odtc("verify", "m", folder=tmp_path))


def _forge(folder, forge, name="m.frontier.json"):
    facts = json.loads((folder / name).read_text())
    forge(facts)
    (folder / name).write_text(json.dumps(facts))


def _leaf(point):
    node = point["tree"]["root"]
    while "left" in node:
        node = node["left"]
    return node


def _with_tree(facts):
    return [point for point in facts["points"] if point["tree"] is not None]


def _costs_less(facts):
    point = _with_tree(facts)[0]
    point["objective"] -= 1
    point["bound"] -= 1


def _another_label(facts):
    leaf = _leaf(_with_tree(facts)[0])
    leaf["label"] = {"0": "1", "1": "0"}[leaf["label"]]


def _other_counts(facts):
    _leaf(_with_tree(facts)[0])["rows"][0] += 1


def _reached(facts):
    _with_tree(facts)[0]["reached"] += 0.01


def _price(facts):
    facts["points"][1]["price"] = 7.0


def _none_satisfies(facts):
    _with_tree(facts)[0].update(tree=None, reached=None, objective=None, bound=None, ended="infeasible", price=None)


def _none_satisfies_the_tightest(facts):
    _with_tree(facts)[-1].update(tree=None, reached=None, objective=None, bound=None, ended="infeasible", price=None)


def _left_open(facts):
    facts["points"][0]["ended"] = "open"


def _called_optimal(facts):
    facts["points"][0]["bound"] -= 1


def _tree_of_a_tighter_number(facts):
    """Each tree satisfies the loosest number; it is not the best one, and its bound says it is."""
    points = _with_tree(facts)
    first, last = points[0], points[-1]
    first.update({key: last[key] for key in ("tree", "reached", "objective", "bound")})
    for point, before in zip(points[1:], points):
        point["price"] = point["objective"] - before["objective"]


def _tree_of_a_looser_number(facts):
    points = _with_tree(facts)
    points[-1]["tree"] = points[0]["tree"]


def _another_number(facts):
    facts["points"][0]["requested"] = 0.1


def _another_constraint(facts):
    facts["points"][0]["constraint"] = "recall[1] >= 0.1"


def _without_a_number(facts):
    del facts["points"][1]


def _turned(facts):
    facts["points"].reverse()


def _another_range(facts):
    facts["vary"] = "recall[1] >= 0.2:0.8:0.2"


def _another_depth(facts):
    facts["depth"] = 1


def _without_the_others(facts):
    facts["constraints"] = []


def _more_rows(facts):
    facts["source"]["n_rows"] += 1


def _another_name(facts):
    facts["data"] = "other"


FORGED = [
    _costs_less,
    _another_label,
    _other_counts,
    _reached,
    _price,
    _none_satisfies,
    _none_satisfies_the_tightest,
    _left_open,
    _called_optimal,
    _tree_of_a_tighter_number,
    _tree_of_a_looser_number,
    _another_number,
    _another_constraint,
    _without_a_number,
    _turned,
    _another_range,
    _another_depth,
    _without_the_others,
    _more_rows,
    _another_name,
]


@pytest.mark.parametrize("forge", FORGED, ids=lambda forge: forge.__name__.strip("_"))
def test_a_frontier_that_is_false_is_refused(folder, forge, tmp_path):
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    _forge(tmp_path, forge)
    said = refused(odtc("verify", "m", folder=tmp_path))
    assert " of the frontier failed: " in said and "m.frontier.json: " in said


def test_a_worse_tree_is_refused_without_a_search_if_another_tree_of_the_file_is_better(folder, tmp_path):
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    _forge(tmp_path, _tree_of_a_tighter_number, "free.frontier.json")
    assert "costs less than the tree of" in refused(odtc("verify", "free", "--time-limit", 0, folder=tmp_path))


@pytest.mark.parametrize(
    ("forge", "why"),
    [
        (lambda facts: facts["source"].update(sha256="0" * 64), "SHA-256"),
        (lambda facts: facts["source"].update(path="other.csv"), "is not there; name it with --data"),
        (lambda facts: facts.pop("source"), "names no data file"),
        (lambda facts: facts["model"].update(model="oct"), "cannot be built again"),
        (lambda facts: facts["model"].update(params={"no": 1}), "cannot be built again"),
        (lambda facts: facts.update(vary="recall[1] >= 0.5"), "cannot be built again"),
        (lambda facts: facts.update(schema="odtc.frontier/0"), "expected a frontier of schema"),
        (lambda facts: facts.update(points=[{}]), "is damaged"),
        (lambda facts: facts["points"][0].update(bound=float("nan")), "is damaged"),
    ],
)
def test_a_frontier_that_cannot_be_held_against_its_data_is_refused_in_a_sentence(folder, forge, why, tmp_path):
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    _forge(tmp_path, forge)
    assert why in refused(odtc("verify", "m.frontier.json", folder=tmp_path))


def test_a_frontier_of_other_data_is_refused(folder, tmp_path):
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    rows = (tmp_path / "d.csv").read_text().splitlines()
    (tmp_path / "d.csv").write_text("\n".join(rows[:-1]) + "\n")
    assert "is not the one of the frontier" in refused(odtc("verify", "m", folder=tmp_path))
    shutil.copy(folder / "d.csv", tmp_path / "moved.csv")
    assert odtc("verify", "m", "--data", "moved.csv", folder=tmp_path).code == 0


def test_a_frontier_of_data_in_memory_names_no_file(tmp_path):
    data = package.read(MONKS / "monks-1.csv")
    package.frontier(data.X, data.y, VARY, 1).write(tmp_path / "m")
    assert "names no data file by its SHA-256" in refused(odtc("verify", "m", folder=tmp_path))
    package.frontier(data, vary=VARY, depth=1).write(tmp_path / "n")
    assert odtc("verify", "n", folder=tmp_path).code == 0


def test_a_certificate_and_a_frontier_of_one_stem_are_one_object_of_json(folder, tmp_path):
    """Each was one of its own, so that no program could read both."""
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    assert odtc("certify", "d.csv", "--depth", 1, "-o", "both", folder=tmp_path).code == 0
    shutil.copy(tmp_path / "m.frontier.json", tmp_path / "both.frontier.json")
    said = odtc("verify", "both", "--json", folder=tmp_path)
    assert said.code == 0 and said.facts["verified"] and said.facts["optimal"] and said.facts["vary"]
    assert [one["check"] for one in said.facts["checks"]] == ["tree file", "frontier", "trees", "bounds"]
    told = odtc("verify", "both", folder=tmp_path).out
    assert told.index("proved: ") < told.index("\ntree ") < told.index("frontier") < told.index("all 3 checks passed")
    _forge(tmp_path, lambda facts: facts["points"][0].update(objective=1e6), "both.frontier.json")
    said = odtc("verify", "both", "--json", folder=tmp_path)
    assert said.code == 1 and not said.facts["verified"] and "of the frontier failed" in said.err
