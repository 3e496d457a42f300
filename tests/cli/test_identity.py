"""Models and solutions are matched by identity: a solution of another model is refused or reported."""

import gzip
import hashlib
import json
import shutil
import subprocess

import pytest

from odtc.fileformats.model_files import read_model
from odtc.model.solution import Options, Solution
from odtc.problem.constraints.constraint import complete
from odtc.trees.heap_tree import HeapTree, blank_arrays
from odtc.workflow import files_of_models
from odtc.workflow.manifest import read_manifest
from tests.command_line import MONKS, odtc

MONKS_1 = MONKS / "monks-1.csv"
needs_cbc = pytest.mark.skipif(not shutil.which("cbc"), reason="cbc is not installed")


def cbc(folder, model, solution):
    words = ["cbc", model, "-ratio", "0", "-solve", "-solution", solution]
    subprocess.run(words, cwd=folder, check=True, capture_output=True, timeout=120)


def build(folder, *more, depth=1, stem="m"):
    said = odtc("build", MONKS_1, "--depth", depth, "--encoding", "onehot", "-o", stem, *more, folder=folder)
    assert said.code == 0, said.err
    return said


def solve(folder, stem="m", *more):
    said = odtc("solve", f"{stem}.mps", "--solver", "highs", *more, folder=folder)
    assert said.code == 0, said.err


def manifest(folder, stem="m"):
    return json.loads((folder / f"{stem}.odt.json").read_text())


def test_a_solution_of_the_model_that_was_replaced_is_removed_or_refused(tmp_path):
    build(tmp_path)
    solve(tmp_path)
    shutil.copy(tmp_path / "m.sol", tmp_path / "kept.sol")
    for name in ("m.tree.json", "m.run.json"):
        if not (tmp_path / name).exists():
            (tmp_path / name).write_text("{}")
    said = build(tmp_path, "--class-weight", "0=0.2,1=1")
    assert not any((tmp_path / f"m{end}").exists() for end in (".sol", ".run.json", ".tree.json"))
    assert "m.sol" in said.err and "replaced" in said.err
    assert odtc("decode", "m.sol", folder=tmp_path).code == 1
    refused = odtc("decode", "kept.sol", "--manifest", "m.odt.json", folder=tmp_path)
    assert refused.code == 1 and "belongs to another model" in refused.err and "Traceback" not in refused.err


def test_a_data_file_that_has_changed_since_is_told(tmp_path):
    """`decode` said "verified" of rows that were no longer those of the file, without a word."""
    shutil.copy(MONKS / "monks-1.csv", tmp_path / "d.csv")
    words = ("--model", "flowoct", "--depth", 1, "--encoding", "onehot", "-o", "m")
    assert odtc("build", "d.csv", *words, folder=tmp_path).code == 0
    solve(tmp_path)
    assert "SHA-256" not in odtc("decode", "m.sol", folder=tmp_path).err
    with (tmp_path / "d.csv").open("a") as data:
        data.write((MONKS / "monks-1.csv").read_text().splitlines()[1] + "\n")
    said = odtc("decode", "m.sol", folder=tmp_path)
    assert said.code == 0 and said.err.count("d.csv' is not the one of the model: its SHA-256 is another") == 1
    assert "the counts use the rows in the manifest" in said.err
    told = odtc("decode", "m.sol", "--json", folder=tmp_path).facts
    assert told["same_file"] is False and "SHA-256" in told["data_note"]
    (tmp_path / "d.csv").rename(tmp_path / "e.csv")
    shutil.copy(MONKS / "monks-1.csv", tmp_path / "f.csv")
    said = odtc("decode", "m.sol", folder=tmp_path)
    assert said.code == 0 and "d.csv' is not there" in said.err and "SHA-256" not in said.err
    told = odtc("decode", "m.sol", "--json", folder=tmp_path).facts
    assert told["same_file"] is None and "is not there" in told["data_note"]
    told = odtc("decode", "m.sol", "--json", "--data", "f.csv", folder=tmp_path).facts
    assert told["same_file"] is True and told["data_note"] is None
    (tmp_path / "f.csv").rename(tmp_path / "d.csv")
    told = odtc("decode", "m.sol", "--json", folder=tmp_path).facts
    assert told["same_file"] is True and told["data_note"] is None


def test_a_manifest_that_knows_no_data_file_says_so(tmp_path):
    """Nobody could tell, and nothing was said."""
    words = ("--model", "flowoct", "--depth", 1, "--encoding", "onehot", "-o", "m")
    assert odtc("build", MONKS / "monks-1.csv", *words, folder=tmp_path).code == 0
    solve(tmp_path)
    manifest = json.loads((tmp_path / "m.odt.json").read_text())
    manifest["data"]["sha256"] = None
    (tmp_path / "m.odt.json").write_text(json.dumps(manifest))
    said = odtc("decode", "m.sol", "--json", folder=tmp_path)
    assert said.code == 0 and said.facts["same_file"] is None, said.err
    assert said.facts["data_note"] in said.err and "names no data file" in said.facts["data_note"]


def test_built_again_the_same_everything_stays(tmp_path):
    build(tmp_path)
    solve(tmp_path)
    build(tmp_path)
    assert odtc("decode", "m.sol", "--json", folder=tmp_path).facts["termination"] == "optimal"


@needs_cbc
def test_a_foreign_solution_of_the_model_that_was_replaced_proves_nothing(tmp_path):
    build(tmp_path)
    cbc(tmp_path, "m.mps", "old.sol")
    build(tmp_path, "--class-weight", "0=0.2,1=1")
    said = odtc("decode", "old.sol", "--manifest", "m.odt.json", folder=tmp_path)
    assert "proved" not in said.out.replace("not proved", "")


def with_row(text: str, test: str, name="only") -> str:
    """The model file with the row: the root asks this test."""
    lines = text.splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if line.startswith("COLUMNS"))
    lines.insert(at, f" E  {name}\n")
    last = max(i for i, line in enumerate(lines) if line.split()[:1] == [test] and "obj" not in line)
    lines.insert(last + 1, f"    {test}  {name}  1\n")
    rhs = next(i for i, line in enumerate(lines) if line.startswith("RHS"))
    lines.insert(rhs + 1, f"    RHS       {name}  1\n")
    return "".join(lines)


@pytest.fixture
def edited(tmp_path):
    """monks-1 at depth 2 with a row of one's own: the root may ask test 7 only."""
    build(tmp_path, depth=2)
    model = tmp_path / "m.mps"
    (tmp_path / "built.mps").write_text(model.read_text())
    model.write_text(with_row(model.read_text(), "b_1_07"))
    return tmp_path


@needs_cbc
def test_the_optimum_of_an_edited_model_by_another_program_is_not_that_of_the_data(edited):
    cbc(edited, "m.mps", "m.sol")
    said = odtc("decode", "m.sol", folder=edited)
    assert said.code == 0, said.err
    assert "proved optimal" not in said.out
    facts = odtc("decode", "m.sol", "--json", folder=edited).facts
    # A search of the compiler's own, whose bound is of the data: what the file claims is not taken for one.
    assert facts["termination"] == "unknown" and facts["bound"] < facts["objective"]
    honest = odtc("fit", MONKS_1, "--encoding", "onehot", "-o", "h", "--json", folder=edited).facts
    assert facts["bound"] <= honest["objective"] < facts["objective"]


def test_the_optimum_of_an_edited_model_is_called_one_of_the_edited_model(edited):
    solve(edited, "m", "--start", "none")
    said = odtc("decode", "m.sol", folder=edited)
    assert said.code == 0, said.err
    assert "for the edited model, not for the data" in said.out
    facts = odtc("decode", "m.sol", "--json", folder=edited).facts
    assert facts["termination"] == "unknown" and facts["bound"] is None
    assert facts["edited"]["termination"] == "optimal" and facts["edited"]["bound"] == facts["objective"]
    # The row holds the root of the solution, which decode leaves out by default, because both of its sides are equal.
    assert odtc("decode", "m.sol", "--no-simplify", folder=edited).code == 0
    tree = json.loads((edited / "m.tree.json").read_text())
    tests = manifest(edited)["encoding"]["splits"]
    split = tree["root"]["split"]
    assert {key: tests[7][key] for key in split} == split


def test_without_the_edited_file_nothing_is_proved(edited):
    solve(edited, "m", "--start", "none")
    (edited / "built.mps").replace(edited / "m.mps")
    facts = odtc("decode", "m.sol", "--json", folder=edited).facts
    assert (facts["termination"], facts["bound"]) == ("unknown", 0) and "edited" not in facts


def test_a_file_in_other_words_is_the_same_model(tmp_path):
    build(tmp_path)
    text = (tmp_path / "m.mps").read_text()
    (tmp_path / "m.mps").write_text(text.replace("COLUMNS\n", "* a comment\nCOLUMNS\n", 1))
    solve(tmp_path)
    facts = odtc("decode", "m.sol", "--json", folder=tmp_path).facts
    assert facts["termination"] == "optimal" and "edited" not in facts


@pytest.mark.parametrize("more", [[], ["--format", "lp"], ["--format", "fixed-mps"], ["--gzip"]])
def test_every_file_of_a_build_names_the_model(more, tmp_path):
    build(tmp_path, "--dialect", "all", *more)
    build(tmp_path, *more, stem="n")
    identity = manifest(tmp_path)["identity"]
    assert identity == manifest(tmp_path, "n")["identity"] and len(identity) == 64
    for path in tmp_path.glob("[mn].*"):
        data = path.read_bytes()
        data = gzip.decompress(data) if path.suffix == ".gz" else data
        if ".cbc." in path.name:  # its format has no comments
            continue
        assert identity.encode() in data, path.name


@pytest.mark.parametrize(
    "change",
    [
        ["--class-weight", "0=0.2,1=1"],
        ["-p", "lambda=0.1"],
        ["--constraint", "leaf_rows >= 5"],
        ["--cuts", "all"],
        ["--model", "binoct"],
        ["--depth", "2"],
        ["--encoding", "auto"],
    ],
)
def test_what_determines_the_model_changes_its_identity(change, tmp_path):
    build(tmp_path)
    build(tmp_path, *change, stem="n")
    assert manifest(tmp_path)["identity"] != manifest(tmp_path, "n")["identity"]


def test_a_folder_and_a_name_do_not_change_it(tmp_path):
    build(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    shutil.copy(MONKS_1, tmp_path / "elsewhere" / "other name.csv")
    said = odtc(
        "build", "other name.csv", "--depth", 1, "--encoding", "onehot", "-o", "n", folder=tmp_path / "elsewhere"
    )
    assert said.code == 0, said.err
    assert manifest(tmp_path / "elsewhere", "n")["identity"] == manifest(tmp_path)["identity"]


def test_a_start_of_another_model_is_refused(tmp_path):
    build(tmp_path)
    build(tmp_path, "--class-weight", "0=0.2,1=1", stem="n")
    said = odtc("solve", "n.mps", "--start", "m.start.sol", folder=tmp_path)
    assert said.code == 1 and "belongs to the model" in said.err


def test_a_manifest_of_another_build_is_refused(tmp_path):
    build(tmp_path)
    build(tmp_path, "--class-weight", "0=0.2,1=1", stem="n")
    shutil.copy(tmp_path / "n.odt.json", tmp_path / "m.odt.json")
    said = odtc("solve", "m.mps", folder=tmp_path)
    assert said.code == 1 and "belongs to another model" in said.err


def test_a_manifest_that_was_changed_is_refused(tmp_path):
    build(tmp_path)
    solve(tmp_path)
    facts = manifest(tmp_path)
    facts["cost"] = [[0, 0.5], [1, 0]]
    (tmp_path / "m.odt.json").write_text(json.dumps(facts))
    said = odtc("decode", "m.sol", folder=tmp_path)
    assert said.code == 1 and "was changed after it was written" in said.err


def test_a_bound_above_a_tree_in_hand_fails_a_check(tmp_path):
    """The record claims a bound that CART's tree contradicts."""
    build(tmp_path, depth=2)
    solve(tmp_path)
    best = odtc("decode", "m.sol", "--json", folder=tmp_path).facts["objective"]
    # A tree of one leaf as the solution, with a record that calls it optimal.
    model, _, opened = files_of_models.open_solution(tmp_path / "m.sol")
    test, label = blank_arrays(opened.problem.topology)
    label[1] = 0
    x = complete(opened.problem, model, HeapTree(test, label))
    worse = model.objective(x)
    assert worse > best
    files_of_models.write_solution(
        model, Solution(x, "optimal", worse, worse, 1.0, "liar"), Options(), tmp_path / "m.sol"
    )
    said = odtc("verify", "m.sol", "--json", folder=tmp_path)
    failed = [check["check"] for check in said.facts["checks"] if not check["passed"]]
    assert said.code == 1 and failed == ["bound"]


def test_a_tree_that_is_the_start_of_its_own_stem_stays(tmp_path):
    said = odtc("fit", MONKS_1, "--encoding", "onehot", "-o", "m", folder=tmp_path)
    assert said.code == 0, said.err
    build(tmp_path, "--class-weight", "0=0.2,1=1", "--start", "m.tree.json", depth=2)
    assert (tmp_path / "m.tree.json").exists() and not (tmp_path / "m.sol").exists()


def checks(folder, *words):
    """{check: passed} of `odtc verify`."""
    facts = odtc("verify", "m.sol", *words, "--json", folder=folder).facts
    return {check["check"]: check["passed"] for check in facts["checks"]}


@pytest.mark.parametrize("format", ["mps", "lp", "fixed-mps"])
def test_verify_reads_the_model_file_again(format, tmp_path):
    build(tmp_path, "--format", format)
    assert odtc("solve", f"m.{format[-3:].lstrip('-')}", folder=tmp_path).code == 0
    found = checks(tmp_path, "--confirm", "highs", "--time-limit", "60")
    files = {"file bounds", "file rows", "file integrality", "file objective", "file and point"}
    assert all(found.values()) and files | {"run record", "confirm highs"} <= set(found)
    (tmp_path / f"m.{format[-3:].lstrip('-')}").unlink()
    without = odtc("verify", "m.sol", folder=tmp_path)
    assert (
        without.code == 0
        and "file rows" not in without.out
        and "no model file of the content that was solved" in without.err
    )


def test_an_edited_file_is_held_against_the_point_that_solved_it(edited):
    solve(edited, "m", "--start", "none")
    found = checks(edited)
    assert found["file and point"] and "file rows" not in found


def test_a_false_optimum_is_refused_by_a_solver_that_is_asked(tmp_path):
    """A leaf alone, called optimal with its cost as the bound, where CART is the same: nothing else contradicts it."""
    build(tmp_path)
    opened = read_manifest(tmp_path / "m.odt.json")
    problem = opened.problem
    test, label = blank_arrays(problem.topology)
    test[1], label[2:4] = 7, [0, 1]
    heap = HeapTree(test, label)
    model = read_model(tmp_path / "m.mps")
    built = problem.module.build(problem)
    point = complete(problem, built, heap)
    paid = problem.module.objective(problem, heap)
    solution = Solution(
        point, "optimal", paid, paid, 1.0, "X", model=opened.identity, content=opened.content, claimed=paid
    )
    files_of_models.write_solution(model, solution, Options(), tmp_path / "m.sol")
    for old in (tmp_path / "m.start.sol", tmp_path / "m.mst"):
        old.unlink()
    found = checks(tmp_path, "--confirm", "highs")
    assert not found.pop("confirm highs")
    refused = odtc("verify", "m.sol", "--confirm", "highs", folder=tmp_path)
    assert refused.code == 1 and "is claimed" in refused.err
    unknown = odtc("verify", "m.sol", "--confirm", "nosuch", folder=tmp_path)
    assert unknown.code == 2 and "nosuch" in unknown.err and "Traceback" not in unknown.err


@pytest.mark.parametrize("ended", ["Optimal", "Stopped on time", "Status unknown"])
def test_a_point_of_another_program_has_the_bound_of_our_search_however_it_ended(ended, tmp_path):
    """By a search of every tree of two levels no one has fewer than 27 errors. A point that says how its solver was
    stopped, and no bound, had the bound 0."""
    words = ("--model", "flowoct", "--depth", 2, "--encoding", "onehot", "-o", "m")
    assert odtc("build", MONKS / "monks-1.csv", *words, folder=tmp_path).code == 0
    columns = (tmp_path / "m.start.sol").read_text().partition("# Columns")[2].partition("# Rows")[0].splitlines()[1:]
    point = [line.split() for line in columns if len(line.split()) == 2]
    lines = [f"{at} {name} {value} 0" for at, (name, value) in enumerate(point) if float(value)]
    (tmp_path / "m.sol").write_text("\n".join([f"{ended} - objective value 34.0", *lines, ""]))
    said = odtc("decode", "m.sol", "--json", folder=tmp_path)
    assert said.code == 0 and said.facts["termination"] != "optimal", said.err
    assert (said.facts["objective"], said.facts["bound"]) == (34, 27)


def forge_manifest(folder, change):
    facts = manifest(folder)
    change(facts)
    (folder / "m.odt.json").write_text(json.dumps(facts))


@pytest.mark.parametrize("place", ["absent", None])
def test_a_manifest_without_the_place_of_its_data_is_verified_by_its_rows(place, tmp_path):
    """It was a fault in odtc."""
    build(tmp_path)
    solve(tmp_path)
    forge_manifest(tmp_path, lambda facts: facts["data"].pop("path") if place else facts["data"].update(path=None))
    said = odtc("verify", "m.sol", folder=tmp_path)
    assert said.code == 0 and "does not name a data file" in said.err
    assert checks(tmp_path, "--data", str(MONKS_1))["encoding"]


@pytest.mark.parametrize(("key", "number"), [("n_rows", 7), ("n_rows_dropped", 1)])
def test_the_numbers_of_rows_in_a_manifest_are_counted_again(key, number, tmp_path):
    build(tmp_path)
    solve(tmp_path)
    assert checks(tmp_path)["rows read"]
    forge_manifest(tmp_path, lambda facts: facts["data"].update({key: number}))
    assert [name for name, passed in checks(tmp_path).items() if not passed] == ["rows read"]


def test_a_model_file_that_a_forged_manifest_names_is_held_against_the_rows(tmp_path):
    """Who edits a model file and puts its digest into the manifest had it called the model of the data."""
    build(tmp_path)
    text = (tmp_path / "m.mps").read_text()
    low = next(line for line in text.splitlines() if line.split()[:3] == ["LO", "BND", "b_1_03"])
    other = text.replace(low, " LO BND b_1_03 1")
    (tmp_path / "m.mps").write_text(other)
    forge_manifest(tmp_path, lambda facts: facts.update(content=hashlib.sha256(other.encode()).hexdigest()))
    solve(tmp_path, "m", "--start", "none")
    found = checks(tmp_path, "--time-limit", "0")
    assert not found["model file"]
    (tmp_path / "m.mps").write_text(text)
    forge_manifest(tmp_path, lambda facts: facts.update(content=hashlib.sha256(text.encode()).hexdigest()))
    solve(tmp_path)
    assert checks(tmp_path, "--time-limit", "0")["model file"]
