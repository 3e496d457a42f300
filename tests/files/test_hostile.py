"""Malicious and badly damaged inputs: refused quickly in one sentence; nothing is executed or lost."""

import base64
import gzip
import importlib
import json
import random
import subprocess
import time
import zlib

import polars as pl
import pytest

from odtc.base.compression import TooLargeError, gunzip, pack, unpack_text
from odtc.data.cells.column_types import level_codes, levels_of
from odtc.data.cells.readers.arff import NOMINAL
from odtc.data.reading import read
from odtc.errors import OdtcError
from odtc.formulations.dpflow.forms.live_cases import Live
from odtc.solvers.solver import from_template
from tests.command_line import MONKS, odtc

MONKS_1 = MONKS / "monks-1.csv"


def refused(*words, folder):
    """One sentence and exit code 1 (2 for usage), and no traceback."""
    said = odtc(*words, folder=folder)
    assert said.code in (1, 2), (said.out, said.err)
    assert "a fault in odtc" not in said.err and "Traceback" not in said.err
    return said


def build(folder, *more):
    return odtc("build", MONKS_1, "--depth", 1, "--encoding", "onehot", "-o", "m", *more, folder=folder)


def test_a_cost_file_of_empty_cells(tmp_path):
    (tmp_path / "cost.csv").write_text(",\n")
    assert "empty cells" in refused("build", MONKS_1, "--cost", "cost.csv", folder=tmp_path).err


@pytest.mark.parametrize("option", ["--cost", "--class-weight"])
@pytest.mark.parametrize("value", ["0:1=1\r2", "0=1\r,1=2", "\r=\r"])
def test_a_carriage_return_in_an_option(option, value, tmp_path):
    refused("build", MONKS_1, option, value, folder=tmp_path)


def test_a_carriage_return_in_a_constraint(tmp_path):
    refused("build", MONKS_1, "--constraint", "recall[a\rb] >= 0.5", folder=tmp_path)


def test_a_cost_and_columns_longer_than_a_name_can_be(tmp_path):
    refused("build", MONKS_1, "--cost", "0:1=1," * 9000, folder=tmp_path)
    refused("build", MONKS_1, "--model", "cg", "-p", f"columns={'x' * 9000}", folder=tmp_path)


@pytest.mark.parametrize(
    "line",
    [
        'status = ["optimal"]',
        'status = {done = ["optimal"]}',
        f"model = {'9' * 5000}",
        "name = 7",
        'name = "a\\nrm -rf b"',
        "solution = [[]]",
        "pattern = 1",
        f"status = {'[' * 3000}{']' * 3000}",
    ],
)
def test_a_solver_template_of_other_types(line, tmp_path):
    path = tmp_path / "my.toml"
    path.write_text(f'command = ["true"]\n{line}\n')
    with pytest.raises(OdtcError):
        from_template(path)


def test_a_solver_template_whose_program_is_no_text(tmp_path):
    path = tmp_path / "my.toml"
    path.write_text('command = ["{{ here + 1 }}"]\n')
    with pytest.raises(OdtcError):
        from_template(path)


@pytest.mark.parametrize(
    "text",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ self.__init__.__globals__ }}",
        "{{ lipsum.__globals__['os'].system('touch ran') }}",
    ],
)
def test_a_template_reaches_nothing_of_python(text, tmp_path):
    assert odtc("fit", MONKS_1, "--depth", 1, "-o", "m", folder=tmp_path).code == 0
    (tmp_path / "mine" / "tree").mkdir(parents=True)
    (tmp_path / "mine" / "tree" / "text.txt.jinja").write_text("{# mine #}\n" + text)
    (tmp_path / "mine" / "tree" / "evil.txt.jinja").write_text("{# mine #}\n" + text)
    refused("show", "m.tree.json", "--to", "evil", "--templates", "mine", folder=tmp_path)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("body", ["% s %d %(x)s", "@attribute %s {%d}", "@relation %\n@attribute a %q\n@data\n%z,1"])
def test_arff_with_per_cent(body, tmp_path):
    (tmp_path / "d.arff").write_text(f"@relation r\n@attribute a numeric\n{body}\n@data\n1,%s,%d\n")
    with pytest.raises(OdtcError):
        read(tmp_path / "d.arff")


SMALL = """NAME          small  FREE
ROWS
 N  obj
 G  r
COLUMNS
    x  obj  1
    x  r  1
RHS
    RHS  r  1
BOUNDS
 UP BND  x  2
ENDATA
"""


class TestScripts:
    """A job script is read by a shell: no name of a file in it is a command."""

    @pytest.mark.parametrize(
        "kind, solver", [("sh", "cbc"), ("slurm", "highs-cli"), ("sh", "cplex"), ("slurm", "scip")]
    )
    def test_no_name_is_run(self, kind, solver, tmp_path):
        for name in ("a\ntouch ran\n", "a'; touch ran; '", "a$(touch ran)", "a`touch ran`", "-x y"):
            (tmp_path / f"{name}.mps").write_text(SMALL)
            said = odtc("solve", f"./{name}.mps", "--solver", solver, "--script", kind, folder=tmp_path)
            assert said.code == 2 * ("\n" in name) and ("\n" not in name or "on one line" in said.err), said.err
        scripts = list(tmp_path.glob(f"*.{kind}"))
        assert len(scripts) == 4
        for script in scripts:
            # The shell only: every program that it would start is missing, but for `touch`.
            words = ["/bin/bash", "-c", 'touch() { : > "$1"; }; . "$0"', str(script)]
            subprocess.run(words, cwd=tmp_path, env={"PATH": "/nowhere"}, capture_output=True, timeout=30)
        assert not (tmp_path / "ran").exists()


@pytest.fixture(scope="module")
def bomb():
    return gzip.compress(bytes(150 << 20), 9)


LIVE = {
    "unit": 1.0,
    "bound": [2],
    "penalty": [0, 1],
    "known": [0, -1, -2, -1, -1, -2, -2],
    "vector": [1, 0],
    "n_cases": 1,
    "root": [0],
    "sides": [[0, 0, [-1, -1, -1], [0, 0]], [0, 1, [1, -1, -2], [1, 1]]],
}
OTHER_LIVE = [
    *({name: value for name, value in LIVE.items() if name != left_out} for left_out in LIVE),
    *(LIVE | {name: "text"} for name in LIVE),
    *(LIVE | {name: value} for name, value in (("unit", 0), ("bound", []), ("penalty", [0]), ("known", [9] * 7))),
    *(LIVE | {name: value} for name, value in (("known", [0]), ("root", [99]), ("root", [-1]), ("root", [0, 1]))),
    *(LIVE | {"sides": sides} for sides in ([], LIVE["sides"][:1], LIVE["sides"][::-1], [[0, 0]], [[0, 0, [1], [0]]])),
    *(LIVE | {"sides": [LIVE["sides"][0], [0, 1, *more]]} for more in ([[9, -1, -1], [0, 0]], [[-1] * 3, [0]])),
    [],
    7,
]


class TestCases:
    """`-p cases=` holds the end of a search: odtc sets it itself, and a manifest holds it."""

    @pytest.mark.parametrize("text", ["abc", "====", "\u00e9", pack(b"[" * 10**5), pack(b"{}"), pack(b"\xff")])
    def test_a_text_that_is_none(self, text, tmp_path):
        self._refused(text, tmp_path)

    @pytest.mark.parametrize("at", range(len(OTHER_LIVE)))
    def test_cases_of_another_shape(self, at, tmp_path):
        self._refused(pack(json.dumps(OTHER_LIVE[at]).encode()), tmp_path)

    def test_what_is_whole_is_taken(self):
        assert Live.read(pack(json.dumps(LIVE).encode()), 2, 4, 2).root == [0]

    def _refused(self, text, folder):
        (folder / "d.csv").write_text("a,b,y\n1,2,0\n2,3,1\n3,1,1\n4,2,0\n")
        said = refused("build", "d.csv", "--model", "dpflow", "-p", f"cases={text}", "-o", "m", folder=folder)
        assert "expected in -p cases=…" in said.err


class TestSizes:
    """What would become large is refused before it does."""

    def test_a_packed_file_that_holds_nothing_but_size(self, bomb):
        began = time.process_time()
        with pytest.raises(TooLargeError):
            gunzip(bomb)
        assert time.process_time() - began < 5  # unpacked in whole it is three seconds a gigabyte

    @pytest.mark.parametrize("words", [("solve", "bomb.mps.gz"), ("build", "bomb.csv.gz"), ("decode", "bomb.sol")])
    def test_no_command_unpacks_it(self, words, bomb, tmp_path):
        (tmp_path / words[1]).write_bytes(bomb)
        assert "more than" in refused(*words, folder=tmp_path).err

    @pytest.mark.parametrize("data", [b"", b"a", bytes(range(256)) * 5000, bytes(60 << 20)])
    def test_what_is_unpacked_is_what_was_packed(self, data):
        assert gunzip(gzip.compress(data)) == data
        assert gunzip(gzip.compress(data) + gzip.compress(b"more") + b"\0\0") == data + b"more"

    def test_damaged(self):
        packed = gzip.compress(b"some text" * 1000)
        for damaged in (packed[:-9], packed[:20], b"\x1f\x8b\x08", packed[:30] + b"??" + packed[32:]):
            with pytest.raises((EOFError, zlib.error)):
                gunzip(damaged)

    @pytest.mark.parametrize(
        ("words", "mark"), [(("--model", "cg", "-p"), "columns=columns:"), (("--model", "dpflow", "-p"), "cases=")]
    )
    def test_a_packed_parameter_that_holds_nothing_but_size(self, words, mark, tmp_path):
        (tmp_path / "d.csv").write_text("a,b,y\n1,2,0\n2,3,1\n3,1,1\n4,2,0\n")
        given = f"{mark}{pack(b' ' * (30 << 20))}"
        said = refused("build", "d.csv", *words, given, "-o", "m", folder=tmp_path)
        assert "bytes hold more than" in said.err

    @pytest.mark.parametrize("data", [b"", b"a", bytes(range(256)) * 5000, bytes(1 << 20)])
    def test_a_packed_text_is_what_was_packed(self, data):
        text = pack(data)
        assert unpack_text(text) == data
        with pytest.raises(ValueError, match="end too early"):
            unpack_text(base64.b64encode(base64.b64decode(text)[:-5]).decode())

    def test_a_manifest_that_says_depth_20(self, tmp_path):
        assert build(tmp_path).code == 0
        facts = json.loads((tmp_path / "m.odt.json").read_text())
        facts["model"]["depth"] = 20
        facts.pop("identity")
        (tmp_path / "m.odt.json").write_text(json.dumps(facts))
        began = time.process_time()
        said = refused("decode", "m.start.sol", "--manifest", "m.odt.json", folder=tmp_path)
        assert "depth is 20" in said.err and time.process_time() - began < 5

    def test_a_manifest_whose_rows_are_more_than_its_text_can_hold(self, tmp_path):
        assert build(tmp_path).code == 0
        facts = json.loads((tmp_path / "m.odt.json").read_text())
        facts["rows"]["n"] = 10**12
        facts.pop("identity")
        (tmp_path / "m.odt.json").write_text(json.dumps(facts))
        assert "its rows are" in refused("decode", "m.start.sol", "--manifest", "m.odt.json", folder=tmp_path).err

    def test_a_manifest_whose_rows_are_a_bomb(self, tmp_path):
        assert build(tmp_path).code == 0
        facts = json.loads((tmp_path / "m.odt.json").read_text())
        facts["rows"]["y"] = base64.b64encode(zlib.compress(bytes(100 << 20), 9)).decode()
        facts.pop("identity")
        (tmp_path / "m.odt.json").write_text(json.dumps(facts))
        assert "got more" in refused("decode", "m.start.sol", "--manifest", "m.odt.json", folder=tmp_path).err

    @pytest.mark.parametrize("key", ["sums", "groups"])
    def test_a_manifest_whose_sums_or_groups_are_a_bomb(self, key, tmp_path):
        assert build(tmp_path).code == 0
        facts, bomb = json.loads((tmp_path / "m.odt.json").read_text()), zlib.compress(bytes(100 << 20), 9)
        packed = base64.b64encode(bomb).decode()
        if key == "sums":
            facts["rows"]["sums"] = packed
        else:
            facts["groups"] = [{"text": "a", "names": ["p", "q"], "weight": packed}]
        facts.pop("identity")
        (tmp_path / "m.odt.json").write_text(json.dumps(facts))
        assert (
            "packed numbers each" in refused("decode", "m.start.sol", "--manifest", "m.odt.json", folder=tmp_path).err
        )


class TestPatterns:
    """Texts of which a pattern that goes back tries all ways: reading them took minutes, or for ever."""

    @pytest.mark.parametrize("line", ["value: [{}x", "a <= {}x"])
    def test_many_digits_in_a_tree_of_scikit_learn(self, line, tmp_path):
        (tmp_path / "t.txt").write_text(f"|--- {line.format('9' * 200_000)}\n")
        said = refused("import", "t.txt", "--data", MONKS_1, folder=tmp_path)
        assert "line 1: expected 'COLUMN <= NUMBER'" in said.err

    @pytest.mark.parametrize(
        "levels",
        [
            "{0,1}" + "," * 200,
            "{y z," + ",".join(map(str, range(200))) + "}",
            "{" + "a," * 200,
            "{'a" + "," * 200 + " b",
        ],
    )
    def test_levels_of_arff_that_are_none(self, levels, tmp_path):
        (tmp_path / "d.arff").write_text(f"@relation r\n@attribute a {levels}\n@attribute b {{0,1}}\n@data\nx,1\n")
        assert "Bad @ATTRIBUTE type, at line 2" in refused("inspect", "d.arff", folder=tmp_path).err

    def test_a_level_of_arff_that_holds_many_commas(self, tmp_path):
        level = f"a{',' * 200} b"
        rows = f"'{level}',1\nc,0\n" * 2
        (tmp_path / "d.arff").write_text(
            f"@relation r\n@attribute a {{c,'{level}'}}\n@attribute b {{0,1}}\n@data\n{rows}"
        )
        assert set(read(tmp_path / "d.arff").features[0].levels) == {level, "c"}

    def test_levels_of_arff_are_those_that_its_reader_takes(self, tmp_path):
        """Its own pattern, of few levels, and what it makes of them after it."""
        import arff

        rnd, pieces = (
            random.Random(2),
            ("'a b'", '"c, d"', "e", "1.5", "", "'it\\'s'", "é", "'{'", "x'y", "a b", "%"),
        )
        own = importlib.reload(arff)._RE_TYPE_NOMINAL
        for _ in range(300):
            levels = rnd.choice((",", ", ", " ,")).join(rnd.choice(pieces) for _ in range(rnd.randrange(1, 5)))
            text = f"@relation r\n@attribute a {{{levels}}}\n@attribute b real\n@data\n?,1\n"
            taken = []
            for pattern in (own, NOMINAL):
                arff._RE_TYPE_NOMINAL = pattern
                try:
                    taken.append(arff.loads(text)["attributes"])
                except (arff.ArffException, IndexError) as problem:
                    taken.append(type(problem))
            assert taken[0] == taken[1], levels

    @pytest.mark.parametrize("text", [f"leaf_rows{' ' * 100_000}x", f"leaf_rows {'<=' * 100_000} 1:2"])
    def test_blanks_and_signs_in_a_constraint(self, text, tmp_path):
        refused("build", MONKS_1, "--constraint", text, folder=tmp_path)
        refused("frontier", MONKS_1, "--vary", text, folder=tmp_path)

    def test_numbers_of_a_template_that_are_no_python(self, tmp_path):
        """As Jinja writes them (found by fuzzing)."""
        for number in ("1e999", "1\u0663e309"):
            (tmp_path / "s.toml").write_text(f'command = ["{{{{ p-{number} }}}}"]\n', encoding="utf-8")
            with pytest.raises(OdtcError, match="the template .* fails"):
                from_template(tmp_path / "s.toml")

    def test_a_pattern_of_a_template_that_python_cannot_compile(self, tmp_path):
        for pattern in ("(" * 20_000, "(a{99999999999999999999})"):
            (tmp_path / "s.toml").write_text(f"command = ['x']\nbound = '{pattern}'\n")
            with pytest.raises(OdtcError, match="expected bound = a regular expression"):
                from_template(tmp_path / "s.toml")


class TestNesting:
    """JSON that is nested deeper than Python reads, beside a tree and as a study."""

    def test_a_record_and_a_manifest_beside_a_tree(self, tmp_path):
        words = ("fit", MONKS_1, "--depth", 1, "--encoding", "onehot", "-o", "m")
        assert odtc(*words, folder=tmp_path).code == 0
        for ending in ("run", "odt"):
            (tmp_path / f"m.{ending}.json").write_text('{"robust": ' + "[" * 100_000)
        for command in (("explain", "m.tree.json", MONKS_1), ("predict", "m.tree.json", MONKS_1, "--score")):
            assert odtc(*command, folder=tmp_path).code == 0
        assert "m.run.json" in refused("verify", "m.tree.json", folder=tmp_path).err

    def test_a_study_and_results(self, tmp_path):
        (tmp_path / "study.json").write_text("[" * 100_000)
        assert "holds none" in refused("sweep", "-o", ".", folder=tmp_path).err
        (tmp_path / "r.jsonl").write_text("[" * 100_000 + "\n")
        assert "line 1 is not one" in refused("bench", "table", "r.jsonl", folder=tmp_path).err


class TestCells:
    """What a cell holds is what the column's levels are called."""

    @pytest.mark.parametrize("word", ["\ufeffred", "\ufeff3"])
    def test_a_byte_order_mark_is_a_part_of_its_cell_in_each_row(self, tmp_path, word):
        """As where files are put one behind the other: polars took it away at the first row of what it was given."""
        (tmp_path / "d.csv").write_text(f"a,y\n{word},0\n{word[1:]},1\n{word},0\n5,1\n", encoding="utf-8")
        data = read(tmp_path / "d.csv", categorical=("a",))
        assert set(data.features[0].levels) == {word, word[1:], "5"}
        assert data.X[0, 0] == data.X[2, 0] != data.X[1, 0]

    def test_a_line_end_in_a_quoted_cell_is_its_own(self, tmp_path):
        (tmp_path / "d.csv").write_bytes(b'a,y\r\n"x\ry",0\r\n"x\ny",1\r\n"x\r\ny",0\r\n')
        assert read(tmp_path / "d.csv").features[0].levels == ("x\ny", "x\r\ny", "x\ry")

    @pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
    def test_quoted_text_with_any_line_end(self, end, tmp_path):
        (tmp_path / "d.csv").write_bytes(end.join([b"", b'a,"b",y', b'1,"u",0', b"", b'2,"v",1', b""]))
        dataset = read(tmp_path / "d.csv")
        assert dataset.n_rows == 2 and [f.name for f in dataset.features] == ["a", "b"]

    def test_codes_with_zeros_in_front_are_not_the_numbers(self):
        text = pl.Series(["00123", "123", "7"])
        assert levels_of(text) == ("7", "00123", "123") or levels_of(text) == ("7", "123", "00123")
        assert len(set(level_codes(text, levels_of(text), "categorical").tolist())) == 3

    def test_numbers_in_other_words_are_one_level(self):
        text = pl.Series(["1.0", "1", "2"])
        assert levels_of(text) == ("1", "2")
        assert level_codes(text, ("1", "2"), "categorical").tolist() == [0, 0, 1]
        assert level_codes(pl.Series(["01", "1"]), ("1", "2"), "categorical").tolist() == [-1, 0]
