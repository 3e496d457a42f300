"""Bad input, one test each: one sentence on stderr, exit 1 (2 for usage), nothing left behind, nothing spoilt."""

import contextlib
import gzip
import json
import shutil
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest

from odtc.base import memory
from tests.cli.test_commands import XOR
from tests.command_line import Said, command, contents, environment, odtc, refused

GOOD = "x,z,y\n1,u,a\n2,v,b\n3,u,a\n4,v,b\n"


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A folder with a.csv, built and solved as m.*, and another model n.* of the same data."""
    folder = tmp_path_factory.mktemp("done")
    (folder / "a.csv").write_text(XOR)
    for words in (
        ("build", "a.csv", "-o", "m"),
        ("solve", "m.mps"),
        ("decode", "m.sol"),
        ("build", "a.csv", "--depth", "3", "-o", "n"),
    ):
        assert odtc(*words, folder=folder).code == 0
    return folder


@pytest.fixture
def work(done, tmp_path):
    """A copy of it, to be spoilt."""
    return shutil.copytree(done, tmp_path / "work")


def refused_untouched(*words, folder, code=1) -> str:
    """The sentence; every file of the folder is found as it was, and no other one beside it."""
    before = contents(folder)
    sentence = refused(odtc(*words, folder=folder), code)
    assert contents(folder) == before
    return sentence


# data files

DATA = {
    "empty": (b"", "empty"),
    "blank": (b"\n\n  \n", "empty"),
    "header only": (b"x,y\n", "header only"),
    "ragged": (b"x,y\n1,a\n2,b,c\n", "row 2"),
    "short row": (b"x,z,y\n1,2,a\n2,b\n", "row 2"),
    "not UTF-8": (b"x,y\n\xe9,a\n2,b\n", "UTF-8"),
    "UTF-16": ("x,y\n1,a\n2,b\n".encode("utf-16-le"), "UTF-8"),
    "same names": (b"x,x,y\n1,2,a\n2,1,b\n", "'x'"),
    "blank name": (b"x,,y\n1,2,a\n2,1,b\n", "name"),
    "one class": (b"x,y\n1,a\n2,a\n", "two classes"),
    "no feature": (b"y\na\nb\n", "feature"),
    "constant features": (b"x,z,y\n1,u,a\n1,u,b\n", "constant"),
    "only missing": (b"x,y\n?,a\n?,b\n", "missing"),
    "open quote": (b'x,y\n"1,a\n2,b\n', "quote"),
    "a regression target": (b"x,y\n" + b"".join(b"%d,%d.5\n" % (i, i) for i in range(30)), "regression"),
}


@pytest.mark.parametrize("content, word", DATA.values(), ids=DATA.keys())
@pytest.mark.parametrize("name", ["fit", "build"])
def test_bad_data(tmp_path, name, content, word):
    (tmp_path / "a.csv").write_bytes(content)
    assert word in refused_untouched(name, "a.csv", folder=tmp_path)


@pytest.mark.parametrize(
    "path", ["absent.csv", "folder.csv", "a.xlsx", "broken.csv.gz", "broken.parquet", "broken.arff"]
)
def test_a_data_file_that_cannot_be_read(tmp_path, path):
    (tmp_path / "folder.csv").mkdir()
    for name in ("a.xlsx", "broken.parquet", "broken.arff"):
        (tmp_path / name).write_bytes(b"rubbish")
    (tmp_path / "broken.csv.gz").write_bytes(gzip.compress(GOOD.encode())[:-9])
    assert path in refused_untouched("fit", "--model", "flowoct", path, folder=tmp_path)


# options

CHOICES = (
    {
        "target": (["--target", "nosuch"], "nosuch"),
        "near target": (["--target", "Y"], "'y'"),
        "categorical": (["--categorical", "nosuch"], "nosuch"),
        "weights": (["--weights", "z"], "'z'"),
        "both": (["--categorical", "x", "--numeric", "x"], "both"),
        "numeric": (["--numeric", "z"], "'u'"),
        "missing": (["--missing", "dorp"], "did you mean 'drop'"),
        "model": (["--model", "flowoc"], "did you mean 'flowoct'"),
        "encoding": (["--encoding", "one-hot"], "did you mean 'onehot'"),
        "option of an encoding": (["--encoding", "auto:bin=3"], "did you mean 'bins'"),
        "bins": (["--encoding", "auto:bins=1"], "bins"),
        "bins abc": (["--encoding", "auto:bins=abc"], "'abc'"),
        "thresholds of words": (["--encoding", "thresholds"], "'z'"),
        "parameter": (["-p", "lamda=0.1"], "did you mean 'lambda'"),
        "parameter without =": (["-p", "lambda"], "KEY=VALUE"),
        "bottom": (["--model", "flowoct", "-p", "bottom=side"], "stump"),
        "literal": (["--model", "flowoct", "-p", "literal=maybe"], "true or false"),
        "proof": (["--model", "dpflow", "-p", "proof=maybe"], "true or false"),
        "cut": (["--cuts", "nosuch"], "nosuch"),
        "start": (["--start", "crat"], "did you mean 'cart'"),
        "start file": (["--start", "absent.json"], "absent.json"),
        "format": (["--format", "msp"], "did you mean 'mps'"),
    }
    | {
        f"lambda={value}": (["-p", f"lambda={value}"], "at least 0 and below 1")
        for value in ("1", "-0.1", "abc", "nan", "inf", "")
    }
    | {f"depth {value}": (["--depth", str(value)], "depth from 0 to") for value in (-1, 21, 10**9)}
)
SOLVING = {
    "solver": (["--solver", "higs"], "did you mean 'highs'"),
    "no time": (["--time-limit", "0"], "--time-limit"),
    "nan time": (["--time-limit", "nan"], "--time-limit"),
    "threads": (["--threads", "0"], "--threads"),
    "seed": (["--seed", "-1"], "--seed"),
    "gap": (["--gap", "-0.1"], "--gap"),
    "gap nan": (["--gap", "nan"], "--gap"),
    "test": (["--test", "absent.csv"], "absent.csv"),
}


OF_FILES = "weights", "numeric", "thresholds of words", "start file", "test"  # the option suits, the file does not


@pytest.mark.parametrize(
    "name, about, words, word",
    [
        *[
            pytest.param(name, about, *rest, id=f"{name}-{about}")
            for about, rest in CHOICES.items()
            for name in ("fit", "build")
        ],
        *[pytest.param("fit", about, *rest, id=f"fit-{about}") for about, rest in SOLVING.items()],
    ],
)
def test_bad_options(tmp_path, name, about, words, word):
    (tmp_path / "a.csv").write_text(GOOD)
    code = 1 if about in OF_FILES else 2
    assert word in refused_untouched(name, "a.csv", *words, folder=tmp_path, code=code)


@pytest.mark.parametrize(
    "words, word",
    [
        (["fit"], "DATA"),
        (["fit", "a.csv", "--depth", "two"], "--depth"),
        (["fit", "a.csv", "--dpeth", "2"], "--dpeth"),
        (["nosuch"], "nosuch"),
        (["fit", "a.csv", "b.csv"], "b.csv"),
        (["export", "t.json"], "--to"),
        (["info"], "--help"),
        (["solve", "m.mps", "--time-limit", "soon"], "--time-limit"),
        (["fit", "a.csv", "-p"], "-p"),
    ],
)
def test_usage_is_exit_code_2(tmp_path, words, word):
    assert word in refused_untouched(*words, folder=tmp_path, code=2)


def test_a_file_of_svmlight_is_named_as_such(tmp_path):
    (tmp_path / "a.libsvm").write_text("+1 1:0.5 3:1.2 # c\n-1 2:0.1\n")
    assert "load_svmlight_file" in refused_untouched("fit", "a.libsvm", folder=tmp_path)


def test_no_command_at_all_shows_the_help():
    said = odtc()
    assert said.code in (0, 2) and "decode" in said.out + said.err  # 0 before Click 8.2


def test_unknown_kinds_and_names():
    assert "did you mean 'models'" in refused(odtc("list", "model"))
    assert "did you mean 'flowoct'" in refused(odtc("info", "flowot"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fit", "build"])
def test_a_model_too_large_for_memory_is_refused_before_it_is_laid_out(tmp_path, monkeypatch, name):
    monkeypatch.setattr(memory, "available", lambda: 8 * 2**30)
    bits = np.random.default_rng(0).integers(0, 2, (3000, 16)).tolist()
    (tmp_path / "a.csv").write_text(
        "\n".join([",".join(f"x{j}" for j in range(15)) + ",y", *(",".join(map(str, row)) for row in bits)])
    )
    for depth in (18, 20):
        assert "--depth" in refused_untouched(name, "--model", "flowoct", "a.csv", "--depth", depth, folder=tmp_path)


def test_out_of_memory_is_a_sentence(tmp_path, monkeypatch):
    from odtc.workflow import run

    def no_room(*words, **more):
        raise MemoryError

    monkeypatch.setattr(run, "pose_run", no_room)
    assert "memory" in refused_untouched("fit", "--model", "flowoct", "a.csv", folder=tmp_path)


# places to write


@pytest.mark.parametrize("o", ["absent/m", "a.csv/m", "/proc/m"])
@pytest.mark.parametrize("name", ["fit", "build"])
def test_a_folder_that_cannot_be_written_to(tmp_path, name, o):
    (tmp_path / "a.csv").write_text(GOOD)
    assert "cannot write" in refused_untouched(name, "a.csv", "-o", o, folder=tmp_path)


@pytest.mark.parametrize(
    "words",
    [
        ("export", "m.tree.json", "--to", "dot"),
        ("predict", "m.tree.json", "a.csv"),
        ("decode", "m.sol"),
        ("solve", "m.mps"),
    ],
)
@pytest.mark.parametrize("o", ["absent/o", "folder", "/dev/full"])
def test_results_that_cannot_be_written(work, words, o):
    (work / "folder").mkdir()
    if words[0] == "solve":
        said = odtc(*words, "-o", o, folder=work)
        assert "cannot write" in refused(said) and not list(work.rglob(".*"))
    else:
        assert "cannot write" in refused_untouched(*words, "-o", o, folder=work)


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("build", "a.csv", "-o", "m"),
        ("fit", "a.csv", "--model", "flowoct", "-o", "m"),
        ("export", "m.tree.json", "--to", "dot", "-o", "m.mps"),
    ],
)
def test_a_full_disk_leaves_every_file_as_it_was(work, words):
    before = contents(work)
    # No file may grow beyond a block: for the program, a disk that is full.
    full = ["sh", "-c", 'ulimit -f 1; exec "$@"', "sh", *command(*words)]
    done = subprocess.run(full, cwd=work, env=environment(), capture_output=True, text=True, timeout=120)
    said = Said(done.returncode, done.stdout, done.stderr)
    assert "cannot write" in refused(said) and contents(work) == before


# solution files


def test_a_solution_cut_anywhere_is_refused(work):
    whole = {name: (work / name).read_bytes() for name in ("m.sol", "m.mst")}
    (work / "m.run.json").unlink()
    for name, content in whole.items():
        for tenth in range(10):
            (work / name).write_bytes(content[: len(content) * tenth // 10])
            for word in ("decode", "verify"):
                refused_untouched(word, name, folder=work)
        (work / name).write_bytes(content)
        assert odtc("decode", name, folder=work).code == 0


@pytest.mark.slow
def test_a_start_cut_between_two_lines_fails_its_checks(work):
    text = (work / "m.mst").read_text().splitlines(keepends=True)
    for kept in range(1, len(text)):
        (work / "m.mst").write_text("".join(text[:kept]))
        refused_untouched("decode", "m.mst", folder=work)


def columns(text, change):
    """The solution file with the lines of its columns changed."""
    head, rest = text.split("# Columns", 1)
    body, tail = rest.split("# Rows", 1)
    count, *lines = body.splitlines()
    return f"{head}# Columns{count}\n" + "\n".join(change(lines)) + f"\n# Rows{tail}"


SOLUTIONS = {
    "nan": (lambda lines: [lines[0].split()[0] + " nan", *lines[1:]], "finite"),
    "inf": (lambda lines: [lines[0].split()[0] + " inf", *lines[1:]], "finite"),
    "word": (lambda lines: [lines[0].split()[0] + " one", *lines[1:]], "number"),
    "twice": (lambda lines: [lines[1], *lines[1:]], "twice"),
    "unknown column": (lambda lines: ["q_1_1 1", *lines[1:]], "'q_1_1'"),
    "fraction": (lambda lines: [lines[0].split()[0] + " 0.4", *lines[1:]], "integrality"),
    "beyond its bound": (lambda lines: [lines[0].split()[0] + " 7", *lines[1:]], "bounds"),
    "all zero": (lambda lines: [line.split()[0] + " 0" for line in lines], "rows"),
    "one line more": (lambda lines: [*lines, "extra 1"], "columns"),
}


@pytest.mark.parametrize("change, word", SOLUTIONS.values(), ids=SOLUTIONS.keys())
def test_a_solution_with_bad_columns(work, change, word):
    text = (work / "m.sol").read_text()
    (work / "m.sol").write_text(columns(text, change))
    assert word in refused(odtc("verify", "m.sol", folder=work))
    assert word in refused_untouched("decode", "m.sol", folder=work)


@pytest.mark.parametrize(
    "content",
    [
        b"\x00\xff\x80" * 50,
        b"hello world\n",
        b"\x1f\x8b\x08\x00",
        b"{}",
        b"Model status\nOptimal\n\n# Primal solution values\n",
        b"Model status\nOptimal\n\n# Primal solution values\nFeasible\nObjective nan\n# Columns 1\nx 1\n# Rows 0\n",
    ],
)
def test_a_solution_of_rubbish(work, content):
    (work / "m.sol").write_bytes(content)
    refused_untouched("decode", "m.sol", folder=work)


def test_a_solution_that_claims_another_objective(work):
    text = (work / "m.sol").read_text()
    (work / "m.sol").write_text(text.replace("Objective 0\n", "Objective 3\n"))
    assert "objective" in refused(odtc("verify", "m.sol", folder=work))


def test_a_tree_that_fails_its_checks_is_told_but_not_written(work):
    text = (work / "m.sol").read_text()
    (work / "m.sol").write_text(columns(text, SOLUTIONS["all zero"][0]))
    said = odtc("decode", "m.sol", "--json", folder=work)
    assert said.code == 1 and (said.facts["verified"], said.facts["tree"], said.facts["files"]) == (False, None, [])


def test_a_solution_of_another_model(work):
    assert "another" in refused_untouched("decode", "m.sol", "--manifest", "n.odt.json", folder=work)
    shutil.copy(work / "m.sol", work / "n.sol")
    assert "another" in refused_untouched("decode", "n.sol", folder=work)


@pytest.mark.parametrize("name", ["decode", "verify"])
def test_no_solution_file(work, name):
    assert "absent.sol" in refused_untouched(name, "absent.sol", folder=work)


# manifests


def test_no_manifest_beside_the_solution(work, tmp_path):
    (tmp_path / "alone").mkdir()
    shutil.copy(work / "m.sol", tmp_path / "alone" / "m.sol")
    assert "--manifest" in refused_untouched("decode", "m.sol", folder=tmp_path / "alone")
    assert "absent" in refused_untouched("decode", "m.sol", "--manifest", "absent.odt.json", folder=work)


def edited(change):
    def edit(text):
        facts = json.loads(text)
        change(facts)
        return json.dumps(facts)

    return edit


MANIFESTS = {
    "empty": lambda text: "",
    "not JSON": lambda text: "manifest",
    "a list": lambda text: "[]",
    "nested beyond reason": lambda text: "[" * 100_000,
    "half": lambda text: text[: len(text) // 2],
    "another schema": edited(lambda facts: facts.update(schema="odtc.manifest/99")),
    "another size": edited(lambda facts: facts["model"].update(n_cols=facts["model"]["n_cols"] + 1)),
    "another depth": edited(lambda facts: facts["model"].update(depth=3)),
    "absurd depth": edited(lambda facts: facts["model"].update(depth=25)),
    "unknown model": edited(lambda facts: facts["model"].update(formulation="nosuch")),
    "unknown parameter": edited(lambda facts: facts["model"]["params"].update(nosuch=1)),
    "fewer tests": edited(lambda facts: facts["encoding"]["splits"].pop()),
    "fewer classes": edited(lambda facts: facts["classes"].pop()),
    "fewer features": edited(lambda facts: facts["features"].pop(0)),
    "another block": edited(lambda facts: facts["model"]["columns"].pop(0)),
    "a renamed block": edited(lambda facts: facts["model"]["columns"][0].update(name="q")),
    "rows of rubbish": edited(lambda facts: facts["rows"].update(X="????")),
    "other rows": edited(lambda facts: facts["rows"].update(n=3)),
    **{
        f"without {part}.{key}": edited(lambda facts, part=part, key=key: facts[part].pop(key))
        for part, key in (
            ("data", "target"),
            ("data", "n_rows_dropped"),
            ("model", "nnz"),
            ("model", "columns"),
            ("rows", "y"),
            ("encoding", "splits"),
        )
    },
    **{
        f"without {part}": edited(lambda facts, part=part: facts.pop(part))
        for part in ("data", "model", "rows", "features", "classes")
    },
}


@pytest.mark.parametrize("edit", MANIFESTS.values(), ids=MANIFESTS.keys())
@pytest.mark.parametrize("name", ["decode", "verify"])
def test_a_bad_manifest(work, name, edit):
    (work / "m.odt.json").write_text(edit((work / "m.odt.json").read_text()))
    refused_untouched(name, "m.sol", folder=work)


def test_a_manifest_that_does_not_say_how_its_data_was_read(work):
    (work / "m.odt.json").write_text(
        edited(lambda facts: facts["data"].pop("categorical"))((work / "m.odt.json").read_text())
    )
    assert "categorical" in refused_untouched("verify", "m.sol", folder=work)


def test_a_model_file_that_is_not_that_of_its_manifest(work):
    shutil.copy(work / "n.mps", work / "m.mps")
    assert "m.odt.json" in refused_untouched("solve", "m.mps", folder=work)


@pytest.mark.parametrize("content", [XOR.replace("red,1,p,yes", "red,1,p,no"), XOR + "red,1,p,yes\n", "", "other\n1\n"])
def test_verify_refuses_data_that_changed_after_the_build(work, content):
    (work / "a.csv").write_text(content)
    assert "a.csv" in refused_untouched("verify", "m.sol", folder=work)
    assert "absent.csv" in refused_untouched("verify", "m.sol", "--data", "absent.csv", folder=work)


# model files and starts


@pytest.mark.parametrize(
    "name, content",
    [
        ("absent.mps", None),
        ("g.mps", b"rubbish\n"),
        ("g.lp", b"rubbish\n"),
        ("e.mps", b""),
        ("e.lp", b""),
        ("g.txt", b"rubbish\n"),
        ("cut.mps", "half of m.mps"),
        ("cut.lp.gz", b"\x1f\x8b\x08\x00rubbish"),
        ("folder.mps", None),
    ],
)
def test_a_model_file_that_cannot_be_solved(work, name, content):
    (work / "folder.mps").mkdir()
    if content == "half of m.mps":
        content = (work / "m.mps").read_bytes()
        content = content[: len(content) // 2]
    if content is not None:
        (work / name).write_bytes(content)
    assert name in refused_untouched("solve", name, folder=work)


def test_a_start_of_another_model(work):
    assert "n.start.sol" in refused_untouched("solve", "m.mps", "--start", "n.start.sol", folder=work)
    assert "absent" in refused_untouched("solve", "m.mps", "--start", "absent", folder=work)
    assert odtc("solve", "m.mps", "--start", "none", folder=work).code == 0


# tree files

TREES = {
    "empty": lambda text: "",
    "half": lambda text: text[: len(text) // 2],
    "not JSON": lambda text: "tree",
    "nested beyond reason": lambda text: "[" * 100_000,
    "another schema": edited(lambda facts: facts.update(schema="odtc.tree/99")),
    "without a root": edited(lambda facts: facts.pop("root")),
    "without features": edited(lambda facts: facts.update(features=[])),
    "unknown class": edited(lambda facts: facts.update(classes=["maybe"])),
    "unknown split": edited(lambda facts: facts["root"]["split"].update(kind="oblique")),
    "no right side": edited(lambda facts: facts["root"].pop("right")),
}


@pytest.mark.parametrize("edit", TREES.values(), ids=TREES.keys())
@pytest.mark.parametrize(
    "words",
    [
        ("show", "m.tree.json"),
        ("export", "m.tree.json", "--to", "dot", "-o", "out"),
        ("predict", "m.tree.json", "a.csv"),
        ("fit", "a.csv", "--model", "flowoct", "--start", "m.tree.json"),
    ],
    ids=lambda words: words[0],
)
def test_a_bad_tree_file(work, words, edit):
    (work / "m.tree.json").write_text(edit((work / "m.tree.json").read_text()))
    refused_untouched(*words, folder=work)


def test_unknown_exporters_and_absent_trees(work):
    assert "did you mean 'dot'" in refused_untouched("export", "m.tree.json", "--to", "dott", folder=work, code=2)
    assert "absent.json" in refused_untouched("show", "absent.json", folder=work)
    assert "nowhere" in refused_untouched("show", "m.tree.json", "--templates", "nowhere", folder=work, code=2)


def test_a_tree_of_other_data_or_a_greater_depth_is_projected_with_a_note(work):
    (work / "b.csv").write_text(GOOD)
    for words in (("b.csv",), ("a.csv", "--depth", "1")):
        said = odtc("fit", "--model", "flowoct", *words, "--start", "m.tree.json", "--json", "-o", "n", folder=work)
        assert said.code == 0 and said.facts["verified"], said.err
        assert "the start 'm.tree.json' is " in said.err


@pytest.mark.parametrize(
    "content, word", [("size,noise\n1,p\n", "'colour'"), ("colour,size,noise\n", "header only"), ("", "empty")]
)
def test_rows_to_predict_that_do_not_fit(work, content, word):
    (work / "new.csv").write_text(content)
    assert word in refused_untouched("predict", "m.tree.json", "new.csv", folder=work)


def test_a_word_where_the_tree_wants_a_number(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,a\n2,b\n")
    (tmp_path / "new.csv").write_text("x\n1\nmany\n")
    odtc("fit", "--model", "flowoct", "a.csv", "--depth", "1", "-o", "m", folder=tmp_path)
    assert "row 2" in refused_untouched("predict", "m.tree.json", "new.csv", folder=tmp_path)


def test_score_needs_labels(work):
    (work / "new.csv").write_text("colour,size,noise\nred,1,p\n")
    assert "'class'" in refused_untouched("predict", "m.tree.json", "new.csv", "--score", folder=work)


# hostile names

NAMES = [
    "a,b",
    'say "x"',
    "line\nbreak",
    "tab\there",
    "größe",
    "木",
    "🌳",
    "'; DROP TABLE",
    "{{ x }}",
    "{# #}",
    "%s",
    "\\n",
    "a" * 300,
    "e1",
    "1",
    "-",
    "=1+1",
    "\u202eright",
    "C0000001",
    "nan_",
]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_hostile_names_survive_the_whole_way(tmp_path, name):
    def quoted(*cells):
        return ",".join('"' + cell.replace('"', '""') + '"' for cell in cells) + "\n"

    (tmp_path / "a.csv").write_text(
        quoted(name, "z", "class" + name)
        + "".join(
            quoted(level, z, f"{'yes' if (level == name) != (z == '2') else 'no'} {name}")
            for level in (name, "other")
            for z in "12"
        )
    )
    facts = odtc("fit", "--model", "flowoct", "a.csv", "-o", "m", "--format", "lp", "--json", folder=tmp_path).facts
    assert facts["verified"] and facts["train_correct"] == 4
    assert odtc("solve", "m.lp", folder=tmp_path).code == odtc("verify", "m.sol", folder=tmp_path).code == 0
    for to in ("text", "dot", "python"):
        assert odtc("show", "m.tree.json", "--to", to, folder=tmp_path).code == 0
    assert odtc("predict", "m.tree.json", "a.csv", "--score", "--json", folder=tmp_path).facts["accuracy"] == 1


def test_a_fault_of_our_own_is_a_sentence_that_asks_for_a_report(monkeypatch):
    from odtc.cli import catalogue

    def fault(kind):
        raise ZeroDivisionError("division\nby zero")

    monkeypatch.setattr(catalogue, "registered", fault)
    said = odtc("list", "models")
    assert (
        said.code == 1
        and said.err.count("\n") == 1
        and "a fault in odtc itself (ZeroDivisionError: division by zero)" in said.err
    )
    monkeypatch.setenv("ODTC_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        odtc("list", "models")


@pytest.mark.parametrize("kept", [40, 16])
def test_a_damaged_compiled_module_is_named_and_no_interruption(tmp_path, monkeypatch, kept):
    """A disk that was full while Python compiled a module leaves a part of it; typer takes EOFError for Ctrl-C."""
    import py_compile

    from odtc.cli import catalogue

    (tmp_path / "cut_off.py").write_text("words = list(range(10))\n")
    compiled = Path(py_compile.compile(str(tmp_path / "cut_off.py")))
    compiled.write_bytes(compiled.read_bytes()[:kept])
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(catalogue, "registered", lambda kind: __import__("cut_off"))
    said = odtc("list", "models")
    assert said.code == 1 and said.err.strip() == (
        f"odtc: error: {str(compiled)!r} is damaged, as after a full disk; remove it, and Python writes it again"
    )


def test_an_end_of_file_is_a_fault_and_no_interruption(monkeypatch):
    from odtc.cli import catalogue

    def ended(kind):
        raise EOFError("no more")

    monkeypatch.setattr(catalogue, "registered", ended)
    said = odtc("list", "models")
    assert said.code == 1 and "a fault in odtc itself (EOFError: no more)" in said.err


def test_ctrl_c_before_there_is_a_result_is_a_sentence(monkeypatch):
    """Also where typer swallows it and only hands back 130."""
    from odtc.cli import catalogue

    def interrupted(kind):
        raise KeyboardInterrupt

    monkeypatch.setattr(catalogue, "registered", interrupted)
    assert refused(odtc("list", "models"), 130).startswith("interrupted before there was a result")


def test_a_signal_ends_check_although_a_property_takes_it_for_a_failure(monkeypatch):
    """A solver that is interrupted returns no proof, so the property failed, and check went on for minutes."""
    from odtc.testing.property import Case, Outcome

    tried = []

    def run(case, examples):
        tried.append(case)
        if len(tried) == 2:
            with contextlib.suppress(KeyboardInterrupt):
                signal.raise_signal(signal.SIGTERM)
        return Outcome(case, 1, "failed" * (len(tried) == 2))

    monkeypatch.setattr(Case, "run", run)
    said = odtc("check", "leaf_rows", "--type", "constraint")
    assert said.code == 143 and len(tried) == 2 and "failed" not in said.out
    assert "interrupted; the properties above were tested" in said.err


# what a first user met


@pytest.mark.parametrize(
    "words, code, parts",
    [
        (["fit", "a.csv", "--depth", "two"], 2, ["--depth", "a whole number", "'two'"]),
        (["fit", "a.csv", "--time-limit", "soon"], 2, ["--time-limit", "a number", "'soon'"]),
        (["fit", "a.csv", "--program", "nosuch"], 2, ["--program", "highs", "no executable"]),
        (["fit", "a.csv", "--solver", "cbc", "--program", "a.csv"], 1, ["--program", "'a.csv'"]),
        (["fit", "a.csv", "--solver", "cbc", "--program", "./absent"], 1, ["./absent"]),
        (["solve", "m.mps", "--program", "nosuch", "-o", "o.sol"], 2, ["--program", "highs"]),
        (["fit", "a.csv", "--solver-template", "a.csv"], 2, ["--solver-template", ".toml", "'a.csv'"]),
        (["fit", "a.csv", "--class-weight", "even"], 2, ["--class-weight", "balanced", "CLASS=W", "'even'"]),
        (["fit", "a.csv", "--cost", "no:yes"], 1, ["--cost", "TRUE:PREDICTED=COST", "'no:yes'"]),
        (["fit", "a.csv", "--model", "cart", "--cuts", "paper4"], 2, ["--cuts", "'cart'", "without a model"]),
        (["fit", "a.csv", "--model", "cart", "--format", "mps"], 2, ["--format", "'cart'", "without a model"]),
        (["fit", "a.csv", "--model", "cart", "--keep"], 2, ["--keep", "'cart'", "without a model"]),
        (["tune", "a.csv", "--depths", ""], 2, ["--depths", "whole numbers"]),
        (["tune", "a.csv", "--depths", ","], 2, ["--depths", "whole numbers"]),
        (["tune", "a.csv", "--min-leaf-rows", ""], 2, ["--min-leaf-rows", "whole numbers"]),
        (["tune", "a.csv", "--folds", "77"], 2, ["--folds", "77", "the second largest class has"]),
        (["tune", "a.csv", "--time-limit", "-1"], 2, ["--time-limit", "above 0"]),
        (["plot", "tuning", "absent.json", "-o", "p.png"], 1, ["absent.json", "No such file"]),
        (["plot", "tuning", "m", "-o", "p.png"], 1, ["'m.tune.json'", "odtc tune"]),
        (["plot", "tuning", "m.tree.json", "-o", "p.png"], 1, ["m.tree.json", "odtc tune"]),
        (["verify", "m.sol", "--certificate", "m.sol"], 2, ["not both"]),
        (["compare", "m", "m.tree.json", "--rows", "-1"], 2, ["--rows", "-1"]),
        (["predict", "m.tree.json", "other.csv", "--score"], 1, ["other.csv", "'YES'", "no, yes"]),
        (["verify", "k"], 2, ["neither k.sol nor k.tree.json"]),
        (["solve", "absent"], 1, ["'absent'", "No such file"]),
    ],
)
def test_what_a_first_user_met(work, words, code, parts):
    (work / "other.csv").write_text(XOR.replace("yes", "YES").replace("no", "NO"))
    sentence = refused_untouched(*words, folder=work, code=code)
    assert all(part in sentence for part in parts), sentence
    assert "Errno" not in sentence and "Error:" not in sentence


def test_an_explained_row_that_is_refused_is_called_by_its_own_number(work):
    (work / "n.csv").write_text("n,y\n1,a\n2,a\n3,b\n4,b\n")
    assert odtc("fit", "--model", "flowoct", "n.csv", "--depth", "1", "-o", "num", folder=work).code == 0
    (work / "gap.csv").write_text("n,y\n1,a\n2,a\n,b\n4,b\n")
    assert "row 3 has no value for 'n'" in refused_untouched(
        "explain", "num.tree.json", "gap.csv", "--row", "3", folder=work
    )
    assert "row 3 has no value for 'n'" in refused_untouched("predict", "num.tree.json", "gap.csv", folder=work)


def test_constraints_that_no_tree_keeps_are_named(work):
    words = (
        "fit",
        "a.csv",
        "--depth",
        "1",
        "--constraint",
        "accuracy >= 1",
        "--constraint",
        "leaf_rows >= 1",
        "-o",
        "kept",
    )
    said = odtc(*words, folder=work)
    assert (
        said.code == 3
        and "satisfies accuracy >= 1; the best possible value is accuracy >= " in said.err
        and "; relax it, allow" in said.err
    )


def test_a_solver_asked_for_by_name_that_is_not_here_fails_the_doctor(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    said = odtc("doctor", "--solver", "cuopt", folder=tmp_path)
    assert said.code == 1 and "cuopt" in said.err and "'cuopt_cli'" in said.out


def test_signs_that_a_font_has_not_are_drawn_without_words(work):
    text = (work / "m.tree.json").read_text().replace('"colour"', '"色 \\ud83c\\udf89"')
    (work / "signs.tree.json").write_text(text)
    said = odtc("export", "signs.tree.json", "--to", "png", "-o", "signs.png", folder=work)
    assert (said.code, said.err) == (0, "wrote signs.png (png)\n")
    assert (work / "signs.png").read_bytes().startswith(b"\x89PNG")
    assert "both --x and --y" in refused_untouched(
        "plot", "regions", "m.tree.json", "a.csv", "--x", "size", "--y", "size", "-o", "r.png", folder=work, code=2
    )


def test_a_comma_behind_the_last_option_is_named(done):
    sentence = refused_untouched(
        "fit", "--model", "flowoct", "a.csv", "--encoding", "auto:bins=3,", folder=done, code=2
    )
    assert "expected KEY=VALUE behind each colon and comma of the encoding 'auto:bins=3,', got nothing" in sentence


def test_a_measured_number_as_the_target_is_told(tmp_path):
    (tmp_path / "m.csv").write_text("x,y\n" + "".join(f"{i % 12},{i % 12 / 4}\n" for i in range(48)))
    said = odtc("fit", "m.csv", "--model", "cart", folder=tmp_path)
    assert said.code == 0 and "the target 'y' has 12 different numbers, and each is a class of its own" in said.err
    (tmp_path / "w.csv").write_text("x,y\n" + "".join(f"{i % 12},{i % 12}\n" for i in range(48)))
    assert "different numbers" not in odtc("fit", "w.csv", "--model", "cart", folder=tmp_path).err
