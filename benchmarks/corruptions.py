"""Corruptions of the files of a run, each held against `odtc verify`: python -m benchmarks.corruptions [--number 1000]

One thing is changed in the point, the model file, the manifest, the data, the run record, the tree (of a run with a
model or without one) or the certificate of monks-1 at depth 2, and `verify` reads all of it again. A change is
"refused" (exit code 1 with a sentence), "harmless" if all that is claimed is claimed as before (end, objective, bound,
right rows), "weaker" if less is claimed, "true too" if a certificate states other costs and what the dynamic program
finds for them; else it "SURVIVES", and is shown.
"""

import argparse
import json
import math
import random
import re
import shutil
import tempfile
import time
from collections import Counter
from pathlib import Path

import odtc as odtc_package
from tests.command_line import MONKS, odtc

KINDS = {"point": "m.sol", "model": "m.mps", "manifest": "m.odt.json", "data": "d.csv", "record": "m.run.json"}
KINDS |= {"tree": "m.tree.json", "lone tree": "n.tree.json", "certificate": "c.json"}
PROOF = ("objective", "bound", "optimal", "depth", "n_rows", "terms")  # what a certificate claims, and of what
OF = ("target", "classes", "columns", "auxiliary", "weights", "missing", "rows_of_class", "depth", "constraints")
CLAIMS = ("objective", "bound", "termination", "train_correct")
NUMBER = re.compile(rb"-?\d+(\.\d+)?")


def base(folder: Path, depth: int) -> dict:
    """The files of a run, and what it claims."""
    shutil.copy(MONKS / "monks-1.csv", folder / "d.csv")
    words = (
        "d.csv",
        "--model",
        "flowoct",
        "--encoding",
        "onehot",
        "--depth",
        2,
        "--solver",
        "highs",
        "--format",
        "mps",
    )
    assert odtc("fit", *words, "-o", "m", folder=folder).code == 0
    assert odtc("fit", "d.csv", "--encoding", "onehot", "--depth", 2, "-o", "n", folder=folder).code == 0
    assert odtc("certify", "d.csv", "--depth", depth, "--encoding", "onehot", "-o", "c.json", folder=folder).code == 0
    return claims(folder)


def claims(folder: Path, kind: str = "point") -> dict | None:
    """What `verify` claims; None if it refuses in a sentence."""
    words = ("--certificate", KINDS[kind]) if kind == "certificate" else ("m.sol",)
    words = (KINDS[kind],) if KINDS[kind].endswith(".tree.json") else words
    said = odtc("verify", *words, "--json", folder=folder)
    if said.code:
        assert "odtc: error: " in said.err and "Traceback" not in said.err and "a fault in" not in said.err, said.err
        return None
    if kind != "certificate":
        return {name: said.facts[name] for name in CLAIMS}
    return {name: said.facts[name] for name in PROOF} | {name: said.facts["of"][name] for name in OF}


def corrupt(data: bytes, rnd: random.Random) -> bytes:
    """The bytes with one number changed, or one line doubled, left out or moved."""
    if rnd.random() < 0.7:
        found = list(NUMBER.finditer(data))
        one = rnd.choice(found)
        new = rnd.choice([b"0", b"1", b"2", b"-1", b"0.5", b"1e30", b"%d" % rnd.randrange(100), one[0] + b"1"])
        return data[: one.start()] + new + data[one.end() :]
    lines = data.splitlines(keepends=True)
    at, other = rnd.randrange(len(lines)), rnd.randrange(len(lines))
    line = lines[at]
    if rnd.random() < 0.5:
        del lines[at]
    if rnd.random() < 0.7:
        lines.insert(min(other, len(lines)), line)
    return b"".join(lines)


def judged(before: dict, now: dict | None) -> str:
    """What became of a corruption."""
    if now is None:
        return "refused"
    if now == before:
        return "harmless"
    if "termination" not in now:
        return "true too" if _is_true(before, now) else "SURVIVES"
    same = now["objective"] == before["objective"] and now["train_correct"] == before["train_correct"]
    return "weaker" if same and now["bound"] <= before["bound"] and now["termination"] != "optimal" else "SURVIVES"


def _is_true(before: dict, now: dict) -> bool:
    """Whether a certificate of other costs, which it states, tells what they come to by the dynamic program."""
    stated = set(now) - {"terms", "objective", "bound"}
    if any(now[name] != before[name] for name in stated) or now["objective"] != now["bound"]:
        return False
    costs = now["terms"].removeprefix("costs ").replace(" ", "")
    best = odtc_package.fit(
        MONKS / "monks-1.csv", model="dpflow", depth=now["depth"], encoding="onehot", cost=costs or None
    )
    paid = best.facts["objective"]  # terms are written with ten digits
    return best.facts["bound"] == paid and math.isclose(paid, now["objective"], rel_tol=1e-8)


def tried(number: int, seed: int = 1, depth: int = 2, kinds=tuple(KINDS)) -> Counter:
    """{(kind, what became of it): how many} of so many corruptions of each kind."""
    rnd, seen = random.Random(seed), Counter()
    with tempfile.TemporaryDirectory() as name:
        first, folder = Path(name) / "base", Path(name) / "run"
        first.mkdir()
        base(first, depth)
        for kind in kinds:
            file = KINDS[kind]
            before = claims(first, kind)
            data = (first / file).read_bytes()
            for _ in range(number):
                changed = corrupt(data, rnd)
                if changed == data:
                    continue
                shutil.copytree(first, folder)
                (folder / file).write_bytes(changed)
                now = claims(folder, kind)
                shutil.rmtree(folder)
                seen[kind, judged(before, now)] += 1
                if judged(before, now) == "SURVIVES":
                    places = [at for at, pair in enumerate(zip(data, changed)) if pair[0] != pair[1]]
                    at = places[0] if places else min(len(data), len(changed))
                    old, new = (text[max(0, at - 40) : at + 20] for text in (data, changed))
                    print(f"{kind}: {json.dumps(now)}: {old!r} to {new!r}", flush=True)
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=1000, help="of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", help="only these, between commas")
    given = parser.parse_args()
    kinds = given.kinds.split(",") if given.kinds else tuple(KINDS)
    began = time.process_time()
    for (kind, end), count in sorted(tried(given.number, given.seed, kinds=kinds).items()):
        print(f"{kind:9} {end:9} {count}")
    print(f"{time.process_time() - began:.0f} CPU s")


if __name__ == "__main__":
    main()
