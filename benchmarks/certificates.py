"""What a checked certificate costs beside its search: python -m benchmarks.certificates [SET …] [--depth 3]

    python -m benchmarks.certificates german-credit pima-diabetes --constraints "recall .6" "recall .6, parity"

CPU seconds of one thread, from arrays in memory: the search (with the tree of fewest leaves), the writing of the
certificate, its check by the independent checker. Kernels are loaded before. Measured in benchmarks/results; with the
names of sets of constraints (benchmarks.constraints) the same under these, in benchmarks/results.
"""

import argparse
import json
import time
from itertools import product

from benchmarks.constraints import TABLES, sets_of
from benchmarks.data import data_file, data_folder
from odtc.formulations.dpflow.threshold_search import ThresholdSearch
from odtc.formulations.dpflow.write_certificate import certify_search
from odtc.verification.certificate import check
from tests import pipeline

SETS = ("iris", "wine", "pima-diabetes", "ionosphere")


def measure(name: str, depth: int) -> tuple:
    """(errors, bound, seconds of the search, of writing, of checking, states, bytes)."""
    problem = pipeline.pose(data_file(name), "dpflow", depth)
    search, clock = ThresholdSearch(problem), [time.process_time()]
    found = search.run()
    clock.append(time.process_time())
    facts = json.loads(text := json.dumps(certify_search(search, found.heap)))
    clock.append(time.process_time())
    proof = check(facts, problem.encoded.dataset)
    clock.append(time.process_time())
    seconds = [after - before for before, after in zip(clock, clock[1:])]
    return proof.objective, proof.bound, *seconds, proof.steps["n_targets"], len(text)


def measure_constrained(name: str, depth: int, constraints: tuple[str, ...]) -> tuple:
    """The same under constraints, with the cases that are listed in the place of the states."""
    file, *_, auxiliary = TABLES[name]
    problem = pipeline.pose(
        data_folder() / file, "dpflow", depth, reading={"auxiliary": auxiliary}, constraints=constraints, fitting=True
    )
    clock = [time.process_time()]
    found = problem.module.search(problem, None, lambda *told: None)
    clock.append(time.process_time())
    facts = json.loads(text := json.dumps(found.certificate()))
    clock.append(time.process_time())
    proof = check(facts, problem.encoded.dataset)
    clock.append(time.process_time())
    seconds = [after - before for before, after in zip(clock, clock[1:])]
    return proof.objective, proof.bound, *seconds, len(facts["cases"]), len(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--depth", type=int, nargs="*", default=[2, 3])
    parser.add_argument("--constraints", nargs="*", default=[None], help="names of sets, as 'recall .6'")
    given = parser.parse_args()
    measure("iris", 3)  # loads the kernels
    if given.constraints != [None]:
        measure_constrained("pima-diabetes", 2, ("recall[1] >= 0.6", "features <= 1"))
    print("| set | depth | constraints | errors | bound | search | writing | check | states or cases | kB |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, depth, words in product(given.sets, given.depth, given.constraints):
        found = measure(name, depth) if words is None else measure_constrained(name, depth, sets_of(name)[words])
        paid, bound, search, writing, checked, states, size = found
        seconds = f"{search:.3f} | {writing:.3f} | {checked:.3f}"
        line = (
            f"| {name} | {depth} | {words or ''} | {paid:g} | {bound:g} | {seconds} | {states:,} | {size / 1000:.0f} |"
        )
        print(line, flush=True)


if __name__ == "__main__":
    main()
