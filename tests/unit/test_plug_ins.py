"""Broken plug-ins of other packages: ignored with one warning, and without effect on others."""

import hashlib
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from odtc.base import plug_ins
from odtc.cli.catalogue import REGISTRIES
from odtc.data.cells.data_files import READERS
from odtc.data.encoding import ENCODINGS
from odtc.errors import ChoiceError, SetAsideWarning
from odtc.testing.suite import KINDS
from odtc.trees.exporting import EXPORTERS
from tests.command_line import MONKS, environment, odtc, refused, started

ROOT = Path(__file__).parents[2]
WHOLE = """SUMMARY = "none"
SUFFIXES = (".nothing",)
def read(path): raise OSError
"""


def install(folder: Path, package: str, group: str, members: dict[str, str]) -> None:
    """A package as pip would have installed it: modules with these texts, offered under their names."""
    about = folder / f"{package}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    points = []
    for name, text in members.items():
        module = f"{package.replace('-', '_')}_{name.replace('-', '_')}"
        (folder / f"{module}.py").write_text(text)
        points.append(f"{name} = {module}\n")
    (about / "entry_points.txt").write_text(f"[{group}]\n{''.join(points)}")


@pytest.fixture
def broken(tmp_path, monkeypatch):
    """Readers that raise, that lack everything, that bear the name of another, and that two packages offer."""
    members = {
        "raising": "raise RuntimeError('no\\nluck')",
        "empty": "",
        "csv": WHOLE,
        "twice": WHOLE,
        "gone": "exit(0)",
    }
    install(tmp_path, "sad-readers", "odtc.readers", members)
    install(tmp_path, "other-readers", "odtc.readers", {"twice": WHOLE})
    monkeypatch.syspath_prepend(tmp_path)
    READERS._aside.clear()
    yield tmp_path
    READERS._aside.clear()
    for name in [name for name in sys.modules if name.startswith(("sad_readers", "other_readers"))]:
        del sys.modules[name]


def test_the_others_are_there_and_each_is_warned_of_once(broken):
    with pytest.warns(SetAsideWarning) as said:
        assert READERS.names() == READERS.module_names
    told = sorted(str(one.message) for one in said)
    assert len(told) == 5
    for words, text in zip(("'csv' is set aside", "'empty'", "'gone'", "'raising'", "'twice'"), told):
        assert words in text
    assert "odtc has one of this name" in told[0] and "RuntimeError: no luck" in told[3]
    assert "SystemExit: 0" in told[2] and "other-readers 1.0 and sad-readers 1.0" in told[4]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert READERS.names() == READERS.module_names  # once


@pytest.mark.parametrize(
    "name, why", [("raising", "RuntimeError: no luck"), ("empty", "'empty'"), ("twice", "remove one of them")]
)
def test_who_asks_for_one_hears_why(broken, name, why):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SetAsideWarning)
        with pytest.raises(ChoiceError, match=why):
            READERS.get(name)


def test_a_command_goes_on_with_a_note(broken):
    paths = environment() | {"PYTHONPATH": f"{broken}:{ROOT}"}
    words = [sys.executable, "-m", "odtc", "list", "readers"]
    done = subprocess.run(words, cwd=broken, env=paths, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0 and "parquet" in done.stdout
    notes = [line for line in done.stderr.splitlines() if "set aside" in line]
    assert len(notes) == 5 and all(line.startswith("note: the reader") for line in notes)
    assert "Traceback" not in done.stderr and "Warning" not in done.stderr


OWN = (ROOT / "examples" / "my-encoding" / "my_encoding.py").read_text(encoding="utf-8")


def test_a_file_is_a_member_for_one_command(tmp_path, monkeypatch):
    monkeypatch.setenv("ODTC_PLUGINS", "")
    (tmp_path / "places.py").write_text(f'{OWN}\nTYPE = "encoding"\n')
    words = ("fit", ROOT / "examples" / "iris" / "iris.csv", "--encoding", "places:places=1", "--depth", 1)
    said = odtc(*words, "--plugin", "places.py", "--json", folder=tmp_path)
    assert said.facts["encoding"] == "places:places=1" and said.facts["verified"]
    monkeypatch.setenv("ODTC_PLUGINS", "")
    assert "unknown encoding 'places'" in odtc(*words, folder=tmp_path).err
    monkeypatch.setenv("ODTC_PLUGINS", str(tmp_path))  # a folder
    assert odtc(*words, "--json", folder=tmp_path).facts["verified"]


@pytest.mark.parametrize(
    "name, text, why",
    [
        ("a.py", "TYPE = 1", "expected TYPE"),
        ("a.py", "", "expected TYPE"),
        ("a.py", "TYPE = 'sovler'", "got 'sovler' (did you mean 'solver'?)"),
        ("a.py", "1 / 0", "cannot be loaded: ZeroDivisionError"),
        ("a.py", "raise SystemExit(0)", "cannot be loaded: SystemExit: 0"),
        ("a.txt", "", "expected a Python file"),
        ("onehot.py", OWN + "TYPE = 'encoding'", "odtc has one of this name"),
        ("b.py", "TYPE = 'encoding'", "is not complete"),
    ],
)
def test_a_file_that_is_no_member_is_refused_or_set_aside_in_a_sentence(tmp_path, monkeypatch, name, text, why):
    monkeypatch.setenv("ODTC_PLUGINS", "")
    ENCODINGS._aside.clear()
    (tmp_path / name).write_text(text)
    said = odtc("list", "encodings", "--plugin", name, folder=tmp_path)
    assert why in said.err and "Traceback" not in said.err and len(said.err.splitlines()) == 1
    assert said.code in ((0,) if "encoding" in text else (1, 2))
    ENCODINGS._aside.clear()


def test_a_command_in_this_process_leaves_no_plug_in_to_later_tests(tmp_path, monkeypatch):
    monkeypatch.setenv("ODTC_PLUGINS", "")
    (tmp_path / "left.py").write_text(OWN + "TYPE = 'encoding'")
    assert odtc("list", "encodings", "--plugin", "left.py", folder=tmp_path).code == 0
    assert os.environ["ODTC_PLUGINS"] == ""


def test_a_file_that_ends_the_program_or_prints_stops_and_spoils_nothing(tmp_path, monkeypatch):
    (tmp_path / "ends.py").write_text("import sys\nsys.exit(0)\n")
    (tmp_path / "speaks.py").write_text(f"print('hello')\n{OWN}\nTYPE = 'encoding'\n")
    monkeypatch.setenv("ODTC_PLUGINS", str(tmp_path))
    said = odtc("list", "encodings", "--json", folder=tmp_path)
    assert "speaks" in {one["name"] for one in said.facts["encodings"]}
    told = said.err.splitlines()
    assert told.count("hello") == 1 and len(told) == 2
    assert "ends.py' cannot be loaded: SystemExit: 0" in said.err


def test_the_words_of_TYPE_are_those_of_the_groups_and_of_messages():
    registries = [one for one in (*REGISTRIES.values(), EXPORTERS) if one is not None]
    assert set(plug_ins.KINDS.values()) == {one.group.removeprefix("odtc.").removesuffix("s") for one in registries}
    assert {one.kind for one in registries} <= set(plug_ins.KINDS) and set(KINDS) <= set(plug_ins.KINDS.values())


def test_a_folder_is_named_by_plugin_as_by_the_environment(tmp_path, monkeypatch):
    """A member that is broken is set aside there; tests in the folder are no members."""
    monkeypatch.setenv("ODTC_PLUGINS", "")
    (tmp_path / "places.py").write_text(f'{OWN}\nTYPE = "encoding"\n')
    (tmp_path / "mixed.py").write_text("TYPE = 'sovler'")
    (tmp_path / "test_places.py").write_text("1 / 0")
    said = odtc("list", "encodings", "--json", "--plugin", ".", folder=tmp_path)
    assert "places" in {one["name"] for one in said.facts["encodings"]}
    assert len(said.err.splitlines()) == 1 and "did you mean 'solver'" in said.err


def test_a_model_of_sinks_satisfies_constraints_on_right_rows(tmp_path, monkeypatch):
    """BRANCH, LABEL and SINK say which rows are right: no column is repeated under another role."""
    monkeypatch.setenv("ODTC_PLUGINS", str(ROOT / "examples" / "plug-ins" / "cut_based.py"))
    words = (
        "fit",
        ROOT / "examples" / "monks" / "monks-1.csv",
        "--model",
        "cut_based",
        "--depth",
        1,
        "--solver",
        "highs",
    )
    said = odtc(*words, "--constraint", "recall[1] >= 0.9", "--json", "-o", "m", folder=tmp_path)
    assert said.facts["verified"] and said.facts["termination"] == "optimal", said.err
    refused = odtc(*words, "--constraint", "leaf_rows >= 5", "-o", "n", folder=tmp_path)
    assert refused.code == 2 and "needs a model that says" in refused.err


def test_a_manifest_of_an_absent_member_says_whose_it_is(tmp_path, monkeypatch):
    plug_in = ROOT / "examples" / "plug-ins" / "cut_based.py"
    monkeypatch.setenv("ODTC_PLUGINS", str(plug_in))
    words = ("build", ROOT / "examples" / "monks" / "monks-1.csv", "--model", "cut_based", "--depth", 1, "-o", "m")
    assert odtc(*words, folder=tmp_path).code == 0
    monkeypatch.setenv("ODTC_PLUGINS", "")
    said = refused(odtc("solve", "m.mps", folder=tmp_path))
    assert "unknown model 'cut_based'" in said and said.endswith("name the file by --plugin, or install the package")
    assert "the model 'cut_based' comes from cut_based.py (sha256 " in said


def test_which_models_have_the_columns_of_a_family_is_found_by_building(tmp_path):
    refused = odtc("build", ROOT / "examples" / "monks" / "monks-1.csv", "--cuts", "class_sizes", folder=tmp_path)
    assert "models that take it: svm1_odt" in refused.err, refused.err


def test_a_cut_whose_module_bears_another_name_gives_its_rows_and_the_manifest_says_whose_it_is(tmp_path, monkeypatch):
    monkeypatch.setenv("ODTC_PLUGINS", "")
    own = (ROOT / "examples" / "plug-ins" / "class_predicted.py").read_text(encoding="utf-8")
    (tmp_path / "as_registered.py").write_text(own)  # NAME stays "class_predicted"
    words = ("build", ROOT / "examples" / "monks" / "monks-1.csv", "-p", "bottom=flow", "-p", "lambda=0.1", "--json")
    plain = odtc(*words, "-o", "plain", folder=tmp_path).facts
    more = odtc(*words, "--cuts", "as_registered", "--plugin", "as_registered.py", "-o", "m", folder=tmp_path).facts
    assert more["cuts"] == ["as_registered"] and more["n_model_rows"] > plain["n_model_rows"]
    told = json.loads((tmp_path / "m.odt.json").read_text())
    of = f"as_registered.py (sha256 {hashlib.sha256(own.encode()).hexdigest()[:12]})"
    assert told["plug_ins"] == [{"type": "cut family", "name": "as_registered", "origin": of}]
    assert "plug_ins" not in json.loads((tmp_path / "plain.odt.json").read_text())


CUT = """from odtc.extend import EVERY_TREE, Axis, CutRows, Need, Statement, needed

TYPE = "cut"
SUMMARY = "of a test"
NEEDS = ((Need(Statement.CORRECT),),)
VALID = EVERY_TREE


def rows(problem, model, point=None):
    q = needed(problem, model, Statement.CORRECT)
    return (CutRows("whole", q.axes, tuple(q.entries(q.labels(), q.labels())), upper=1.0),)
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("((Need(Statement.CORRECT),),)", "(Need(Statement.CORRECT),)", "expected NEEDS as a tuple of tuples of Need"),
        ("VALID = EVERY_TREE", "VALID = 'all'", "expected VALID = EVERY_TREE or AN_OPTIMUM, got 'all'"),
        (
            "upper=1.0),)",
            "upper=1.0))",
            "expected a tuple of CutRows from rows() of the cut family 'mine', got CutRows",
        ),
        ('CutRows("whole"', 'CutRows("my row"', "expected a name of a block of variables or constraints of ASCII"),
        ('CutRows("whole"', 'CutRows("e1"', "begin with a letter, but neither with e"),
        ("    return", "    1 / 0\n    return", "mine.py', line 11 (ZeroDivisionError: division by zero); ODTC_TRACE"),
    ],
)
def test_a_mistake_in_a_cut_family_is_told_as_one_of_the_plug_in(old, new, said, tmp_path, monkeypatch):
    words = ("build", MONKS / "monks-1.csv", "--cuts", "mine", "--depth", 1, "-o", "m")
    for folder, text in ((tmp_path / "good", CUT), (tmp_path / "bad", CUT.replace(old, new))):
        folder.mkdir()
        (folder / "mine.py").write_text(text)
        monkeypatch.setenv("ODTC_PLUGINS", str(folder / "mine.py"))
        done = odtc(*words, folder=folder)
        assert done.code == 0 if text == CUT else said in refused(done)


SPLITS = """
from odtc.extend import Threshold
TYPE, SUMMARY, OPTIONS = "encoding", "s", {"parts": (int, "parts")}
def splits(dataset, parts=2):
    return [(Threshold(0, 1.0), False)]
"""


@pytest.mark.parametrize(
    "old, new, said",
    [
        ("[(Threshold(0, 1.0), False)]", "None", "return a list of (split, ones_left), got None"),
        ("(Threshold(0, 1.0), False)", "Threshold(0, 1.0)", "which is not such a pair"),
        ("Threshold(0,", "Threshold('name',", "whose columns are not positions from 0 to 1"),
        ("Threshold(0,", "Threshold(2,", "whose columns are not positions from 0 to 1"),
        ("1.0", "float('nan')", "whose threshold is not a finite number"),
        ("parts=2", "*, part=2", "expected splits to take its option 'parts', got splits(dataset, *, part=2)"),
        ('(int, "parts")', "int", "expected OPTIONS as NAME: (type, sentence of help), got 'parts'"),
        ("return", "1 / 0 #", "mine.py', line 5 (ZeroDivisionError: division by zero)"),
    ],
)
def test_a_mistake_in_an_encoding_is_told_as_one_of_the_plug_in(old, new, said, tmp_path, monkeypatch):
    (tmp_path / "d.csv").write_text("a,b,y\n1,u,0\n2,v,1\n")
    words = ("fit", "d.csv", "--encoding", "mine", "--depth", 1)
    for name, text in (("good", SPLITS), ("bad", SPLITS.replace(old, new))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine.py").write_text(text)
        monkeypatch.setenv("ODTC_PLUGINS", str(tmp_path / name / "mine.py"))
        done = odtc(*words, folder=tmp_path)
        assert done.code == 0 if text == SPLITS else said in refused(done)


@pytest.mark.parametrize(
    "old, new, said",
    [
        ("return [(coef, ", "return [(coef[0], ", "expected [(coef, upper)] from answers()"),
        ("return [(coef, ", "return coef, [(0, ", "expected [(coef, upper)] from answers()"),
        ("    return share(given)", "    share(given)", "expected a Constraint from read()"),
        ('("<=",)', '"<="', 'expected OPS as a tuple of "<=" and ">="'),
        ("coef = np", "coef = 1 / 0 + np", "ZeroDivisionError: division by zero (mine.py:"),
    ],
)
def test_check_reports_a_mistake_in_a_constraint_as_one_of_the_plug_in(old, new, said, tmp_path, monkeypatch):
    text = (ROOT / "examples" / "plug-ins" / "predicted_share.py").read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "mine.py").write_text(text.replace("predicted_share", "mine").replace(old, new))
    monkeypatch.setenv("ODTC_PLUGINS", str(tmp_path / "mine.py"))
    done = odtc("check", "mine", "--examples", 2, folder=tmp_path)
    assert done.code in (1, 2) and said in done.out + done.err and "a fault in" not in done.err


def test_check_finds_a_value_of_a_constraint_that_is_not_exact(tmp_path, monkeypatch):
    text = (ROOT / "examples" / "plug-ins" / "predicted_share.py").read_text(encoding="utf-8")
    exact = "return Fraction(int(weight[said].sum()), int(weight.sum()))"
    (tmp_path / "inexact.py").write_text(text.replace("predicted_share", "inexact").replace(exact, "return 0.3"))
    monkeypatch.setenv("ODTC_PLUGINS", str(tmp_path / "inexact.py"))
    done = started("check", "inexact", "--property", "optimum", "--examples", 12, folder=tmp_path)  # no other plug-in
    assert done.code == 1 and "from value(), which is exact, got 0.3" in done.out + done.err


def test_check_repeats_the_refusal_of_an_encoding_that_fits_no_data(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(SPLITS.replace("[(Threshold(0, 1.0), False)]", "[]"))
    monkeypatch.setenv("ODTC_PLUGINS", str(tmp_path / "mine.py"))
    assert "the last one was refused: expected" in odtc("check", "mine", "--examples", 2, folder=tmp_path).out


@pytest.mark.parametrize(
    "wrong, said",
    [
        ("found.x", "expected an Outcome from run() of the solver 'mine', got ndarray"),
        ("Outcome(found.x, 'optimal')", "with one of Termination, got 'optimal'"),
        ("Outcome(found.x[1:], Termination.OPTIMAL)", "with a value for each of the"),
    ],
)
def test_a_mistake_in_a_solver_is_told_as_one_of_the_plug_in(wrong, said, tmp_path, monkeypatch):
    text = (ROOT / "examples" / "plug-ins" / "scipy_milp.py").read_text(encoding="utf-8")
    head, last, _ = text.rpartition("    return Outcome(")
    (tmp_path / "mine.py").write_text(f"{head}    return {wrong}\n".replace("scipy_milp", "mine"))
    monkeypatch.setenv("ODTC_PLUGINS", str(tmp_path / "mine.py"))
    (tmp_path / "d.csv").write_text("a,y\n1,0\n2,1\n3,1\n")
    words = ("fit", "d.csv", "--model", "oct", "--depth", 1, "--solver", "mine", "--start", "none")
    done = odtc(*words, folder=tmp_path)
    assert done.code and said in done.err and "a fault in" not in done.err, done
