"""The index of discrimination, counted group by group: the reference for the model's constraints."""

import numpy as np


def index(group: np.ndarray, others: np.ndarray, predicted: np.ndarray, weight: np.ndarray) -> float:
    """Return Σ_k Σ_g |P(ŷ = k | g) - P(ŷ = k)| among rows that are alike in `others`, averaged over all rows; P by
    weight.

    Parameters
    ----------
    group : array (rows,)
        The group of each row.
    others : array (rows, columns)
        Columns in which rows must agree to be compared; no column for the index of impact.
    predicted : int (rows,)
    weight : float64 (rows,)

    Returns
    -------
    float
        0 without discrimination; at most 2 times the number of groups.
    """
    total = 0.0
    # Missing cells are alike; a row without weight is compared with none.
    told = [tuple(None if cell != cell else cell for cell in row) for row in others.tolist()]
    group = [None if g != g else g for g in group.tolist()]
    weighed = [r for r in range(len(group)) if weight[r] > 0]
    for alike in {told[r] for r in weighed}:
        here = [r for r in weighed if told[r] == alike]
        weight_here = sum(weight[r] for r in here)
        for g in {group[r] for r in here}:
            mine = [r for r in here if group[r] == g]
            for k in set(predicted):
                among = sum(weight[r] for r in mine if predicted[r] == k) / sum(weight[r] for r in mine)
                overall = sum(weight[r] for r in here if predicted[r] == k) / weight_here
                total += weight_here * abs(among - overall)
    return total / sum(weight)
