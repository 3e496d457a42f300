"""What a run hands back: the decoded tree with its checks, and the figures under the keys of `--json`."""

from dataclasses import dataclass, replace

from odtc.data.dataset import Dataset
from odtc.errors import TreeError
from odtc.heuristics.heuristic import HEURISTICS
from odtc.model.feasibility import Check
from odtc.model.milp import Model
from odtc.model.solution import Solution
from odtc.problem.constraints import constraint
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree
from odtc.trees.tree import Tree
from odtc.verification.verify import RowPredictions
from odtc.workflow import run_facts
from odtc.workflow.row_selection.selection import filled


@dataclass(frozen=True)
class Decoded:
    """A solution turned into a tree: in the model's terms, in words, and every check made of it."""

    heap: HeapTree
    # where its rows were selected, with all of them in its leaves (odtc.workflow.row_selection.selection.filled)
    tree: Tree
    checks: list[Check]
    solution: Solution

    @property
    def verified(self) -> bool:
        return all(check.passed for check in self.checks)


@dataclass(frozen=True)
class Fit:
    """What `fit` hands back; `facts` are the keys of `odtc fit --json`."""

    model: Model
    solution: Solution
    decoded: Decoded
    cart: Tree
    facts: dict

    @property
    def tree(self) -> Tree:
        return self.decoded.tree


def tree_cost(problem: Problem, heap: HeapTree) -> float | None:
    """What a tree costs; None for one that is none of the model's, which a check says."""
    try:
        return problem.module.objective(problem, heap)
    except TreeError:
        return None


def with_figures(
    model, problem: Problem, decoded: Decoded, facts: dict, labelled: Dataset | None, dataset: Dataset | None = None
) -> "Fit":
    greedy = HEURISTICS.get("cart").tree(problem.encoded, problem.topology)
    cart = greedy.to_tree(problem.encoded)
    dataset = dataset or problem.encoded.dataset
    chosen = dataset.selected if dataset is not None else None
    trained = decoded.tree if chosen is None else decoded.heap.to_tree(problem.encoded)
    facts = facts | run_facts.tree_facts(trained, problem.encoded.cost) | run_facts.cart_facts(problem, greedy)
    if chosen is not None:
        whole = chosen.whole
        cart = filled(cart, problem, whole)
        facts |= {
            "selection": chosen.facts,
            "all_rows": _of_all(decoded.tree, problem),
            "cart_all_rows": _of_all(cart, problem),
        }
        rows = RowPredictions(problem.encoded, whole, decoded.tree.predict(whole.X))
        facts["all_rows"]["breaks"] = [
            f"{given}: {rows.told(given)}"
            for given in constraint.on_answers(problem)
            if not given.holds(rows.value(given))
        ]
        facts["all_rows"]["relabelled"] = sum(
            one.label != other.label for one, other in zip(trained.leaves(), decoded.tree.leaves())
        )
    if labelled is not None:
        facts |= {
            "test_accuracy": run_facts.score(decoded.tree, labelled)["accuracy"],
            "cart_test_accuracy": run_facts.score(cart, labelled)["accuracy"],
            "n_test_rows": labelled.n_rows,
            "n_test_rows_dropped": labelled.n_dropped,
        }
    return Fit(model, decoded.solution, decoded, cart, facts | {"verified": decoded.verified})


def _of_all(tree: Tree, problem: Problem) -> dict:
    """The figures of a tree that holds all rows that its own were selected from."""
    facts = run_facts.tree_facts(tree, problem.encoded.cost)
    told = {
        "correct": "train_correct",
        "accuracy": "train_accuracy",
        "weighted_accuracy": "train_weighted_accuracy",
        "balanced_accuracy": "train_balanced_accuracy",
        "loss": "loss",
    }
    return {"n_rows": sum(sum(leaf.rows) for leaf in tree.leaves())} | {
        name: facts.get(key) for name, key in told.items()
    }


def settled_objective(model: Model, decoded: Decoded) -> dict:
    """Objective and bound without a solver's rounding: where the tree costs what the point does, the
    exact cost of the tree."""
    paid, solution = tree_cost(model.problem, decoded.heap), decoded.solution
    if paid is None:
        return {}
    near = [
        value is not None and abs(value - paid) <= 1e-6 * max(1.0, abs(paid))
        for value in (solution.objective, solution.bound)
    ]
    if not near[0]:
        return {}
    settled = replace(solution, objective=paid, bound=paid if near[1] else solution.bound)
    return {"objective": settled.objective, "bound": settled.bound, "gap": settled.gap}


def model_facts(problem: Problem, model: Model | None = None) -> dict:
    dataset = problem.encoded.dataset
    size = (model.n_cols, model.n_rows, model.nnz) if model is not None else (None, None, None)
    facts = run_facts.model_facts(problem, *size, dataset.n_dropped if dataset else 0)
    if dataset is not None and dataset.selected is not None:
        facts["selection"] = dataset.selected.facts
    if model is None:
        return facts | {"cuts": []}
    made = dict(model.separated)
    return facts | {
        "cuts": list(model.cuts),
        "n_rows_separated": sum(block.size for block in model.rows if block.name in made),
    }
