"""Files of odtc that were damaged on the way: one sentence with the file and the place, or none the wiser; never a
fault."""

import copy
import json
import random
import re

import pytest

from tests.command_line import MONKS, contents, refused
from tests.command_line import odtc as command

WRONG = [None, True, 0, -1, 1.5, 1e300, float("nan"), float("inf"), "", "x", [], {}, [1], {"a": 1}, 10**400]
NAMED = re.compile(
    "KeyError|TypeError|ValueError|AttributeError|IndexError|OverflowError|Error -|index out of range|object is "
    "not|has no len"
)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    data, coded = MONKS / "monks-1.csv", ("--depth", 2, "--encoding", "onehot")
    for words in (
        ("fit", data, "--model", "dpflow", *coded, "--pool", 3, "-o", "m"),
        ("build", data, *coded, "-o", "b"),
        ("solve", "b.mps"),
        ("certify", data, *coded, "-o", "c.json"),
    ):
        assert command(*words, folder=folder).code == 0
    return contents(folder)


def places(value, at=()):
    yield at
    for key in value if isinstance(value, dict) else range(min(4, len(value))) if isinstance(value, list) else ():
        yield from places(value[key], (*at, key))


def damaged(text: str, rnd) -> str:
    """A copy with one place cut off, left out, doubled, or something else."""
    if rnd.random() < 0.1:
        return text[: rnd.randrange(len(text))]
    facts = json.loads(text)
    *way, last = rnd.choice([place for place in places(facts) if place])
    inner = facts
    for key in way:
        inner = inner[key]
    kind = rnd.random()
    if kind < 0.15:
        del inner[last]
    elif kind < 0.25 and isinstance(inner, list):
        inner.append(copy.deepcopy(inner[last]))
    else:
        inner[last] = rnd.choice(WRONG)
    return json.dumps(facts)


@pytest.mark.every(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("m.tree.json", ("show", "m.tree.json")),
        ("m.tree.json", ("export", "m.tree.json", "--to", "python")),
        ("m.tree.json", ("predict", "m.tree.json", MONKS / "monks-1_test.csv", "--score")),
        ("m.pool.json", ("show", "m.pool.json")),
        ("m.pool.json", ("show", "m.pool.json", "--tree", 2, "--to", "dot")),
        ("c.json", ("verify", "--certificate", "c.json", "--data", MONKS / "monks-1.csv")),
        ("b.odt.json", ("decode", "b.sol")),
        ("b.odt.json", ("verify", "b.sol", "--data", MONKS / "monks-1.csv")),
        ("b.run.json", ("decode", "b.sol")),
        ("b.run.json", ("report", "b.sol", "-o", "r.html")),
    ],
    ids=lambda words: "-".join(map(str, words[:2])) if isinstance(words, tuple) else "",
)
def test_a_damaged_file_is_refused_in_a_sentence(made, tmp_path, name, words):
    for file, content in made.items():
        (tmp_path / file).write_bytes(content)
    rnd, said = random.Random(str(words[:2])), 0
    for _ in range(40):
        (tmp_path / name).write_text(damaged(made[name].decode(), rnd))
        found = command(*words, folder=tmp_path)
        assert found.code in (0, 1, 3) and "a fault in odtc" not in found.err and not NAMED.search(found.err), found.err
        if found.code == 1:
            said += 1
            assert found.err.count("odtc: error: ") == 1
    assert said > 12 or name == "b.run.json"


@pytest.mark.parametrize(
    ("file", "place", "value", "said"),
    [
        ("m.pool.json", ("trees", 1, "tree", "root", "left"), 7, "trees[1].tree.root.left"),
        ("m.pool.json", ("trees", 0, "objective"), None, "trees[0].objective"),
        ("m.tree.json", ("root", "split", "kind"), "guess", "root.split.kind"),
        ("m.tree.json", ("root", "left", "left", "counts"), [1], "root.left.left.counts"),
        ("m.tree.json", ("features", 2, "name"), [], "features[2].name"),
    ],
)
def test_the_place_is_named(made, tmp_path, file, place, value, said):
    facts = inner = json.loads(made[file])
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    (tmp_path / file).write_text(json.dumps(facts))
    words = refused(command("show", file, folder=tmp_path))
    assert file in words and said in words


def test_a_text_that_breaks_off_is_named_with_its_line(made, tmp_path):
    for file in ("m.pool.json", "m.tree.json"):
        (tmp_path / file).write_bytes(made[file][:300])
        words = refused(command("show", file, folder=tmp_path))
        assert file in words and "line" in words
