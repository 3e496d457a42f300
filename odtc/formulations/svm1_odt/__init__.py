"""SVM1-ODT: a hyperplane at every node, and a margin to each (Zhu et al. 2020, (1a)-(1k), (8a)-(8f)).

    min  Σ_i c_i + α1 Σ_ib m_ib + α2 Σ_b |h_b|_1

over routes z_il (the paper's e), labels u_l, hyperplanes h_b·x = g_b on features scaled to [0, 1] (in their own units
with `scale=false`); left is h·x <= g. `literal` writes (1a)-(1k) as printed. The default differs in these points:

* M = 1 by Theorem 2: the file contains α1 M, α2 M, 1 and ε / M, and its h and g are the paper's h and g divided by M;
* v_ib = g_b - h_b·x_i in [-1, 1] replaces p⁺ - p⁻, and one constraint covers all leaves on a side of a node: with Z
  the sum of z over the leaves left of b, (1g)-(1j) imply nothing more for v than v >= -(1 - Z) + ε Z, and mirrored;
* labels are one-hot: c_i >= z_il - λ_{l,y_i} with whole c counts a row as misclassified unless its label is λ = 1, so
  λ may be continuous; or labels are numbers as in the paper (`leaf_labels=ordinal`), with u continuous by Theorem 1;
* no m (`margin=hard`), which is the limit of large α1: with soft margins h = g = 0 routes every row for α1 ε a
  node, and near the optimum a row on a hyperplane may go to either side for α1 ε.

With `categories=sets` a node may split on a set of levels of one category instead of a hyperplane over the numbers:
(8a)-(8e). (1f) and the norm are only over the numbers. (8e) bounds |h_bq| by 1 / M at every node, so a margin ε that
needs steeper hyperplanes is not reached there. Unseen and missing levels go right.

A tree is represented if a hyperplane can separate the rows of each node in the same way by ε, with no value of v
beyond 1. Decoding reads only h, g and the sets: they determine where rows go, and each leaf takes the label of least
cost.
"""

from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

from odtc.base import deadline
from odtc.base.text import some
from odtc.base.value_class import value_class
from odtc.base.wording import option, param
from odtc.data.splits import Subset
from odtc.errors import ChoiceError
from odtc.formulations.svm1_odt.margin_prices import MarginPrices, choose_margin_prices
from odtc.formulations.svm1_odt.parts import Form, literal, weights_of
from odtc.heuristics.heuristic import HEURISTICS
from odtc.heuristics.separating_hyperplanes import build_tree, drop_unfit_nodes, split_by_hyperplane
from odtc.model.blocks import Axis, labels_where
from odtc.model.builder import ModelBuilder
from odtc.model.milp import Model
from odtc.problem.constraints.kind import Subject
from odtc.problem.exact_objective import exact_objective
from odtc.problem.formulation import MERGED, OTHER, SAME, TIGHTER, Charge, ModelChange, error_cost
from odtc.problem.parameters import merge_rows, parameter
from odtc.problem.problem import Problem
from odtc.problem.roles import Role
from odtc.trees.heap_tree import HeapTree, settle

NAME = "svm1_odt"
TITLE = "SVM1-ODT: hyperplanes with margins, by a MIP"
PAPER = (
    "Zhu, Murali, Phan, Nguyen & Kalagnanam (2020), A scalable MIP-based method for learning optimal "
    "multivariate decision trees"
)
BEYOND = True
WEIGHS = True
DEFAULT_CUTS = ("class_sizes",)
START = "oblique:restarts=50"  # with 1,000 restarts a start takes seconds, and is seldom better
CHANGES = (
    ModelChange("M = 1 in the file (Theorem 2): α1 M, α2 M, 1 and ε / M", SAME, SAME),
    ModelChange("v = g - h·x replaces p⁺ - p⁻, and one row covers all leaves on a side of a node", SAME, TIGHTER),
    ModelChange("leaf_labels=onehot: a 0/1 variable for each class of a leaf replaces u, w and ŷ", SAME, OTHER),
    ModelChange("margin=hard: no variables m, which is the limit of a large α1", OTHER, OTHER),
    ModelChange("rows of the cut family class_sizes are added", SAME, TIGHTER),
    MERGED,
)
GIVEN, FOLDS = "given", "folds"
WIDE = 0.01  # the value of ε if margins are soft and their penalties are chosen by held-out rows
LEAST = 1e-4  # smallest margin: below it, margins are close to the tolerance of solvers
VARIANTS = (
    # A margin of 0.01 is less than what separates the few rows that the laws draw, and α1 is more than any error costs
    # by it.
    {},
    {"leaf_labels": "ordinal"},
    {"categories": "sets"},
    {"margin": "soft", "alpha1": 1e5},
    {"literal": True, "alpha1": 1e5, "categories": "sets"},
)


@value_class
class Params:
    epsilon: float = parameter(
        0.0, "margin ε; 0: half of the margin of the tree of a quick search, between 0.0001 and 0.01", least=0, below=1
    )
    alpha1: float = parameter(
        1000.0, "penalty α1 for a unit of missing margin, if margins are soft", least=0, below=float("inf")
    )
    alpha2: float = parameter(0.0, "penalty α2 for the 1-norm of the hyperplanes", least=0, below=float("inf"))
    M: float = parameter(
        1.0, "the paper's M; the model is scaled by it (Theorem 2), the literal one holds it", least=1e-3, below=1e7
    )
    penalties: str = parameter(
        GIVEN,
        "what alpha1 and alpha2 are: `given`; or `folds`, soft margins with the penalties that held-out rows choose, "
        "from the tree that they rank first",
        choices=(GIVEN, FOLDS),
    )
    margin: str = parameter("hard", "whether a row may miss its margin, at the penalty α1", choices=("hard", "soft"))
    leaf_labels: str = parameter(
        "onehot", "a 0/1 column per class of a leaf, or one number", choices=("onehot", "ordinal")
    )
    categories: str = parameter("onehot", "levels in hyperplanes, or sets of levels (8)", choices=("onehot", "sets"))
    literal: bool = parameter(False, "(1a)-(1k) as printed: soft margins, whole labels, one row per leaf")
    scale: bool = parameter(True, "scale each number to [0, 1], as the paper does; false keeps the units of the data")
    merge: bool = merge_rows()


class Searched:
    """Trees found while one problem was prepared; its margin, or its penalties, come from them."""

    def __init__(self, problem: Problem):
        self.trees: list[HeapTree] = []
        self.prices: MarginPrices | None = None


def prepared(problem: Problem) -> Problem:
    """Return the problem with a value of ε: half of the least margin of the tree of a quick search, from LEAST to
    0.01, so that other starts have room, too."""
    if problem.params.penalties == FOLDS:
        return _priced(problem)
    form = Form.of(
        replace(problem, params=replace(problem.params, epsilon=problem.params.epsilon or LEAST * problem.params.M))
    )
    if problem.params.epsilon:
        return problem
    heap = HEURISTICS.get("oblique").tree(problem.encoded, problem.topology, seconds=3.0, restarts=16, part=0.25)
    least = 0.01
    for t in np.flatnonzero(heap.split >= 0).tolist():
        if deadline.is_over():  # each margin takes a linear program; trees with more of a margin have the least one
            least = LEAST
            break
        margin = form.margin(heap, t)
        least = min(least, max(LEAST, margin / 2)) if margin >= LEAST else least
    problem = replace(problem, params=replace(problem.params, epsilon=float(f"{least * problem.params.M:.2g}")))
    problem.derived(Searched).trees.append(heap)
    return problem


def _priced(problem: Problem) -> Problem:
    """Return the problem with soft margins at the penalties that folds chose, as numbers, so that the manifest
    contains them and nothing is chosen again."""
    params, M = problem.params, problem.params.M
    if not params.scale:
        raise ChoiceError(
            f"{param('penalties', FOLDS)} chooses penalties for features that are scaled to [0, 1], so it needs "
            f"{param('scale', True)}; or give {param('alpha1')} and {param('alpha2')} yourself"
        )
    params = replace(params, epsilon=params.epsilon or WIDE * M)
    Form.of(replace(problem, params=params))  # raises for problems that no penalty can make feasible
    chosen = choose_margin_prices(problem.encoded, problem.topology, params.epsilon / M)
    alpha1, alpha2 = (float(f"{price / M:.6g}") for price in (chosen.alpha1, chosen.alpha2))
    problem = replace(problem, params=replace(params, penalties=GIVEN, margin="soft", alpha1=alpha1, alpha2=alpha2))
    searched = problem.derived(Searched)
    searched.prices = chosen
    searched.trees += [] if chosen.heap is None else [chosen.heap]
    return problem


def _prices_text(problem: Problem, chosen: MarginPrices) -> str:
    p, seen = problem.params, chosen.seen
    words = f"alpha1 = {p.alpha1:g} and alpha2 = {p.alpha2:g}"
    if seen is None:
        return f"{words}: there are too few rows, or there is too little time, to choose them by held-out rows"
    cost = problem.encoded.cost
    unit = bool((cost == (cost != 0)).all())
    both = seen.held_out, seen.majority
    held, most = (f"{100 * (1 - loss):.1f} % correct" if unit else f"mean cost {loss:.4g}" for loss in both)
    doubt = "WARNING: no better than the majority on held-out rows: " if seen.held_out >= seen.majority else ""
    return (
        f"{doubt}{words} are chosen by {seen.folds} folds: of the trees of one path those that they rank first have "
        f"{held} on held-out rows (of the folds that chose, so a little too good), the majority {most}; the solver "
        f"continues from such a tree, and later trees were not compared on held-out rows"
    )


def advice(problem: Problem) -> list[str]:
    """Return notes on this problem: the scaling of a printed model, the limits of sets of levels, what folds chose,
    whether the margin is near what solvers take for 0, and whether hyperplanes that separate nothing cost less than
    a tree."""
    form = Form.of(problem)
    near = (
        f"epsilon / M = {form.eps:g} is below {LEAST:g}: rows may take other ways than in the solver's solution; odtc "
        "verify reports them (`routes`)"
    )
    small = [near] if form.eps < LEAST else []
    if problem.params.literal:
        small.append(
            f"features are scaled to [0, 1] in the printed model; {param('scale', False)} keeps their units"
            if problem.params.scale
            else "features keep the units of the data in the printed model"
        )
    if form.cats and not problem.params.literal:
        small.append(
            f"with {param('categories', 'sets')}, the paper's model (8), a node splits on levels of one category or on "
            f"numbers, never on both, so trees are often much worse than with {param('categories', 'onehot')}"
        )
    if squeezed := form.weighed.squeezed(form.eps):
        small.append(
            f"on the scale of [0, 1] cells far out leave nine tenths of {some(squeezed)} within less than the margin: "
            f"no hyperplane parts these rows by it; clip the column, lower {param('epsilon')}, or take "
            f"{option('model', 'oblique_search')}"
        )
    chosen = problem.derived(Searched).prices
    small += [] if chosen is None else [_prices_text(problem, chosen)]
    if not form.soft:
        return small
    zero = form.a1 * form.eps * problem.topology.depth * float(problem.encoded.weight.sum())
    heap = settle(np.full(2 ** (problem.topology.depth + 1), -1, np.int32), problem.encoded)
    cart = trimmed(problem, HEURISTICS.get("cart").tree(problem.encoded, problem.topology))
    best = min(objective(problem, tree) for tree in (heap, cart))
    if zero >= best:
        return small
    words = (
        f"with alpha1·epsilon = {form.a1 * form.eps:.4g} all hyperplanes 0 cost {zero:.4g} and send every row where it "
        f"likes, less than the {best:.4g} of a tree: raise alpha1 to {best / form.eps / problem.params.M:.4g} or more, "
        f"or take {param('margin', 'hard')}"
    )
    return [*small, words]


def build(problem: Problem) -> Model:
    form, encoded, tree = Form.of(problem), problem.encoded, problem.topology
    m = ModelBuilder(f"{NAME}_d{tree.depth}")
    if problem.params.literal:
        literal(m, form)
        return m.finish()
    eps, Z, soft = form.eps, form.weighed.Z, form.soft
    n, K, B, L = encoded.n_rows, len(encoded.classes), tree.branch_nodes, tree.leaves
    row, node, leaf, klass = Axis("row", n), Axis("node", len(B), 1), Axis("node", len(L), len(L)), Axis("class", K)
    i = np.arange(n)[:, None]
    onehot = problem.params.leaf_labels == "onehot"

    # min Σ_i price_i c_i + α1 Σ_ib w_i m_ib + α2 Σ_bj |h_bj|
    planes = form.planes(m, node)
    form.sets(m, node)
    g = m.columns("g", node, lower=-np.inf, upper=np.inf)
    z = m.columns("z", row, leaf, role=Role.ROUTE, integer=True)
    c = m.columns("c", row, role=Role.MISCLASSIFIED, cost=error_cost(problem), integer=True)
    v = m.columns("v", row, node, lower=-1.0)
    miss = m.columns("m", row, node, cost=form.a1 * encoded.weight[:, None], upper=eps) if soft else None

    # v_ib = g_b - Σ_j h_bj x_ij
    value = m.rows("value", row, node, lower=0, upper=0)
    m.add(value[i, B], v[i, B])
    m.add(value[i, B], g[B], -1.0)
    r, f = (found[:, None] for found in labels_where(Z))
    coef = Z[Z != 0][:, None]
    for h, sign in planes if len(r) else ():
        m.add(value[r, B], h[B, f], sign * coef)

    # v_ib >= -(1 - Σ_{l left of b} z_il);   v_ib + m_ib >= -(1 - Σ z_il) + ε (Σ z_il - Σ_j a_bj);   mirrored with -v
    for name, turn, sign in (("left", 0, 1.0), ("right", 1, -1.0)):
        for stem, margin in ((name, eps), (f"{name}weak", 0.0)) if soft else ((name, eps),):
            side = m.rows(stem, row, node, lower=-1.0)
            m.add(side[i, B], v[i, B], sign)
            for above, below in form.tree.sides(turn):
                m.add(side[i, above], z[i, below], -(1 + margin))
            if soft and margin:
                m.add(side[i, B], miss[i, B])
            if margin and form.cats:
                for a in range(len(form.cats)):
                    m.add(side[i, B], form.asks[B, a], margin)
    form.set_rows(m, z)

    # Σ_l z_il = 1
    place = m.rows("place", row, lower=1, upper=1)
    m.add(place[i], z[i, L])
    form.set_bounds(m, node, planes, 1.0 / problem.params.M)
    if onehot:
        # Σ_k λ_lk = 1;   c_i >= z_il - λ_{l,y_i}
        label = m.columns("label", leaf, klass)  # without a role, because decoding relabels the leaves
        one = m.rows("one", leaf, lower=1, upper=1)
        m.add(one[L[:, None]], label[L[:, None], np.arange(K)])
        wrong = m.rows("wrong", row, leaf, lower=0)
        m.add(wrong[i, L], c[i])
        m.add(wrong[i, L], z[i, L], -1.0)
        m.add(wrong[i, L], label[L, encoded.y[:, None]])
    else:
        form.ordinal(m, z, c, whole=False)
    return m.finish()


def start(problem: Problem, heap: HeapTree) -> dict[str, np.ndarray]:
    """Return a tree that the margin allows as a complete feasible point: {block: values}. Raises TreeError for another
    tree."""
    return Form.of(problem).point(heap)


def trimmed(problem: Problem, heap: HeapTree) -> HeapTree:
    """Return the tree without the branch nodes that no hyperplane of this margin can represent; or, if that costs more
    and there is time, CART's without them, or the tree from which the margin or the penalties were derived."""
    form, encoded = Form.of(problem), problem.encoded

    def fits(rows, left):
        return form.asked(rows, left, safely=True) is not None

    kept = drop_unfit_nodes(heap, encoded, fits)
    searched = problem.derived(Searched)
    if (kept is heap and searched.prices is None) or deadline.is_over():
        return kept
    others = [HEURISTICS.get("cart").tree(encoded, problem.topology), *searched.trees]
    return min([kept, *(drop_unfit_nodes(other, encoded, fits) for other in others)], key=partial(objective, problem))


def decode(problem: Problem, point: dict[str, np.ndarray]) -> HeapTree:
    """Return the tree of a point, read only from h, g and the sets."""
    form, by = Form.of(problem), 1.0 / problem.params.M if problem.params.literal else 1.0
    H = weights_of(point) * by

    def ask(t, rows):
        if form.cats and (point["a"][t - 1] > 0.5).any():
            cat = form.cats[int(point["a"][t - 1].argmax())]
            chosen = cat.values[point["s"][t - 1, cat.columns] > 0.5]
            left = np.isin(form.weighed.values[rows, cat.feature], chosen)
            return bool(not left.any()) if left.all() or not left.any() else Subset(cat.feature, tuple(chosen.tolist()))
        return split_by_hyperplane(form.weighed, H[t - 1], float(point["g"][t - 1]) * by, rows)

    return build_tree(problem.encoded, problem.topology, ask)


def misrouted(problem: Problem, point: dict[str, np.ndarray]) -> float:
    """Return the weight of the rows that the point's routes send to another leaf than its own hyperplanes and sets do:
    rows within the solver's tolerance, or rows on a hyperplane, if a soft margin lets them go to either side."""
    return Form.of(problem).misrouted(point)


def represents(problem: Problem, heap: HeapTree) -> bool:
    """Return whether each node separates its rows by the margin, if margins are hard."""
    return Form.of(problem).represents(heap)


def objective(problem: Problem, heap: HeapTree) -> float:
    """Return the cost of the errors plus the cost of the cheapest hyperplanes that separate the rows like this."""
    form, encoded, exact = Form.of(problem), problem.encoded, exact_objective(problem)
    if exact is not None:
        return float(exact.cost(heap))
    errors = float(error_cost(problem)[heap.label[heap.reach(encoded.X)] != encoded.y].sum())
    return errors + sum(form.cost(heap, t) for t in np.flatnonzero(heap.split >= 0).tolist())


def charge(problem: Problem) -> Charge | None:
    """Return no cost in addition to errors for hard margins without a norm; otherwise None, because margins and norms
    have no unit."""
    form = Form.of(problem)
    return None if form.soft or form.a2 else Charge(Fraction(0), lambda heap: 0)


def branch_penalty(problem: Problem) -> float:
    """Return 0, because branch nodes have no penalty of their own."""
    return 0.0


def subjects(params) -> tuple[Subject, ...]:
    return (Subject.LEAF_ROWS,)
