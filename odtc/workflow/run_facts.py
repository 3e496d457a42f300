"""The facts of a run under the keys that `--json` prints (docs/background/command-line.md), each from one record."""

import numpy as np

from odtc.data.cost_matrix import unit_cost
from odtc.data.dataset import Dataset
from odtc.model.solution import Solution
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree
from odtc.trees.tree import Tree


def model_facts(problem: Problem, n_cols: int, n_rows: int, nnz: int, n_dropped: int = 0) -> dict:
    encoded = problem.encoded
    return {
        "model": problem.formulation,
        "depth": int(problem.topology.depth),
        "data": encoded.name,
        "encoding": encoded.scheme,
        "n_rows": int(encoded.copies.sum()),
        "n_rows_dropped": n_dropped,
        "n_rows_merged": encoded.n_rows,
        "n_features": len(encoded.features),
        "n_features_encoded": encoded.n_tests,
        "n_classes": len(encoded.classes),
        "cost": None if (encoded.cost == unit_cost(len(encoded.classes))).all() else encoded.cost.tolist(),
        "constraints": [str(given) for given in problem.constraints],
        "n_cols": n_cols,
        "n_model_rows": n_rows,
        "nnz": nnz,
    }


def solve_facts(solution: Solution) -> dict:
    return {
        "solver": solution.solver,
        "termination": str(solution.termination),
        "has_solution": solution.has_solution,
        "objective": solution.objective,
        "bound": solution.bound,
        "gap": solution.gap,
        "nodes": solution.nodes,
        "seconds": round(solution.seconds, 3) if solution.seconds is not None else None,
        "start": solution.start,
    } | ({"race": [racer.to_json() for racer in solution.race]} if solution.race else {})


def tree_facts(tree: Tree, cost: np.ndarray) -> dict:
    """From the training counts in the leaves: rows right, their share, and what the errors cost by weight
    (`Encoded.cost`)."""
    right = sum(leaf.rows[leaf.label] for leaf in tree.leaves())
    rows = sum(sum(leaf.rows) for leaf in tree.leaves())
    weight = sum(sum(leaf.counts) for leaf in tree.leaves())
    heavy = sum(leaf.counts[leaf.label] for leaf in tree.leaves())
    facts = {
        "train_correct": right,
        "train_accuracy": right / rows,
        "train_balanced_accuracy": _balanced(tree),
        "loss": float(sum(np.dot(leaf.counts, cost[:, leaf.label]) for leaf in tree.leaves())),
        "n_branch_nodes": tree.n_branch_nodes,
        "n_leaves": tree.n_leaves,
        "tree_depth": tree.depth,
    }
    if not np.isclose(weight, rows) or not np.isclose(heavy, right):
        facts["train_weighted_accuracy"] = heavy / weight
    return facts


def _balanced(tree: Tree) -> float:
    """The mean over the classes of the share of their weight that is predicted right."""
    held = np.sum([leaf.counts for leaf in tree.leaves()], axis=0)
    right = np.zeros(len(held))
    for leaf in tree.leaves():
        right[leaf.label] += leaf.counts[leaf.label]
    return float((right[held > 0] / held[held > 0]).mean())


def cart_facts(problem: Problem, cart: HeapTree) -> dict:
    """CART's numbers on the same tests at the same depth."""
    encoded = problem.encoded
    hit = cart.label[cart.reach(encoded.X)] == encoded.y
    right = int(encoded.copies[hit].sum())
    return {
        "cart_train_correct": right,
        "cart_train_accuracy": right / int(encoded.copies.sum()),
        "cart_train_weighted_accuracy": float(encoded.weight[hit].sum() / weight)
        if (weight := encoded.weight.sum())
        else None,
        "cart_loss": cart.loss(encoded),
    }


def score(tree: Tree, labelled: Dataset) -> dict:
    """Accuracy and confusion matrix on rows whose label is known: `confusion[true][predicted]`."""
    known = labelled.y >= 0
    predicted, true = tree.predict(labelled.X[known]), labelled.y[known]
    K = len(tree.classes)
    table = np.bincount(true * K + predicted, minlength=K * K).reshape(K, K)
    of_class = table.sum(axis=1)
    return {
        "n_rows": int(known.sum()),
        "n_rows_without_known_label": int((~known).sum()),
        "correct": int(np.trace(table)),
        "accuracy": float(np.trace(table) / known.sum()) if known.any() else None,
        "balanced_accuracy": float((np.diagonal(table) / of_class)[of_class > 0].mean()) if known.any() else None,
        "classes": list(tree.classes),
        "confusion": table.tolist(),
    }
