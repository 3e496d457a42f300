"""The cells of the net: command lines over all tasks, constraints, encodings, formulations and solvers.

A cell is `NAME: COMMAND TABLE OPTION …`, in the option names of 3a0f6ef4 (`benchmarks.net.names` has later ones).
"""

import shlex
from dataclasses import dataclass

UNUSED = {
    "y": "--target y --aside g --ignore w,t,p,q,r,time,event",
    "weighted": "--target y --weights w --aside g --ignore t,p,q,r,time,event",
    "t": "--target t --task regression --ignore y,g,w,p,q,r,time,event",
    "tw": "--target t --task regression --weights w --ignore y,g,p,q,r,time,event",
    "m": "--target t --task median --ignore y,g,w,p,q,r,time,event",
    "policy": "--task policy --actions p,q,r --ignore y,g,w,t,time,event",
    "survival": "--task survival --time time --event event --ignore y,g,w,t,p,q,r",
}
ON_TREES = (
    "leaf_rows >= 6", "branch_nodes <= 2", "leaves <= 3", "features <= 1", "tests <= 2", "forbid_root[x0]",
    "require_root[c0]", "not_below[x0,x1]", "deepest[x0] <= 0", "shallowest[x0] >= 1", "never_together[x0,x1]",
    "together[x0,x1]",
)  # fmt: skip
ON_CLASSES = (
    "accuracy >= 0.6", "recall[k] >= 0.9", "precision[k] >= 0.9", "false_positive_rate[k] <= 0.05",
    "false_negative_rate[k] <= 0.1", "statistical_parity[group=g,positive=k] <= 0.05",
    "equal_opportunity[group=g,positive=k] <= 0.05", "predictive_equality[group=g,positive=k] <= 0.05",
    "equalised_odds[group=g,positive=k] <= 0.1", "group_accuracy[group=g] >= 0.7", "balanced_accuracy >= 0.7",
    "f1[k] >= 0.8", "cost <= 12", "leaf_class_rows[k] >= 8", "leaf_precision >= 0.7", "class_leaves[k] <= 1",
    "monotone[x0,positive=k]", "monotone_everywhere[x0,positive=k]",
)  # fmt: skip
NOT_LINEAR = ("shallowest", "together", "monotone_everywhere")  # which no model has
REFUSED = (
    ("binoct", "leaf_rows >= 5"),
    ("bendersoct", "leaf_rows >= 5"),
    ("bendersoct", "equalised_odds[group=g,positive=k] <= 0.2"),
)
OF_LEAVES = ("leaf_class_rows", "leaf_precision", "class_leaves")  # which dpflow's program has not
NOT_LINEAR = ("shallowest", "together", "monotone_everywhere")  # which no model has
OF_LEAVES = ("leaf_class_rows", "leaf_precision", "class_leaves")  # which dpflow's program has not
NOT_LINEAR = ("shallowest", "together", "monotone_everywhere")  # which no model has
OF_LEAVES = ("leaf_class_rows", "leaf_precision", "class_leaves")  # which dpflow's program has not
TOGETHER = (
    ("recall[k] >= 0.9", "precision[k] >= 0.8"), ("leaves <= 3", "recall[l] >= 0.85"),
    ("features <= 2", "leaf_rows >= 5"), ("statistical_parity[group=g,positive=k] <= 0.1", "branch_nodes <= 2"),
    ("tests <= 2", "forbid_root[x1]"), ("recall[k] >= 0.99", "recall[l] >= 0.99"),
    ("accuracy >= 0.99", "leaves <= 2"), ("monotone[x0,positive=k]", "leaf_precision >= 0.6"),
    ("equalised_odds[group=g,positive=k] <= 0.2", "f1[k] >= 0.7"),
)  # fmt: skip
# Formulations, each in its variants; the last ones at depth 1, as hyperplanes take long.
VARIANTS = (
    "flowoct", "flowoct -p literal=true", "flowoct -p bottom=flow", "flowoct -p rows=all", "flowoct -p lambda=0.1",
    "flowoct -p sums=tests", "bendersoct", "bendersoct -p cuts=path", "bendersoct -p bottom=flow", "oct",
    "oct -p alpha=0.05", "oct -p n_min=5", "oct -p binary=true", "binoct", "fair", "dpflow -p tail=0",
    "dpflow -p tail=1", "dpflow -p tail=2", "dpflow -p fold=false", "dpflow -p intervals=true",
    "dpflow -p proof=true", "dpflow -p lambda=0.1", "cg", "cg -p splits=sampled", "cg -p exact=true",
    "cg -p reward=0.5", "cg -p n_min=4", "cart", "cart_tuned",
)  # fmt: skip
OBLIQUE = (
    "svm1_odt", "svm1_odt --cuts class_sizes,one_per_class", "oct_h", "oblique_search",
)  # fmt: skip
SOLVERS = (
    "highs", "highs-cli", "cbc", "scip", "glpk", "lp_solve", "symphony", "ortools", "gurobi", "cplex", "xpress",
    "copt",
)  # fmt: skip
CUTS = (
    "flowoct -p bottom=flow --cuts paper4", "flowoct --cuts equivalent_points", "flowoct --cuts subtree_value",
    "flowoct --cuts no_feature_reuse", "flowoct --cuts sibling_labels", "flowoct --cuts commutation",
    "flowoct --cuts all",
)  # fmt: skip
OPTIONS = (
    "--class-weight balanced", "--class-weight k=3,l=1", "--cost k:l=5,l:k=1", "--start none", "--start local_search",
    "--start optimal", "--gap 0.1", "--pool 4", "--within 2", "--within 10%", "--pool 3 --within 3", "--certificate",
    "--price --constraint 'recall[k] >= 0.9'", "--hold-out 0.25", "--select balanced", "--select convex_hull",
    "--select iterative", "--confidence 0.9 --constraint 'recall[k] >= 0.7'", "--no-simplify", "--min-leaf-rows 5",
    "--max-branch-nodes 2", "--max-features 2", "--ordered c0", "--categorical x0", "--encoding oblique:pool=10",
    "--model flowoct -p robust=0.3", "--model auto --format mps", "--model flowoct --format lp --solver highs",
    "--model dpflow --solver highs --within 1",
)  # fmt: skip
ENCODINGS = ("auto", "auto:bins=2", "onehot", "sampled", "oblique:pool=10")
FRONTIERS = (
    "--vary 'recall[k] >= 0.5:1:0.1'", "--vary 'leaves <= 1:4'", "--vary 'leaf_rows >= 2:10:4'",
    "--vary 'statistical_parity[group=g,positive=k] <= 0:0.2:0.1'", "--vary 'features <= 1:3'",
    "--vary 'cost <= 4:12:4'",
)  # fmt: skip
# Numbers at the ends of their range: (table, options).
EXTREMES = (
    ("bigcost-1", "--target y --cost fraud:ok=1e14,ok:fraud=1 --depth 1"),
    ("bigcost-1", "--target y --cost fraud:ok=1e14,ok:fraud=1 --depth 2"),
    ("bigcost-2", "--target y --cost fraud:ok=1e9,ok:fraud=1 --depth 2"),
    ("bigcost-2", "--target y --cost fraud:ok=1e-9,ok:fraud=1 --depth 2"),
    ("bigcost-2", "--target y --class-weight fraud=1e12,ok=1 --depth 2"),
    ("mixedweights-1", "--target y --weights w --depth 2"),
    ("mixedweights-1", "--target y --weights w --depth 2 --model flowoct --solver highs"),
    ("mixedweights-2", "--target y --weights w --depth 2 --model dpflow --solver highs"),
    ("mixedweights-2", "--target y --weights w --depth 2 --model oct --solver highs"),
    ("mixedweights-3", "--target y --weights w --depth 2 --constraint 'recall[p] >= 0.9'"),
    ("tinygain-1", "--target y --depth 2 --model dpflow --solver highs -p lambda=1e-7"),
    ("tinygain-1", "--target y --depth 2 --model dpflow -p lambda=1e-7"),
    ("tinygain-1", "--target y --depth 2 --model flowoct -p lambda=1e-7"),
    ("tinygain-2", "--target y --depth 2 --model dpflow --solver cbc -p lambda=1e-8"),
    ("tinygain-2", "--target y --depth 2 --model oct -p alpha=1e-8"),
    ("offset-1", "--target y --ignore w,t --depth 2"),
    ("offset-1", "--target t --ignore w,y --task regression --depth 2"),
    ("offset-1", "--target t --weights w --ignore y --task regression --depth 2"),
    ("offset-2", "--target t --ignore w,y --task median --depth 2"),
    ("offset-2", "--target t --ignore w,y --task regression --depth 2 --solver highs --model dpflow"),
    ("digits17-1", "--target y --weights w --ignore t --depth 2"),
    ("digits17-1", "--target t --weights w --ignore y --task regression --depth 2"),
    ("digits17-2", "--target t --weights w --ignore y --task median --depth 1"),
    ("digits17-2", "--target y --weights w --ignore t --depth 1 --constraint 'recall[p] >= 0.0000005'"),
    ("digits17-3", "--target y --weights w --ignore t --depth 2 --constraint 'precision[p] >= 0.50000001'"),
    ("outlier-1", "--target t --task regression --depth 2"),
    ("outlier-2", "--target t --task median --depth 2"),
    ("tinytargets-1", "--target t --weights w --ignore y --task regression --depth 2"),
    ("tinytargets-1", "--target t --weights w --ignore y --task regression --depth 3"),
    ("tinytargets-2", "--target t --ignore w,y --task median --depth 2"),
    ("exactbounds-1", "--target y --weights w --depth 1 --constraint 'cost <= 9999999999'"),
    ("exactbounds-1", "--target y --weights w --depth 2 --constraint 'cost <= 10000000000'"),
    ("exactbounds-2", "--target y --weights w --depth 2 --constraint 'recall[p] >= 0.9999999999'"),
)
# Larger tables, most of them by the search over all thresholds.
LARGER = (
    ("iris", "--depth 1"), ("iris", "--depth 3"), ("iris", "--depth 4"), ("wine", "--depth 2"), ("wine", "--depth 3"),
    ("breast_cancer", "--depth 2"), ("breast_cancer", "--depth 3"),
    ("breast_cancer", "--depth 2 --encoding auto:bins=8"),
    ("breast_cancer", "--depth 2 --constraint 'recall[malignant] >= 0.95'"),
    ("breast_cancer", "--depth 1 --constraint 'precision[benign] >= 0.99'"),
    ("breast_cancer", "--depth 2 --min-leaf-rows 20"), ("breast_cancer", "--depth 2 -p lambda=0.5 --model dpflow"),
    ("breast_cancer", "--depth 2 --time-limit 60"), ("breast_cancer", "--depth 3 --time-limit 60"),
    ("digits", "--depth 2"), ("digits", "--depth 3 --encoding auto:bins=2"),
    ("diabetes", "--depth 2 --task regression"), ("diabetes", "--depth 3 --task regression"),
    ("diabetes", "--depth 2 --task median"), ("diabetes", "--depth 3 --task regression --min-leaf-rows 10"),
    ("iris", "--depth 2 --model binoct --encoding auto:bins=3"), ("iris", "--depth 1 --model fair"),
    ("iris", "--depth 2 --model oct --encoding auto:bins=3"), ("iris", "--depth 2 --within 5"),
    ("iris", "--depth 2 --pool 20"), ("wine", "--depth 2 --constraint 'leaves <= 3'"),
    ("wine", "--depth 2 --constraint 'features <= 1'"), ("wine", "--depth 2 --time-limit 60"),
    ("iris", "--depth 3 --certificate"),
)  # fmt: skip
SIZED = (
    ("many-1", "--depth 2"), ("many-1", "--depth 3"), ("many-1", "--depth 2 --constraint 'recall[k] >= 0.8'"),
    ("many-1", "--depth 2 --min-leaf-rows 30"), ("tall-1", "--depth 2"), ("tall-1", "--depth 3"),
    ("tall-1", "--depth 4"), ("tall-1", "--depth 3 --time-limit 60"),
    ("tall-1", "--depth 2 --constraint 'precision[k] >= 0.85'"), ("wide-1", "--depth 2"), ("wide-1", "--depth 3"),
    ("names-1", "--depth 2"), ("names-1", "--depth 3"), ("names-1", "--depth 4"), ("numbers-1", "--depth 1"),
    ("numbers-1", "--depth 2"), ("numbers-1", "--depth 3"), ("small-1", "--depth 3"), ("small-1", "--depth 4"),
    ("three-1", "--depth 3"), ("three-2", "--depth 1"),
)  # fmt: skip
# Tables of $ODTC_DATA.
OUTSIDE = (
    ("monks-1", "--depth 2"), ("monks-1", "--depth 3"), ("monks-2", "--depth 1 --model flowoct --encoding onehot"),
    ("monks-3", "--depth 2 --model dpflow --solver highs"), ("haberman", "--depth 2"), ("balance-scale", "--depth 2"),
    ("balance-scale", "--depth 3"), ("tic-tac-toe", "--depth 3"), ("car-evaluation", "--depth 3"),
    ("kr-vs-kp", "--depth 3"), ("house-votes-84", "--depth 2"), ("house-votes-84", "--depth 2 --missing separate"),
    ("hepatitis", "--depth 2"), ("pima-diabetes", "--depth 2"), ("sonar", "--depth 2"), ("ionosphere", "--depth 2"),
    ("parkinsons", "--depth 2"), ("german-credit", "--depth 2"), ("magic04", "--depth 2"),
    ("seismic-bumps", "--depth 2"), ("haberman", "--depth 2 --constraint 'balanced_accuracy >= 0.6'"),
    ("compas_all", "--depth 2"), ("soybean-small", "--depth 2 --model binoct"),
    ("hayes-roth", "--depth 1 --model oct"),
)  # fmt: skip
# Tables and depths at a limit of CPU_LIMIT seconds.
CPU_LIMIT = 5
AT_LIMIT = (
    ("planted-2900x10x3", 5), ("whole-5900x14x2", 5), ("mixed-2400x11x2", 4), ("factor-3900x22x2", 5),
    ("rare-1900x12x2", 6), ("clusters-1900x20x3", 5), ("linear-1100x15x2", 5), ("planted-9000x12x4", 6),
    ("planted-1400x20x2", 5), ("whole-9000x10x4", 5), ("mixed-4900x9x3", 6), ("factor-1900x30x3", 6),
    ("clusters-4900x15x2", 5), ("linear-2400x25x3", 5), ("planted-1100x9x2", 6), ("whole-1900x8x2", 5),
    ("mixed-1700x14x2", 5), ("rare-2900x9x2", 5), ("clusters-1400x12x2", 6), ("parity-1900x8x3", 5),
)  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """One command line.

    Attributes
    ----------
    name : str
    command : str, of odtc
    table : str, see benchmarks.net.tables
    options : tuple of str
    quick : bool, whether the reduced form has it
    """

    name: str
    command: str
    table: str
    options: tuple[str, ...]
    quick: bool = False

    def words(self, path) -> list[str]:
        """The command line, with the file of its table."""
        return [self.command, str(path), *self.options]


def cells() -> list[Cell]:
    """All cells, each with a name of its own."""
    found: dict[str, Cell] = {}

    def add(group: str, command: str, table: str, *options: str) -> None:
        text = " ".join(options)
        shown = " ".join(option for option in options if option not in UNUSED.values())
        name = f"{group}: {command} {table} {shown}".strip()
        if name in found:
            raise ValueError(f"two cells are called {name!r}")
        found[name] = Cell(
            name, command, table, tuple(shlex.split(text)), len(found) % QUICK == 0 and group not in SLOW
        )

    _constrained(add)
    _formulations(add)
    _tasks(add)
    for options in OPTIONS:
        add("option", "fit", "small-5", UNUSED["y"], options)
    for options in FRONTIERS:
        add("frontier", "frontier", "small-6", UNUSED["y"], options)
    add("frontier t", "frontier", "small-6", UNUSED["t"], "--vary 'leaves <= 1:4'")
    for depth in (1, 2, 3):
        add("study", "tune", "small-7", UNUSED["y"], f"--depths 1,{depth}" if depth > 1 else "--depths 1")
        add("certify", "certify", "small-7", UNUSED["y"], f"--depth {depth}")
        add("certify", "certify", "three-7", UNUSED["weighted"], f"--depth {depth}")
    for text in ("recall[k] >= 0.9", "leaf_rows >= 6", "leaves <= 3", "statistical_parity[group=g,positive=k] <= 0.05"):
        add("certify", "certify", "small-7", UNUSED["y"], f"--constraint '{text}'")
    for group, several in (("extreme", EXTREMES), ("bundled", LARGER), ("outside", OUTSIDE)):
        for table, options in several:
            add(group, "fit", f"data:{table}.csv" if group == "outside" else table, options)
    for table, options in SIZED:
        add("size", "fit", table, UNUSED["y"], options)
    return list(found.values())


QUICK = 5  # of the groups that are not slow, each fifth cell is part of the reduced form
SLOW = ("outside", "size", "bundled", "study", "frontier", "frontier t")


def _constrained(add) -> None:
    for text in (*ON_TREES, *ON_CLASSES):
        for table in ("small-1", "three-1"):
            add("constraint", "fit", table, UNUSED["y"], f"--constraint '{text}'")
        kind = text.partition("[")[0].partition(" ")[0]
        if kind not in NOT_LINEAR:
            add("model constraint", "fit", "small-2", UNUSED["y"], f"--model flowoct --constraint '{text}'")
        if text in ON_CLASSES and kind not in (*NOT_LINEAR, *OF_LEAVES):
            add(
                "program constraint",
                "fit",
                "small-3",
                UNUSED["y"],
                f"--model dpflow --solver highs --constraint '{text}'",
            )
    for texts in TOGETHER:
        add("constraints", "fit", "small-4", UNUSED["y"], *(f"--constraint '{text}'" for text in texts))
    for text in ("recall[k] >= 0.9", "leaves <= 3", "equalised_odds[group=g,positive=k] <= 0.2", "leaf_rows >= 5"):
        for model in ("oct", "binoct", "bendersoct", "fair"):
            if (model, text) not in REFUSED:
                add("model constraint", "fit", "small-2", UNUSED["y"], f"--model {model} --constraint '{text}'")


def _formulations(add) -> None:
    for place, variant in enumerate(VARIANTS):
        for table in ("small-3", "three-3")[: 1 + place % 2]:
            add("formulation", "fit", table, UNUSED["y"], f"--model {variant}")
    for variant in OBLIQUE:
        add("formulation", "fit", "tiny-1", UNUSED["y"], f"--depth 1 --model {variant}")
    for solver in SOLVERS:
        add("solver", "fit", "small-4", UNUSED["y"], f"--model flowoct --depth 1 --solver {solver}")
        add("solver", "fit", "three-4", UNUSED["y"], f"--model dpflow --depth 2 --solver {solver}")
    for variant in CUTS:
        add("cuts", "fit", "small-4", UNUSED["y"], f"--model {variant}")
    for encoding in ENCODINGS:
        for table in ("small-4", "three-4"):
            add("encoding", "fit", table, UNUSED["y"], f"--encoding {encoding}")
            add("encoding", "fit", table, UNUSED["y"], f"--model flowoct --encoding {encoding}")
    add("encoding", "fit", "numbers-4", UNUSED["y"], "--encoding thresholds")


def _tasks(add) -> None:
    for task in ("t", "tw", "m", "policy", "survival", "weighted"):
        for depth in (1, 2, 3):
            add(f"task {task}", "fit", "small-8", UNUSED[task], f"--depth {depth}")
        for text in ON_TREES[:: {"t": 1, "m": 2, "policy": 2, "survival": 2}.get(task, 12)]:
            add(f"task {task}", "fit", "small-9", UNUSED[task], f"--constraint '{text}'")
        add(f"task {task}", "fit", "small-8", UNUSED[task], "--model dpflow -p lambda=0.2")
        add(f"task {task}", "fit", "small-8", UNUSED[task], "--model dpflow --solver highs")
        add(f"task {task}", "fit", "small-8", UNUSED[task], "--pool 3")
        add(f"task {task}", "certify", "small-8", UNUSED[task], "--depth 2")
    for text in ("recall[k] >= 0.9", "f1[k] >= 0.8", "cost <= 30", "group_accuracy[group=g] >= 0.7"):
        add("task weighted", "fit", "small-9", UNUSED["weighted"], f"--constraint '{text}'")
