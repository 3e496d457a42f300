"""Large data and large models: CPU seconds and peak memory, each measured in a process of its own, beside its peer.

    python -m benchmarks.scale [--rows 1000000] [--size 5000,40,4] [--what rows|models|all] [--rounds 1]
        [--folder DIR]

Reading: a file of 12 columns of up to 20 levels and 8 of numbers (cut into 8 intervals), from polars' own scan and
group-by, and from `odtc.read` and the encoding auto:bins=8, to the distinct rows. Models: literal FlowOCT of random
binary data (rows, columns, depth), as MPS and MPS.gz, beside HiGHS and OR-tools, if it is there, given the same arrays,
and one raw write of the bytes. Imports are not counted as seconds, but as memory.

PuLP, Pyomo and linopy stand in an environment of their own, and each is asked by itself:

    python -m venv PEERS && PEERS/bin/pip install polars scipy highspy jinja2 joblib typer linopy pulp pyomo
    PYTHONPATH=. PEERS/bin/python -m benchmarks.scale --one write_linopy FILE.lp 5000,40,4
"""

import argparse
import datetime
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import polars as pl

PROTOTYPES, PART = 400_000, 500_000


def make_rows(folder: str, rows: str) -> str:
    """The data as CSV and Parquet: rows drawn from prototypes, so that many answer all tests alike."""
    n = int(rows)
    random = np.random.default_rng(1)
    levels = np.array([f"lev{k}" for k in range(21)], dtype=object)
    words = np.column_stack([random.integers(0, random.integers(2, 21), PROTOTYPES) for _ in range(12)])
    bins = random.integers(0, 8, (PROTOTYPES, 8))
    path = Path(folder) / "rows.csv"
    with path.open("wb") as stream:
        for begin in range(0, n, PART):
            m = min(PART, n - begin)
            pick = random.integers(0, PROTOTYPES, m)
            columns = {f"c{j}": levels[words[pick, j]] for j in range(12)}
            columns |= {f"n{j}": np.round(bins[pick, j] * 10 + random.integers(0, 100, m) / 10, 1) for j in range(8)}
            is_yes = ((words[pick, 0] > 1) & (bins[pick, 0] > 3)) ^ (random.random(m) < 0.1)
            columns["y"] = np.where(is_yes, "yes", "no").astype(object)
            stream.write(pl.DataFrame(columns).write_csv(include_header=begin == 0).encode())
    pl.scan_csv(path).sink_parquet(path.with_suffix(".parquet"))
    return "0"


def polars_rows(path: str) -> str:
    """polars alone: distinct rows of the levels, the tenths of the numbers, and the label."""
    began = time.process_time()
    scan = pl.scan_csv(path) if path.endswith("csv") else pl.scan_parquet(path)
    tenths = [(pl.col(f"n{j}") / 10).floor().cast(pl.Int8) for j in range(8)]
    keys = [*(pl.col(f"c{j}") for j in range(12)), *tenths, pl.col("y")]
    n_rows = scan.select(keys).group_by(pl.all()).len().collect(engine="streaming").height
    return f"{time.process_time() - began} {n_rows:,} rows"


def odtc_rows(path: str) -> str:
    """Reading and encoding to the distinct rows, and what all of them come to, which is told apart from the time."""
    from odtc.data.encoding import encode
    from odtc.data.reading import read

    began = time.process_time()
    encoded = encode(read(path), "auto:bins=8")
    took = time.process_time() - began
    return f"{took} {told(encoded)}"


def told(encoded) -> str:
    cells = hashlib.sha256()
    for part in (encoded.y, encoded.copies, encoded.weight, encoded.row_of, np.packbits(encoded.X[:PART], axis=1)):
        cells.update(np.ascontiguousarray(part))
    return f"{encoded.n_rows:,} rows, digest {cells.hexdigest()[:8]}"


def model_of(size: str):
    from odtc.data.encoding import encode
    from odtc.data.reading import ReadingSpec, from_frame
    from odtc.problem.formulation import FORMULATIONS
    from odtc.problem.parameters import parse_params
    from odtc.problem.problem import Problem
    from odtc.trees.heap_tree import CompleteTree

    n, columns, depth = map(int, size.split(","))
    random = np.random.default_rng(0)
    cells = {f"x{j}": random.integers(0, 2, n).astype(float) for j in range(columns)}
    encoded = encode(from_frame(pl.DataFrame(cells | {"y": random.integers(0, 3, n)}), "random", ReadingSpec()))
    problem = Problem(
        encoded, CompleteTree(depth), FORMULATIONS.get("flowoct"), parse_params("flowoct", {"literal": True})
    )
    return FORMULATIONS.get("flowoct"), problem


def write_ours(path: str, size: str) -> str:
    from odtc.fileformats.model_files import write_model

    module, small = model_of("60,5,2")
    write_model(module.build(small), path)  # what is imported once is not counted, as of the peers
    module, problem = model_of(size)
    began = time.process_time()
    model = module.build(problem)
    write_model(model, path)
    return f"{time.process_time() - began} {model.nnz:,} nonzeros, {os.path.getsize(path) / 1e6:,.0f} MB"


def write_highs(path: str, size: str) -> str:
    """HiGHS given the same arrays and names; the time from the arrays on."""
    module, problem = model_of(size)
    model = module.build(problem)
    matrix = model.A
    names = model.column_names, model.row_names
    import highspy

    began = time.process_time()
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = model.n_cols, model.n_rows
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = model.c, model.col_lower, model.col_upper
    lp.row_lower_, lp.row_upper_ = model.row_lower, model.row_upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = matrix.indptr, matrix.indices, matrix.data
    kinds = [highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger]
    lp.integrality_ = [kinds[k] for k in model.integrality.tolist()]
    lp.col_names_, lp.row_names_ = names
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.passModel(lp)
    highs.writeModel(path)
    return f"{time.process_time() - began} {os.path.getsize(path) / 1e6:,.0f} MB"


def write_ortools(path: str, size: str) -> str:
    """OR-tools given the same arrays, without names; the time from the arrays on."""
    from ortools.linear_solver.python.model_builder_helper import ModelBuilderHelper, MPModelExportOptions

    module, problem = model_of(size)
    model = module.build(problem)
    matrix = model.A
    began = time.process_time()
    helper = ModelBuilderHelper()
    helper.fill_model_from_sparse_data(
        model.col_lower, model.col_upper, model.c, model.row_lower, model.row_upper, matrix.tocsr()
    )
    for j in np.flatnonzero(model.integrality).tolist():
        helper.set_var_integrality(j, True)
    helper.write_to_mps_file(path, MPModelExportOptions())
    return f"{time.process_time() - began} {os.path.getsize(path) / 1e6:,.0f} MB"


def by_rows(size: str):
    """The model, and its matrix by rows."""
    module, problem = model_of(size)
    model = module.build(problem)
    return model, model.A.tocsr()


def write_pulp(path: str, size: str) -> str:
    """PuLP given the same rows as expressions of variables; the time from the matrix on."""
    import pulp

    model, matrix = by_rows(size)
    names, row_names = model.column_names, model.row_names
    began = time.process_time()
    whole = pulp.LpProblem("m", pulp.LpMinimize)
    kinds = [pulp.LpContinuous, pulp.LpInteger]
    bounds = zip(names, model.col_lower.tolist(), model.col_upper.tolist(), model.integrality.tolist())
    x = [pulp.LpVariable(name, low, None if np.isinf(high) else high, kinds[kind]) for name, low, high, kind in bounds]
    whole += pulp.LpAffineExpression([(x[j], c) for j, c in enumerate(model.c.tolist()) if c])
    for name, terms, low, high in rows_of(matrix, model, row_names):
        left = pulp.LpAffineExpression([(x[j], value) for j, value in terms])
        whole += (left == low if low == high else left <= high if np.isinf(low) else left >= low, name)
    whole.writeMPS(path)
    return f"{time.process_time() - began} {model.nnz:,} nonzeros, {os.path.getsize(path) / 1e6:,.0f} MB"


def write_pyomo(path: str, size: str) -> str:
    """Pyomo given the same rows as linear expressions, as an LP file, which it writes faster than MPS."""
    import pyomo.environ as pyo
    from pyomo.core.expr import LinearExpression

    model, matrix = by_rows(size)
    began = time.process_time()
    whole = pyo.ConcreteModel()
    lower, upper, kinds = model.col_lower.tolist(), model.col_upper.tolist(), model.integrality.tolist()
    whole.x = pyo.Var(
        range(model.n_cols),
        domain=lambda _, j: pyo.Integers if kinds[j] else pyo.Reals,
        bounds=lambda _, j: (lower[j], None if np.isinf(upper[j]) else upper[j]),
    )
    x = [whole.x[j] for j in range(model.n_cols)]
    whole.objective = pyo.Objective(expr=sum(c * x[j] for j, c in enumerate(model.c.tolist()) if c))
    whole.rows = pyo.ConstraintList()
    for _, terms, low, high in rows_of(matrix, model, None):
        left = LinearExpression(linear_coefs=[value for _, value in terms], linear_vars=[x[j] for j, _ in terms])
        whole.rows.add((None if np.isinf(low) else low, left, None if np.isinf(high) else high))
    whole.write(path, format="lp")
    return f"{time.process_time() - began} {model.nnz:,} nonzeros, {os.path.getsize(path) / 1e6:,.0f} MB"


def write_linopy(path: str, size: str) -> str:
    """linopy given the same rows, those of one number of terms as one block of arrays, as an LP file."""
    import linopy
    import xarray as xr

    model, matrix = by_rows(size)
    began = time.process_time()
    whole = linopy.Model()
    columns = np.flatnonzero(model.integrality == 0), np.flatnonzero(model.integrality)
    label = np.empty(model.n_cols, np.int64)
    for name, which in zip(("x", "i"), columns):
        if which.size:
            low, high = (xr.DataArray(side[which], dims=name) for side in (model.col_lower, model.col_upper))
            added = whole.add_variables(low, high, name=name, integer=bool(model.integrality[which[0]]))
            label[which] = added.labels.values
    priced = np.flatnonzero(model.c)
    whole.add_objective(expression(linopy, xr, whole, model.c[None, priced], label[None, priced]).sum())
    terms = np.diff(matrix.indptr)
    equal, below = model.row_lower == model.row_upper, np.isinf(model.row_lower)
    for many in np.unique(terms).tolist():
        for sign, kind in (("==", equal), ("<=", below & ~equal), (">=", ~below & ~equal)):
            rows = np.flatnonzero((terms == many) & kind)
            if rows.size and many:
                at = matrix.indptr[rows][:, None] + np.arange(many)
                left = expression(linopy, xr, whole, matrix.data[at], label[matrix.indices[at]])
                side = (model.row_lower if sign == ">=" else model.row_upper)[rows]
                whole.add_constraints(
                    left, sign, xr.DataArray(side, dims="row"), name=f"r{many}{'elg'['=<>'.find(sign[0])]}"
                )
    whole.to_file(Path(path), io_api="lp-polars", progress=False)
    return f"{time.process_time() - began} {model.nnz:,} nonzeros, {os.path.getsize(path) / 1e6:,.0f} MB"


def expression(linopy, xr, whole, coefficients, labels):
    """Rows of as many terms each."""
    dims = ("row", "_term")
    return linopy.LinearExpression(xr.Dataset({"coeffs": (dims, coefficients), "vars": (dims, labels)}), whole)


def rows_of(matrix, model, names):
    """(name, [(column, value)], lower side, upper side) of each row."""
    indices, data, begins = matrix.indices.tolist(), matrix.data.tolist(), matrix.indptr.tolist()
    for i, (low, high) in enumerate(zip(model.row_lower.tolist(), model.row_upper.tolist())):
        cells = slice(begins[i], begins[i + 1])
        yield names and names[i], list(zip(indices[cells], data[cells])), low, high


def write_raw(path: str, size: str) -> str:
    """One write of the bytes that stand in the file already."""
    data = Path(path).read_bytes()
    began = time.process_time()
    with open(path + ".raw", "wb") as stream:
        stream.write(data)
    return f"{time.process_time() - began} {len(data) / 1e6:,.0f} MB"


def gzip_alone(path: str, size: str) -> str:
    """Python's gzip at level 2, as before members."""
    import gzip

    data = Path(path).read_bytes()
    began = time.process_time()
    with gzip.GzipFile(path + ".gz", "wb", compresslevel=2, mtime=0) as stream:
        stream.write(data)
    return f"{time.process_time() - began} {os.path.getsize(path + '.gz') / 1e6:,.0f} MB"


def measured(*words: str) -> tuple[float, float, str]:
    """(CPU seconds, peak MiB, what it says) of one of the functions above, in a process of its own.

    This process stays small, since the system counts the memory of the process that started another as that one's."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.scale", "--one", *words], capture_output=True, text=True, check=True
    )
    facts = json.loads(done.stdout.splitlines()[-1])
    seconds, _, rest = facts["said"].partition(" ")
    return float(seconds), facts["peak"], rest


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--rows", type=int, default=1_000_000)
    words.add_argument("--size", default="5000,40,4")
    words.add_argument("--folder", default=None)
    words.add_argument("--what", choices=("rows", "models", "all"), default="all")
    words.add_argument("--rounds", type=int, default=1, help="how often all write the model, in turn")
    words.add_argument("--one", nargs="+", default=None, help=argparse.SUPPRESS)
    asked = words.parse_args()
    if asked.one:
        name, *given = asked.one
        said = globals()[name](*given)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"peak": peak, "said": said}))
        return
    print(f"{datetime.date.today()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
    print("| what | by | CPU s | peak MiB | result |\n|---|---|---|---|---|")
    if asked.folder:
        Path(asked.folder).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        if asked.what != "models":
            rows_table(folder, asked.rows)
        for _ in range(asked.rounds if asked.what != "rows" else 0):
            models_table(Path(folder), asked.size)
    print(f"\nload at the end {os.getloadavg()[0]:.1f}")


def rows_table(folder: str, rows: int) -> None:
    measured("make_rows", folder, str(rows))
    for kind in ("csv", "parquet"):
        for name, function in (("polars scan + group-by", "polars_rows"), ("odtc read + encode", "odtc_rows")):
            row(f"{rows:,} rows × 20, {kind}", name, measured(function, str(Path(folder) / f"rows.{kind}")))


def models_table(folder: Path, size: str) -> None:
    writers = [
        ("odtc, data in memory to MPS", "write_ours", "m.mps"),
        ("one raw write of the same bytes", "write_raw", "m.mps"),
        ("Python's gzip, level 2, packing alone", "gzip_alone", "m.mps"),
        ("odtc, data in memory to MPS.gz", "write_ours", "o.mps.gz"),
        ("HiGHS, arrays to MPS", "write_highs", "h.mps"),
    ]
    if find_spec("ortools") is not None:
        writers.append(("OR-tools, arrays to MPS, without names", "write_ortools", "t.mps"))
    for name, function, target in writers:
        row(f"FlowOCT {size}", name, measured(function, str(folder / target), size))
    for file in folder.glob("*.mps*"):
        file.unlink()


def row(what: str, name: str, found: tuple[float, float, str]) -> None:
    cpu, peak, said = found
    print(f"| {what} | {name} | {cpu:.2f} | {peak:,.0f} | {said} |", flush=True)


if __name__ == "__main__":
    main()
