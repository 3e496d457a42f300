"""Coverage of the splits of a run by a certificate: with fewer splits it proves nothing about trees that use the
others.

A partition of the rows in two is identified by the sum (exclusive or) of random keys of the rows on one side, of 126
bits each: the sums for all cuts of a column are found in one pass over its rows.
"""

import numpy as np

from odtc.data.dataset import Dataset
from odtc.data.splits import Missing, Subset, Threshold
from odtc.problem.problem import Problem
from odtc.verification.threshold_columns import left_of, rank_columns


def uncovered_splits(problem: Problem, rows: Dataset, facts: dict, left_out: dict) -> int:
    """Count the splits of a run that partition the rows as no split of a certificate does.

    Parameters
    ----------
    problem : Problem
        The problem of the run.
    rows : Dataset
        The rows that the certificate was checked on.
    facts : dict
        The certificate, which was checked.
    left_out : dict
        The features of which it leaves out some splits (odtc.verification.coverage).
    """
    asked = [split for split in problem.encoded.splits if not _is_covered(split, rows, left_out)]
    if not asked:
        return 0
    keys = np.random.default_rng().integers(1 << 63, size=(rows.n_rows, 2), dtype=np.int64)
    whole = np.bitwise_xor.reduce(keys)
    by_column = bool(problem.constraints)  # which may be on columns: a split on another one is another split
    known = {
        (of if by_column else "", one)
        for of, side in _of_certificate(facts, rows, keys)
        for one in (side.tobytes(), (side ^ whole).tobytes())
    }
    names = [feature.name for feature in rows.features]
    absent = 0
    for split in asked:
        side = np.bitwise_xor.reduce(keys[split.left(rows.X)], axis=0, initial=0)
        of = ",".join(names[at] for at in split.features) if by_column else ""
        absent += (of, side.tobytes()) not in known
    return absent


def _is_covered(split, rows: Dataset, left_out: dict) -> bool:
    """Return whether the check of the certificate has covered a split by its type: a midpoint, a level, or a missing
    cell."""
    single = isinstance(split, (Threshold, Missing)) or (isinstance(split, Subset) and len(split.values) == 1)
    return single and not any(rows.features[at].name in left_out for at in split.features)


def _of_certificate(facts: dict, rows: Dataset, keys: np.ndarray):
    """Yield (feature, int64 (2,)) for each split of a certificate: the sum of the keys of its left side. Cut k of a
    nested column is its k-th split."""
    for column in facts["columns"]:
        ranks = rank_columns([column], rows, left_of)
        rank, order = ranks.rank[:, 0], np.argsort(ranks.rank[:, 0], kind="stable")
        sums = np.concatenate([np.zeros((1, 2), np.int64), np.bitwise_xor.accumulate(keys[order])])
        cuts = np.arange(int(ranks.size[0]))
        names = [split["feature"] for split in column.get("splits", [column] * len(cuts))]
        yield from zip(names, sums[np.searchsorted(rank[order], cuts, side="right")], strict=True)
