"""CPU seconds to build FlowOCT for kr-vs-kp at depth 3, 4 and 5, beside the peer's.

    python -m benchmarks.build [--data kr-vs-kp.csv] [--rounds 5] [--depths 3,4,5]

Inside a running process, imports apart: from the encoded rows to the assembled matrix, and
from there to a complete MPS file; the best of the rounds. The data file is looked for in
$ODTC_DATA or ../shared/data.
"""

import argparse
import tempfile
import time
from pathlib import Path

from benchmarks.data import data_folder
from odtc.data.encoding import encode
from odtc.data.reading import read
from odtc.fileformats.model_files import write_model
from odtc.problem.formulation import FORMULATIONS
from odtc.problem.parameters import parse_params
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import CompleteTree
from tests import pipeline

# CPU seconds of odtlearn 1.1.0's build (FlowOCT, python-mip CBC); depth 4 only as wall time there.
PEER = {3: 20.3, 5: 85.9}
FORMS = {"default": {}, "bottom=flow": {"bottom": "flow"}, "literal": {"literal": True}}


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--data", default=None)
    words.add_argument("--rounds", type=int, default=5)
    words.add_argument("--depths", default="3,4,5")
    asked = words.parse_args()
    data = Path(asked.data or data_folder() / "kr-vs-kp.csv")
    if not data.exists():
        raise SystemExit(f"{data} is not there; name a data file with --data")
    began = time.process_time()
    dataset = read(data)
    read_seconds = time.process_time() - began
    began = time.process_time()
    encoded = encode(dataset, "onehot")
    print(
        f"{data.name}: {dataset.n_rows} rows, {encoded.n_rows} after merging, {encoded.n_candidate_splits} tests; "
        f"read {read_seconds:.3f} s, encode {time.process_time() - began:.3f} s (CPU)\n"
    )
    peers = PEER if data.name == "kr-vs-kp.csv" else {}
    print("| form | depth | columns | rows | nonzeros | build s | peer s | ratio | build + write s | MPS MB |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    pipeline.build(dataset, depth=1)  # scipy and the formulation are imported here, not below
    for form, params in FORMS.items():
        for depth in map(int, asked.depths.split(",")):
            row(encoded, form, params, depth, asked.rounds, peers.get(depth))


def row(encoded, form, params, depth, rounds, peer) -> None:
    module = FORMULATIONS.get("flowoct")
    problem = Problem(encoded, CompleteTree(depth), FORMULATIONS.get("flowoct"), parse_params("flowoct", params))
    build, write = [], []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            began = time.process_time()
            model = module.build(problem)
            assert model.A.nnz == model.nnz
            build.append(time.process_time() - began)
            began = time.process_time()
            model = module.build(problem)
            path = write_model(model, Path(folder) / "model.mps")
            write.append(time.process_time() - began)
        size = path.stat().st_size / 1e6
    ratio = f"{peer / min(build):,.0f}x" if peer else "–"
    print(
        f"| {form} | {depth} | {model.n_cols:,} | {model.n_rows:,} | {model.nnz:,} | {min(build):.3f} | "
        f"{peer or '–'} | {ratio} | {min(write):.3f} | {size:.1f} |"
    )


if __name__ == "__main__":
    main()
