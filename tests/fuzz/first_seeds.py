"""The first seeds of the corpus: files that odtc writes of tiny problems, and what solvers write."""

import contextlib
import hashlib
import io
import json
import tempfile
from pathlib import Path

import numpy as np

from odtc.base.compression import pack
from odtc.fileformats.solution_files import POINTS
from tests.command_line import CHECKOUT, MONKS, odtc
from tests.files.test_broken import MODEL
from tests.files.test_hostile import LIVE
from tests.fuzz.targets import CERTIFIED, CERTIFIED_ROWS, SOLUTION, TINY, tiny_fit
from tests.point_texts import text
from tests.solvers.test_logs import TALKS

TABLE = b'colour,size,label\nred,1,yes\nblue,2.5,no\nred,,no\n"a, b",-3e2,yes\n'
ARFF = b"""% note
@relation r
@attribute a {x,'y z'}
@attribute b real
@attribute class {0,1}
@data
x,1,0
'y z',?,1
x,2,1
"""
MPS = b"""NAME m
ROWS
 N obj
 L c1
 G c2
 E c3
COLUMNS
 M1 'MARKER' 'INTORG'
 x obj 1 c1 1
 x c3 2
 M2 'MARKER' 'INTEND'
 y obj -2.5 c1 1e2
 y c2 1
 z c2 1 c3 -1
RHS
 RHS c1 10 c2 -1
 RHS c3 4 obj -7
BOUNDS
 UP BND x 4
 MI BND y
 FX BND z 0.5
ENDATA
"""
FIXED = b"""NAME          m
ROWS
 N  obj
 L  c 1
COLUMNS
    x y       obj                2.5   c 1                 1.
RHS
    RHS       c 1                10.
BOUNDS
 UP BND       x y                 4.
ENDATA
"""
LP = b"""\\ note
Minimize
 obj: x + 2.5 y - z + 7
Subject To
 c1: x + y <= 10
 c2: - y + 3 z >= -1e2
 c3: x - z = 0.5
Bounds
 0 <= x <= 4
 y free
 z <= 8
General
 x
Binary
 b
End
"""
COST = (b"true,0,1\n0,0,5\n1,2.5,0\n", b'"",1,0\n1,,1\n0,3,\n')

NOTHING = hashlib.sha256(b"").hexdigest()


def _of_any(record: bytes) -> bytes:
    """A record of the solution file that the target has."""
    facts = json.loads(record) | {"solution_file": "m.sol", "sha256": hashlib.sha256(SOLUTION).hexdigest()}
    return json.dumps(facts, indent=1).encode()


def made() -> dict[str, list[bytes]]:
    """Seeds by the name of the corpus."""
    found = {"csv": [TABLE], "arff": [ARFF], "mps": [MPS, FIXED], "lp": [LP], "cost": list(COST)}
    with tempfile.TemporaryDirectory() as name:
        here = Path(name)
        (here / "d.csv").write_text(TINY)
        (here / "e.csv").write_text(CERTIFIED_ROWS)
        coded = ("--missing", "separate", "--depth", 2)
        regression = ("--task", "regression", "--target")
        for words in (
            ("build", "d.csv", *coded, "-o", "b"),
            ("build", "d.csv", *coded, "--format", "lp", "-o", "l"),
            ("build", "d.csv", "--depth", 1, "--model", "dpflow", "-o", "p"),
            ("solve", "b.mps"),
            ("fit", "d.csv", "--model", "dpflow", *coded, "--pool", 3, "-o", "m"),
            ("fit", "d.csv", *coded, "--within", 1, "-o", "n"),
            ("fit", "d.csv", "--model", "cg", *coded, "-o", "k"),
            ("frontier", "d.csv", *coded, "--vary", "recall[1] >= 0.4:0.8:0.4", "-o", "f"),
            (
                "bench",
                "models",
                "--data",
                "d.csv",
                "--formulations",
                "flowoct,oct",
                "--depths",
                1,
                "--results",
                "r.jsonl",
            ),
            ("sweep", "d.csv", "--depths", 1, "--folds", 2, "-o", "study"),
            ("frontier", "d.csv", *coded, *regression, "b", "--vary", "leaves <= 1:3:1", "-o", "g"),
            ("frontier", "d.csv", *coded, "--class-weight", "0=2,1=1", "--vary", "f1[1] >= 0:1:0.5", "-o", "h"),
            ("tune", "d.csv", "--missing", "separate", "--depths", 1, "--folds", 2, "-o", "t"),
            ("certify", "e.csv", "-o", "thresholds.json"),
            ("certify", "e.csv", "--constraint", "recall[1] >= 0.5", "-o", "constrained.json"),
            ("certify", "e.csv", *regression, "size", "-o", "squares.json"),
            ("certify", "e.csv", "--task", "survival", "--time", "size", "--event", "class", "-o", "likelihood.json"),
            ("certify", MONKS / "monks-1.csv", "--depth", 2, "--encoding", "onehot", "-o", "c.json"),
        ):
            said = odtc(*words, folder=here)
            assert said.code == 0, said.err
        import polars as pl

        frame = io.BytesIO()
        with contextlib.suppress(Exception):
            pl.read_csv(io.BytesIO(TABLE)).write_parquet(frame)
        found["parquet"] = [frame.getvalue()]
        get = lambda *names: [(here / file).read_bytes() for file in names]  # noqa: E731
        found["mps"] += get("b.mps")
        found["lp"] += get("l.lp")
        found["manifest"] = get("b.odt.json", "p.odt.json")
        found["tree"], found["pool"] = get("m.tree.json"), get("m.pool.json")
        found["certificate"], found["run-record"] = get("c.json"), [_of_any(*get("b.run.json"))]
        found["near"], found["frontier"], found["columns"] = (
            get("n.near-optimal.json"),
            get("f.frontier.json", "g.frontier.json", "h.frontier.json"),
            get("k.columns.json"),
        )
        found["tune"] = get("t.tune.json")
        found |= {f"certificate-{kind}": get(f"{kind}.json") for kind in CERTIFIED}
        found["results"], found["study"] = get("r.jsonl"), get("study/study.json")
    task = tiny_fit()
    found["finished"] = [json.dumps(task.run(), indent=1).encode()]
    found["journal"] = [
        json.dumps(
            {
                "schema": "odtc.journal/2",
                "moves": {".m.mps.abc.part": ["m.mps", NOTHING]},
                "removals": {"m.sol": NOTHING},
            }
        ).encode()
    ]
    columns = {
        "node_splits": [[], [0, 1, 2], [0], [1], [], [], [], []],
        "columns": [[2, 1, [], []], [2, 2, [0], [-1]], [3, 3, [0], [1]]],
    }
    found["packed-columns"] = [json.dumps(columns | {"cover": [0]}).encode(), pack(b"{}").encode()]
    found["packed-cases"] = [json.dumps(LIVE).encode(), pack(b"{}").encode()]
    found["toml-solver"] = [path.read_bytes() for path in sorted((CHECKOUT / "examples" / "my-solver").glob("*.toml"))]
    found["log"] = [talk.encode() for _, talk, *_ in TALKS.values()]
    found["import"] = [
        b"|--- a <= 1.50\n|   |--- class: 0\n|--- a >  1.50\n|   |--- class: 1\n",
        b'{"feature": "a", "threshold": 1.5, "left": {"class": "0"}, "right": {"class": "1"}}',
    ]
    x = np.array([0.0, 1, 10, -5, 8, 9, 0.25])
    for name in POINTS.names():
        found[f"point-{name}"] = [text(MODEL, x, name)]
    return found
