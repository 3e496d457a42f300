"""Each solution file keeps its own tree, and Python reads them as `odtc decode` does."""

import pytest

import odtc
from odtc.errors import ManifestError, SolutionError
from odtc.model.solution import Options
from odtc.workflow.artifacts import tree_of_solution
from odtc.workflow.files_of_models import write_solution
from tests.command_line import MONKS
from tests.command_line import odtc as command


def test_each_solution_file_of_one_stem_has_a_tree_of_its_own(tmp_path):
    names = ["m.sol", "m.xml", "m.txt", "m.a.sol", "m.sol.gz"]
    found = [tree_of_solution(tmp_path / name).name for name in names]
    assert found == ["m.tree.json", "m.xml.tree.json", "m.txt.tree.json", "m.a.tree.json", "m.sol.gz.tree.json"]


@pytest.mark.parametrize("first", ["m.sol", "m.xml"])
def test_the_second_solution_that_is_decoded_leaves_the_tree_of_the_first(first, tmp_path):
    """m.xml decoded first had m.tree.json, which m.sol then replaced."""
    model = odtc.build(MONKS / "monks-1.csv", "flowoct", 2)
    odtc.write_build(model, tmp_path / "m")
    for name, x in (("m.sol", odtc.solve(model).x), ("m.xml", odtc.start(model)[1])):
        columns = zip(model.column_names, x)
        (tmp_path / name).write_text("".join(f"{name} {value}\n" for name, value in columns))
    trees = {}
    for name in (first, *({"m.sol", "m.xml"} - {first})):
        assert command("decode", name, folder=tmp_path).code == 0
        trees[name] = tree_of_solution(tmp_path / name).read_text()
    assert [tree_of_solution(tmp_path / name).read_text() for name in trees] == list(trees.values())


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    """(model, its stem, the tree of `odtc decode`)."""
    folder = tmp_path_factory.mktemp("solved")
    model = odtc.build(MONKS / "monks-3.csv", "flowoct", 2, encoding="onehot")
    odtc.write_build(model, folder / "m")
    assert command("solve", "m.mps", folder=folder).code == command("decode", "m.sol", folder=folder).code == 0
    return model, folder / "m", odtc.read_tree(folder / "m.tree.json")


def test_a_solution_file_is_decoded_in_python_as_on_the_command_line(solved):
    model, stem, tree = solved
    for decoded in (odtc.decode(f"{stem}.sol"), odtc.decode(model, f"{stem}.sol")):
        assert decoded.verified and decoded.tree.to_json()["root"] == tree.to_json()["root"]
        assert decoded.solution.termination == "optimal" and decoded.solution.objective == pytest.approx(7)


def test_a_solution_file_without_a_manifest_is_decoded_by_its_model(solved, tmp_path):
    model, stem, tree = solved
    for suffix in (".sol", ".run.json", ".mps"):
        (tmp_path / f"m{suffix}").write_bytes(stem.with_suffix(suffix).read_bytes())
    decoded = odtc.decode(model, tmp_path / "m.sol")
    assert decoded.tree.to_json()["root"] == tree.to_json()["root"] and decoded.solution.termination == "optimal"
    with pytest.raises(ManifestError, match="expected one manifest"):
        odtc.decode(tmp_path / "m.sol")
    other = odtc.build(MONKS / "monks-1.csv", "flowoct", 2, encoding="onehot")
    with pytest.raises(ManifestError, match="another model, .* than this model"):
        odtc.decode(other, tmp_path / "m.sol")


def test_a_file_of_an_edited_model_is_held_against_the_rows_of_its_user(solved, tmp_path):
    model, _, _ = solved
    own = model.add_rows([dict.fromkeys(model["b"][1, "a5 = 1"], 1.0)], upper=0)
    write_solution(own, odtc.solve(own), Options(), tmp_path / "own.sol")
    (tmp_path / "own.run.json").unlink()
    decoded = odtc.decode(own, tmp_path / "own.sol")
    assert decoded.verified and "a5 = 1" not in str(decoded.tree).splitlines()[1]
    write_solution(model, odtc.solve(model), Options(), tmp_path / "base.sol")
    again = odtc.decode(own.add_rows([{"b_1_00": 1.0}], lower=1), tmp_path / "base.sol")
    assert not again.verified


def test_a_tree_is_simplified_alike_by_decode_and_fit():
    model = odtc.build([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 1, 1], "oct", 2)
    solution = odtc.solve(model)
    assert odtc.decode(model, solution).tree.n_leaves == 2
    kept = odtc.decode(model, solution, simplify=False).tree.n_leaves
    assert kept == odtc.fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 1, 1], "oct", 2, simplify=False).tree.n_leaves


def test_what_is_no_solution_file_is_refused_in_words(tmp_path):
    with pytest.raises(SolutionError, match="cannot read the solution file"):
        odtc.decode(tmp_path / "absent.sol")
    with pytest.raises(odtc.OdtcError, match="expected a model of odtc.build"):
        odtc.decode("m.mps", "m.sol")
    with pytest.raises(odtc.OdtcError, match="are for solution files"):
        odtc.decode(odtc.build([[0], [1]], [0, 1], "flowoct", 1), [0.0], log="x.log")
