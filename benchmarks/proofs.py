"""Proofs over thresholds under fire: python -m benchmarks.proofs [--corruptions 1000] [--interruptions 1000]

Certificates of random problems (numbers, levels and missing cells, weights, cost matrices, two and three classes, least
rows of a leaf, a price of leaves), of whole searches and of interrupted ones, have one thing changed; what is still
accepted must be true of the changed data, by trying every tree. And searches are ended at random moments: their bound,
which the checker has to accept, is never above the optimum, and their tree never below it.
"""

import argparse
import json
import random
import time
from collections import Counter

from odtc.problem.branch_penalty import objective
from odtc.verification.certificate import check
from tests.threshold_problems import accepted, certificate, corrupt, draw, interrupted, is_true, optimum


def corruptions(number: int) -> Counter:
    """How many changed certificates were refused, accepted and true, or accepted and false."""
    seen = Counter()
    for seed in range(10_000, 10_000 + number):
        problem, rnd = draw(seed, wide=True), random.Random(seed)
        facts = certificate(interrupted(problem, rnd.choice([None, rnd.randrange(60)])))
        changed, rows = corrupt(facts, problem.encoded.dataset, rnd)
        proof = accepted(changed, rows)
        seen["refused" if proof is None else "true" if is_true(changed, proof, rows) else f"FALSE {seed}"] += 1
    return seen


def interruptions(number: int) -> Counter:
    """How many interrupted searches had a valid bound and tree, and how many had a bound above 0 short of the proof."""
    seen = Counter()
    for seed in range(20_000, 20_000 + number):
        problem, rnd = draw(seed, (3,), wide=True), random.Random(seed)
        found = interrupted(problem, rnd.randrange(60)).run()
        best, paid = optimum(problem), objective(problem, found.heap)
        proof = check(json.loads(json.dumps(found.certificate())), problem.encoded.dataset)
        valid = found.bound <= best + 1e-9 and paid >= best - 1e-9 and abs(proof.bound - found.bound) < 1e-9
        seen["valid" if valid else f"INVALID {seed}"] += 1
        seen["proved"] += proof.optimal
        seen["bound above 0, not proved"] += 0 < proof.bound < paid
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corruptions", type=int, default=1000)
    parser.add_argument("--interruptions", type=int, default=1000)
    given = parser.parse_args()
    for name, run, number in (
        ("corruptions", corruptions, given.corruptions),
        ("interruptions", interruptions, given.interruptions),
    ):
        began = time.process_time()
        print(f"{number} {name}: {dict(run(number))}, {time.process_time() - began:.0f} CPU s", flush=True)


if __name__ == "__main__":
    main()
