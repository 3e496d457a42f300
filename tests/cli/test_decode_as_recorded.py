"""Decoding with a formulation that changed after the build: by the records of the manifest, and with a message."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from odtc import __version__ as version
from odtc.problem.cuts.cut import CUTS
from odtc.problem.formulation import FORMULATIONS
from odtc.workflow.provenance.described_model import _makers
from tests.command_line import CHECKOUT, MONKS, odtc

SOURCE = (CHECKOUT / "examples" / "plug-ins" / "cut_based.py").read_text()
BUILT = SOURCE.replace('TYPE = "formulation"\n', 'TYPE = "formulation"\nVERSION = "1.5"\n')
# Another model: fewer rows, other costs, and a version of its own.
CHANGED = BUILT.replace('VERSION = "1.5"', 'VERSION = "2.0"').replace(
    'once = m.rows("once", row, upper=1)', "if False: once"
)
CHANGED = CHANGED.replace("    m.add(once[i[:, None]], s[i[:, None], T])\n", "")


def plug_in(folder: Path, text: str, monkeypatch) -> None:
    """The formulation with this text, in a file of its own, is the one that odtc knows."""
    folder.mkdir()
    (folder / "cut_based.py").write_text(text)
    monkeypatch.setenv("ODTC_PLUGINS", str(folder / "cut_based.py"))


@pytest.fixture
def solved(tmp_path, monkeypatch):
    plug_in(tmp_path / "then", BUILT, monkeypatch)
    words = ("--model", "cut_based", "--depth", 1, "--encoding", "onehot", "-o", "m")
    for said in (
        odtc("build", MONKS / "monks-1.csv", *words, folder=tmp_path),
        odtc("solve", "m.mps", "--solver", "highs", folder=tmp_path),
    ):
        assert said.code == 0, said.err
    before = odtc("decode", "m.sol", "--json", folder=tmp_path).facts
    assert before["termination"] == "optimal"
    return tmp_path, before


def test_the_model_file_has_the_rows(solved, monkeypatch):
    folder, before = solved
    plug_in(folder / "now", CHANGED, monkeypatch)
    said = odtc("decode", "m.sol", "--json", folder=folder)
    assert said.code == 0, said.err
    after = said.facts
    assert after["termination"] == "optimal" and after["train_correct"] == before["train_correct"]
    checks = odtc("verify", "m.sol", "--json", folder=folder).facts["checks"]
    told = next(check["text"] for check in checks if check["check"] == "formulation")
    assert "built by cut_based 1.5 of cut_based.py (sha256" in told and "here is cut_based 2.0 of cut_based.py" in told
    assert "the rows from the model file" in told and "odtc 0" not in told
    shown = odtc("decode", "m.sol", folder=folder)
    assert "built by cut_based 1.5" in shown.out + shown.err
    assert {"bounds", "rows"} <= {check["check"] for check in checks}


def test_without_the_model_file_nothing_is_proved(solved, monkeypatch):
    folder, before = solved
    plug_in(folder / "now", CHANGED, monkeypatch)
    (folder / "m.mps").unlink()
    said = odtc("decode", "m.sol", "--json", folder=folder)
    assert said.code == 0, said.err
    assert said.facts["termination"] == "unknown" and said.facts["train_correct"] == before["train_correct"]
    assert "the rows are not known" in odtc("verify", "m.sol", folder=folder).out
    # A point that is none of the model is still no better tree: the tree is counted on the rows of the data.
    assert said.facts["objective"] == before["objective"]


def test_a_file_that_only_looks_changed_is_the_model(solved, monkeypatch):
    folder, before = solved
    plug_in(folder / "now", BUILT + "\n# a remark\n", monkeypatch)
    after = odtc("verify", "m.sol", "--json", folder=folder).facts
    assert "formulation" not in {check["check"] for check in after["checks"]}
    assert after["verified"] and odtc("decode", "m.sol", "--json", folder=folder).facts["termination"] == "optimal"


def test_other_columns_are_a_sentence(solved, monkeypatch):
    folder, _ = solved
    plug_in(folder / "now", CHANGED.replace('"b"', '"branch"').replace('"w"', '"label"'), monkeypatch)
    said = odtc("decode", "m.sol", folder=folder)
    assert said.code == 1 and "Traceback" not in said.err
    assert "reads other columns than the manifest records" in said.err and "cut_based 1.5" in said.err


def test_the_same_file_with_a_manifest_of_another_model_is_refused(solved):
    """Nothing changed but the manifest: that is no change of the formulation."""
    folder, _ = solved
    path = folder / "m.odt.json"
    text = path.read_text()
    rows = text.split('"n_rows": ')[-1].split(",")[0]
    path.write_text(text.replace(f'"n_rows": {rows},\n  "nnz"', f'"n_rows": {int(rows) + 1},\n  "nnz"'))
    said = odtc("decode", "m.sol", folder=folder)
    assert said.code == 1 and "cut_based 1.5 of cut_based.py" in said.err, said.err


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({}, ("", "")),
        ({"odtc": "0.0.1"}, ("flowoct of odtc 0.0.1", "")),
        ({"model": {"version": "2"}}, ("flowoct 2 of odtc", "flowoct of odtc")),
        ({"plug_ins": [(FORMULATIONS.kind, "flowoct", "a.py")]}, ("flowoct of a.py", "flowoct of odtc")),
        ({"plug_ins": [(CUTS.kind, "subtree_value", "a.py")]}, ("subtree_value of a.py", "subtree_value of odtc")),
        ({"plug_ins": [("encoding", "onehot", "a.py")]}, ("", "")),  # the manifest holds the tests
        (
            {"plug_ins": [(CUTS.kind, "subtree_value", "a.py")], "model": {"version": "2"}, "odtc": "0.0.1"},
            ("flowoct 2 of odtc and subtree_value of a.py", "flowoct of odtc and subtree_value of odtc"),
        ),
    ],
)
def test_who_made_the_model_is_told_if_it_is_another_now(facts, told):
    plug_ins = [dict(zip(("type", "name", "origin"), one)) for one in facts.get("plug_ins", ())]
    known = {"odtc": version, "model": {}} | facts | {"plug_ins": plug_ins}
    problem = SimpleNamespace(module=FORMULATIONS.get("flowoct"))
    assert _makers(SimpleNamespace(facts=known, problem=problem)) == told


@pytest.mark.parametrize(
    ("facts", "origin", "version_now", "told"),
    [
        ({}, "a.py", "", ("flowoct of odtc", "flowoct of a.py")),
        ({}, "", "2", ("flowoct of odtc", "flowoct 2 of odtc")),
        ({"plug_ins": [(FORMULATIONS.kind, "flowoct", "a.py")], "odtc": "0.0.1"}, "a.py", "", ("", "flowoct of a.py")),
        ({"plug_ins": [(FORMULATIONS.kind, "flowoct", "a.py")]}, "b.py", "", ("flowoct of a.py", "flowoct of b.py")),
        ({"model": {"version": "2"}, "odtc": "0.0.1"}, "", "2", ("", "flowoct 2 of odtc")),
    ],
)
def test_who_makes_the_model_now_is_told(facts, origin, version_now, told, monkeypatch):
    monkeypatch.setattr(type(FORMULATIONS), "origin", lambda registry, name: origin)
    plug_ins = [dict(zip(("type", "name", "origin"), one)) for one in facts.get("plug_ins", ())]
    known = {"odtc": version, "model": {}} | facts | {"plug_ins": plug_ins}
    module = SimpleNamespace(name="flowoct", VERSION=version_now)
    assert _makers(SimpleNamespace(facts=known, problem=SimpleNamespace(module=module))) == told


def test_what_has_not_changed_needs_no_model_file(solved):
    folder, before = solved
    (folder / "m.mps").unlink()
    said = odtc("decode", "m.sol", "--json", folder=folder)
    assert said.code == 0, said.err
    assert all(said.facts[name] == before[name] for name in ("termination", "objective", "bound", "verified"))
    assert "built by" not in said.err


@pytest.mark.parametrize(
    "words", [("--task", "regression"), ("--task", "median"), ("--task", "survival", "--time", "y", "--event", "e=1")]
)
def test_a_tree_of_numbers_is_decoded_with_the_curves_of_its_rows(words, tmp_path):
    """As `fit` makes it, which knows each row: the manifest holds equal rows together, and a curve needs each."""
    rows = ["1,0,1.5,1", "1,0,2.5,1", "2,1,7,0", "2,1,9,1", "3,0,8,1", "3,1,20,0", "1,1,1,1", "2,0,3,1", "2,1,7,0"]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,y,e", *rows]) + "\n")
    given = ("t.csv", *words, *(() if "--time" in words else ("--target", "y", "--ignore", "e")))
    given = (*given, "--model", "dpflow", "--depth", 1)
    for command in (("fit", *given, "-o", "f"), ("build", *given, "-o", "m"), ("solve", "m.mps")):
        assert odtc(*command, folder=tmp_path).code == 0
    decoded = odtc("decode", "m.sol", "-o", "d.tree.json", folder=tmp_path)
    assert decoded.code == 0, decoded.err
    one, two = (json.loads((tmp_path / name).read_text()) for name in ("f.tree.json", "d.tree.json"))
    assert one["root"] == two["root"]
    assert odtc("verify", "m.sol", folder=tmp_path).code == odtc("verify", "d.tree.json", folder=tmp_path).code == 0
