"""What a checked certificate costs beside its search: python -m benchmarks.certificates [SET …] [--depth 3]

CPU seconds of one thread, from arrays in memory: the search (with the tree of fewest leaves), the writing of the
certificate, its check by the independent checker. Kernels are loaded before. Measured in NUMBERS.md.
"""

import argparse
import json
import time

from benchmarks.data import data_file
from odtc.formulations.dpflow.threshold_search import ThresholdSearch
from odtc.formulations.dpflow.write_certificate import certify_search
from odtc.verification.certificate import check
from odtc.workflow import pipeline

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
    return proof.objective, proof.bound, *seconds, proof.n_targets, len(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--depth", type=int, nargs="*", default=[2, 3])
    given = parser.parse_args()
    measure("iris", 3)  # loads the kernels
    print("| set | depth | errors | bound | search | writing | check | states | kB |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in given.sets:
        for depth in given.depth:
            paid, bound, search, writing, checked, states, size = measure(name, depth)
            seconds = f"{search:.3f} | {writing:.3f} | {checked:.3f}"
            print(
                f"| {name} | {depth} | {paid:g} | {bound:g} | {seconds} | {states:,} | {size / 1000:.0f} |", flush=True
            )


if __name__ == "__main__":
    main()
