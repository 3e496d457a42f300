"""Random cases in words: the description of the smallest one that fails a property."""

import numpy as np

from odtc.problem.parameters import params_to_json
from odtc.workflow.row_selection.selection import as_csv


def note_data(trial, dataset) -> None:
    """Record a data set as CSV."""
    trial.note("data", as_csv(dataset)[0].rstrip())


def note_problem(trial, problem) -> None:
    """Record the data, the depth, the encoding, the parameters and the constraints of a problem."""
    encoded = problem.encoded
    note_data(trial, encoded.dataset)
    trial.note("depth", problem.topology.depth)
    usual = params_to_json(type(problem.params)())
    given = {key: value for key, value in params_to_json(problem.params).items() if value != usual.get(key)}
    trial.note("model", " ".join([problem.formulation, *(f"-p {key}={value}" for key, value in given.items())]))
    if (encoded.cost != 1 - np.eye(len(encoded.classes))).any():
        trial.note("costs", f"{encoded.cost.tolist()} (true class, predicted class)")
    for given in problem.constraints:
        trial.note("constraint", given)


def note_heap(trial, problem, heap) -> None:
    """Record a tree."""
    trial.note("tree", str(heap.to_tree(problem.encoded)))
