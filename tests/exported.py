"""Runs exported trees where they are at home: gcc, node, SQLite, JPMML; each takes a tree, its text and rows.

Rows are float64 (rows, features) coded like `Dataset.X`; what comes back is a list of class names, None
where the export says that a cell is missing which the tree compares.
"""

import ctypes
import json
import math
import sqlite3
import subprocess
from contextlib import closing

from odtc.data.dataset import BOOLEAN, CATEGORICAL, NUMERIC
from odtc.testing.generated_code import cell_of, kind_of_cell


def typed(feature, value: float):
    """A cell as C and SQL have it: a truth value is 1 or 0, and 2 if the feature has no such level."""
    cell = cell_of(feature, value)
    if cell is None or kind_of_cell(feature) != "boolean":
        return cell
    return int(cell) if isinstance(cell, bool) else 2


def run_c(tree, text: str, X, folder) -> list:
    (folder / "tree.c").write_text(text, encoding="utf-8")
    library = folder / f"tree{abs(hash((text, X.tobytes())))}.so"
    subprocess.run(
        [
            "gcc",
            "-std=c99",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-pedantic",
            "-shared",
            "-fPIC",
            "-o",
            library,
            folder / "tree.c",
            "-lm",
        ],
        check=True,
    )
    asked = [part.feature for place in tree.places() if place.question for part in place.question.parts]
    columns = list(dict.fromkeys(asked))
    types = {"number": ctypes.c_double, "numeral": ctypes.c_double, "boolean": ctypes.c_int, "text": ctypes.c_char_p}
    missing = {"number": math.nan, "numeral": math.nan, "boolean": -1, "text": None}
    row_type = type(
        "Row",
        (ctypes.Structure,),
        {"_fields_": [(f"x{j}", types[kind_of_cell(f)]) for j, f in enumerate(columns)] or [("none", ctypes.c_char)]},
    )
    loaded = ctypes.CDLL(str(library))
    names = (ctypes.c_char_p * len(tree.classes)).in_dll(loaded, "classes")
    assert [name.decode() for name in names] == list(tree.classes)
    found = []
    for row in X:
        values = []
        for feature in columns:
            value, kind = typed(feature, row[tree.features.index(feature)]), kind_of_cell(feature)
            values.append(missing[kind] if value is None else value.encode() if kind == "text" else value)
        number = loaded.predict(ctypes.byref(row_type(*values)))
        found.append(tree.classes[number] if number >= 0 else None)
    return found


def sql_names(tree) -> bool:
    """Whether no name ends a quote for a database that reads backslashes: --to sql refuses such a name."""
    names = [*(feature.name for feature in tree.features), *tree.classes]
    return not any(name.endswith("\\") or '\\"' in name for name in names)


def run_sql(tree, text: str, X) -> list:
    quoted = ['"' + feature.name.replace('"', '""') + '"' for feature in tree.features]
    types = {NUMERIC: "REAL", BOOLEAN: "INTEGER", CATEGORICAL: "TEXT"}
    kinds = ["REAL" if kind_of_cell(feature) == "numeral" else types[feature.kind] for feature in tree.features]
    with closing(sqlite3.connect(":memory:")) as base:
        base.execute(f"CREATE TABLE data ({', '.join(f'{name} {kind}' for name, kind in zip(quoted, kinds))})")
        base.executemany(
            f"INSERT INTO data VALUES ({', '.join('?' * len(quoted))})",
            [[typed(feature, value) for feature, value in zip(tree.features, row)] for row in X],
        )
        found = [row[-1] for row in base.execute(text)]
    base.close()
    return found


NODE = r"""
const rl = require("readline").createInterface({ input: process.stdin, terminal: false });
rl.on("line", line => {
  const { source, rows } = JSON.parse(line);
  const module = { exports: {} };
  new Function("module", source)(module);
  const found = rows.map(row => {
    try { return module.exports.predict(row); }
    catch (problem) { if (!String(problem.message).startsWith("the row has no value for")) throw problem; return null; }
  });
  console.log(JSON.stringify(found));
});
"""


class Node:
    """One process of Node.js for many trees."""

    def __init__(self):
        self.process = subprocess.Popen(
            ["node", "-e", NODE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )

    def run(self, text: str, rows: list[dict]) -> list:
        self.process.stdin.write(json.dumps({"source": text, "rows": rows}) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
