"""Commands on a tree whose run has a broken record or manifest: each reports it in one sentence, and uses the tree."""

import hashlib
import json

import pytest

from tests.command_line import MONKS, odtc, refused

ROBUST = ("--model", "flowoct", "-p", "robust=a1:1", "--time-limit", "60")
RUNS = {  # stem -> (its options, the file of its run)
    "found": (("--constraint", "leaf_rows >= 5"), "found.run.json"),
    "solved": (ROBUST, "solved.odt.json"),
}


def shaped(facts: dict):
    return lambda digest: json.dumps(facts | ({"specification": {"tree": digest}} if "fit" not in facts else {}))


def of_tree(**fit):
    return lambda digest: json.dumps({"fit": {"tree": {"sha256": digest}, **fit}})


BROKEN = {
    "a text": 'not JSON "robust"',
    "nothing": "",
    "bytes": b'\xff\xfe{"robust"}',
    "a list": '["robust"]',
    "a number": "5",
    "nested too deeply": '{"robust": ' + "[" * 100_000,
    "thousands of digits": '{"robust": ' + "9" * 5000 + "}",
    "a number in place of an object": '{"fit": 5, "data": 5, "model": 5, "robust": 5}',
    "an object without its parts": '{"fit": {"tree": {}}, "data": {}, "model": {}, "robust": 5}',
}
OF_A_RECORD = {
    "no data": of_tree(),
    "data of another shape": of_tree(data=5),
    "constraints of another shape": of_tree(data={"name": "d", "path": "d", "sha256": "0"}, model={"constraints": 5}),
    "an objective that is a text": shaped({"objective": "much", "bound": None, "solver": "odtc"}),
}
NAMES_ROBUST = [kind for kind, text in BROKEN.items() if "robust" in str(text)]  # others are not looked into
COMMANDS = {
    "show": ("show", "{}.tree.json"),
    "export": ("export", "{}.tree.json", "--to", "sql"),
    "predict": ("predict", "{}.tree.json", "monks-1.csv", "--score"),
    "explain": ("explain", "{}.tree.json", "monks-1.csv"),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    (folder / "monks-1.csv").write_bytes((MONKS / "monks-1.csv").read_bytes())
    for stem, (words, _) in RUNS.items():
        said = odtc("fit", "monks-1.csv", "--depth", 1, *words, "-o", stem, folder=folder)
        assert said.code == 0, said.err
    return folder


@pytest.fixture
def alone(runs, tmp_path):
    """Both trees by themselves, and the data."""
    for name in ("monks-1.csv", "found.tree.json", "solved.tree.json"):
        (tmp_path / name).write_bytes((runs / name).read_bytes())
    return tmp_path


def broken_by(content, path, tree) -> None:
    content = content(hashlib.sha256(tree.read_bytes()).hexdigest()) if callable(content) else content
    path.write_bytes(content.encode() if isinstance(content, str) else content)


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("kind", [*BROKEN, *OF_A_RECORD, "a folder"])
@pytest.mark.parametrize("stem", RUNS)
def test_a_tree_next_to_a_broken_file_of_its_run_is_used_by_itself(name, kind, stem, alone):
    tree, file = alone / f"{stem}.tree.json", RUNS[stem][1]
    if kind in OF_A_RECORD:
        file = f"{stem}.run.json"
    words = [word.format(stem) for word in COMMANDS[name]]
    before = odtc(*words, folder=alone)
    named = kind in NAMES_ROBUST or kind == "a folder"
    looks_into = file.endswith(".run.json") or name == "predict" or (name != "export" and named)
    says = int(looks_into)
    if kind == "a folder":
        (alone / file).mkdir()
    else:
        broken_by((BROKEN | OF_A_RECORD)[kind], alone / file, tree)
    said = odtc(*words, folder=alone)
    assert (said.code, said.out) == (0, before.out) and "fault" not in said.err, said.err
    notes = [line for line in said.err.splitlines() if f"{file}'" in line]
    assert len(notes) == says and all(line.startswith("note: ") for line in notes), said.err


@pytest.mark.parametrize("kind", [*BROKEN, *OF_A_RECORD])
def test_a_tree_is_not_refitted_without_the_settings_that_a_broken_file_had(kind, alone):
    """Its constraints would be lost; whoever removes the file is told so."""
    broken_by((BROKEN | OF_A_RECORD)[kind], alone / "found.run.json", alone / "found.tree.json")
    said = refused(odtc("refit", "found", "monks-1.csv", "-o", "new", folder=alone))
    assert "found.run.json" in said and "remove it" in said
    (alone / "found.run.json").unlink()
    said = odtc("refit", "found", "monks-1.csv", "-o", "new", folder=alone)
    assert said.code == 0 and "no record of the run" in said.err


def test_settings_of_another_shape_are_refused_in_one_sentence(runs, alone):
    record = json.loads((runs / "found.run.json").read_text())
    for part, value in (("model", {"depth": "x"}), ("model", record["specification"]["model"] | {"newer": 1})):
        edited = record | {"specification": record["specification"] | {part: value}}
        (alone / "found.run.json").write_text(json.dumps(edited))
        said = refused(odtc("refit", "found", "monks-1.csv", "-o", "new", folder=alone))
        assert "the settings in 'found.run.json' are damaged" in said


def test_the_record_of_another_tree_is_reported_by_all_that_read_it(tmp_path):
    """A record that was copied over is ignored, and whoever misses its figures is told why."""
    data = MONKS / "monks-1.csv"
    for stem, depth in (("a", 1), ("b", 2)):
        fit = ("fit", data, "--depth", depth, "--encoding", "onehot", "-o", stem)
        assert odtc(*fit, folder=tmp_path).code == 0
    (tmp_path / "a.run.json").write_bytes((tmp_path / "b.run.json").read_bytes())
    tree, words = "a.tree.json", "a.run.json is the record of another tree than a.tree.json"
    for command in (
        ("report", "a"),
        ("compare", tree, "b.tree.json"),
        ("show", tree),
        ("explain", tree, data),
        ("export", tree, "--to", "sql"),
        ("predict", tree, data, "--score"),
        ("refit", tree, MONKS / "monks-2.csv", "-o", "new"),
    ):
        said = odtc(*command, folder=tmp_path)
        assert said.code == 0 and said.err.count(words) == 1, (command, said.err)
    said = odtc("certify", "a", folder=tmp_path)
    assert said.code == 1 and "found the record of another tree" in said.err
    assert odtc("show", "b.tree.json", folder=tmp_path).err == ""
