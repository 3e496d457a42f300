"""Each solution file keeps its own tree."""

from odtc.workflow.artifacts import tree_of_solution


def test_two_solutions_of_one_stem_have_two_trees(tmp_path):
    (tmp_path / "m.xml").write_text("")
    assert tree_of_solution(tmp_path / "m.xml").name == "m.tree.json"
    (tmp_path / "m.sol").write_text("")
    assert tree_of_solution(tmp_path / "m.sol").name == "m.tree.json"
    assert tree_of_solution(tmp_path / "m.xml").name == "m.xml.tree.json"
    (tmp_path / "m.sol").unlink()
    (tmp_path / "m.txt").write_text("")
    names = {tree_of_solution(tmp_path / name).name for name in ("m.xml", "m.txt", "m.a.sol", "m.b.sol")}
    assert names == {"m.xml.tree.json", "m.txt.tree.json", "m.a.tree.json", "m.b.tree.json"}
