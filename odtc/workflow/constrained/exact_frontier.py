"""The points of a frontier for Python, as a table, and as STEM.frontier.json."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from odtc.base.atomic_write import require_writable
from odtc.base.text import count_of
from odtc.problem.problem import Problem
from odtc.trees.tree import Tree
from odtc.workflow.constrained.frontier import SUFFIX, Point, frontier_facts, loosest_first, write_frontier
from odtc.workflow.manifest import describe_data
from odtc.workflow.posing import model_to_json
from odtc.workflow.specification import ModelSpec


@dataclass(frozen=True)
class FrontierPoint:
    """Best tree for one number of a constraint.

    Attributes
    ----------
    constraint : str
    requested : float
    reached : float or None
        The figure of the tree on the training rows.
    ended : str
        "optimal", "infeasible", or "open" if it is not proved.
    objective, bound : float or None
    price : float or None
        How much more the best tree costs than the one of the next looser number; None if one of the two is not proved.
    tree : Tree or None
    searched : bool
        Whether this number was searched, not derived from its neighbours.
    """

    constraint: str
    requested: float
    reached: float | None
    ended: str
    objective: float | None
    bound: float | None
    price: float | None
    tree: Tree | None
    searched: bool


class Frontier(Sequence):
    """The best tree for each number of a constraint, the loosest number first.

    Parameters
    ----------
    problem : Problem
        Without the constraint that is varied.
    vary : str
        The constraint with FIRST:LAST:STEP.
    points : list of Point
    model : ModelSpec
        What posed the problem.
    """

    def __init__(self, problem: Problem, vary: str, points: list[Point], model: ModelSpec):
        self.problem, self.vary, self.points, self.model = problem, vary, points, model
        self.facts = frontier_facts(problem, points)
        self._each = [
            FrontierPoint(tree=None if point.heap is None else point.heap.to_tree(problem.encoded), **facts)
            for point, facts in zip(loosest_first(points), self.facts)
        ]

    def __len__(self) -> int:
        return len(self._each)

    def __getitem__(self, place):
        return self._each[place]

    @property
    def head(self) -> dict:
        """The data and the depth, as in JSON."""
        return {"data": self.problem.encoded.name, "depth": self.problem.topology.depth}

    def write(self, path: str | Path) -> Path:
        """Write STEM.frontier.json, with the trees; `path` is the STEM or the file. Raises OutputError.

        If there is a data file, it is identified by its SHA-256, with how it was read and how the problem was built,
        so that `odtc verify` can repeat both.
        """
        path = file_of(Path(path))
        require_writable(path)
        head = self.head | {"vary": self.vary, "constraints": [str(given) for given in self.problem.constraints]}
        source = describe_data(self.problem.encoded, path.resolve().parent)
        if source.get("sha256") is not None:
            head |= {"source": source, "model": model_to_json(self.problem, self.model)}
        return write_frontier(self.problem, path, head, self.points)

    def __str__(self) -> str:
        return table(self.facts)

    def __repr__(self) -> str:
        return f"<frontier of {self.vary!r}, {count_of(len(self), 'number', '')}>"


def file_of(path: Path) -> Path:
    """Return STEM.frontier.json for a STEM, or for the name itself."""
    return path.with_name(path.name.removesuffix(".json").removesuffix(SUFFIX.removesuffix(".json")) + SUFFIX)


def table(facts: list[dict]) -> str:
    """Return the points as lines: the required and the reached number, the objective, the price, and how the search
    ended."""
    lines = [f"{'requested':>10}  {'reached':>10}  {'objective':>12}  {'price':>8}  ended"]
    for one in facts:
        figures = [one[key] for key in ("requested", "reached", "objective", "price")]
        shown = [f"{value:.6g}" if value is not None else "-" for value in figures]
        bound = f", bound {one['bound']:.6g}" if one["ended"] == "open" else ""
        lines.append("{:>10}  {:>10}  {:>12}  {:>8}  {}{}".format(*shown, one["ended"], bound))
    return "\n".join(lines)
