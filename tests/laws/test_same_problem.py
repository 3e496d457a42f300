"""The optimum belongs to the problem, not to how its table is written: other units, orders, names, rows in halves."""

import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import odtc

SLOW = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": True}
TASKS = {
    "classification": {"target": "y"},
    "regression": {"target": "y"},
    "median": {"target": "y"},
    "policy": {"actions": ["stay", "go", "wait"]},
    "survival": {"time": "y", "event": "event"},
}
LIMITS = {
    "classification": (
        (),
        ("features <= 1",),
        ("recall[1] >= 0.7",),
        ("statistical_parity[group=side,positive=1] <= 0.2", "leaves <= 3"),
        ("leaf_precision >= 0.6", "branch_nodes <= 2"),
    ),
    "others": ((), ("leaves <= 3",), ("features <= 1",)),
}


@st.composite
def tables(draw, task):
    n = draw(st.integers(6, 12))

    def cells(of):
        return draw(st.lists(of, min_size=n, max_size=n))

    lost = st.none() if draw(st.booleans()) else st.nothing()
    table = {
        "a": cells(st.integers(-2, 3).map(float) | lost),
        "b": cells(st.integers(0, 2).map(float)),
        "c": cells(st.sampled_from("uvw") | lost),
        "side": cells(st.sampled_from("lr")),
        "weight": cells(st.sampled_from([1.0, 2.0, 5.0])),
    }
    table["b"][:2] = [0.0, 1.0]
    if task == "policy":
        for action in TASKS[task]["actions"]:
            table[action] = cells(st.integers(0, 6).map(float))
    else:
        table["y"] = cells(st.integers(0, 1 if task == "classification" else 6).map(float))
        table["y"][:2] = [0.0, 1.0]
        table["side"][:4] = ["l", "l", "r", "r"]
    if task == "survival":
        table["y"] = [time + 1 for time in table["y"]]
        table["event"] = [1, *cells(st.integers(0, 1))[1:]]
    if task == "classification":
        table["y"] = [f"{label:g}" for label in table["y"]]
    return pl.DataFrame(table)


def best(table: pl.DataFrame, task: str, limits, least: int, price: float):
    """How the search ends, with its objective and bound."""
    words = {} if task == "classification" else {"task": task}
    try:
        fitted = odtc.fit(
            table, model="dpflow", depth=2, missing="separate", weights="weight", auxiliary=["side"],
            constraints=[*limits, f"leaf_rows >= {least}"], params={"lambda": price}, **TASKS[task], **words
        )  # fmt: skip
    except odtc.NoSolutionError as why:
        return why.outcome.solution.termination
    assert fitted.facts["verified"]
    return fitted.facts["termination"], pytest.approx(fitted.facts["objective"]), pytest.approx(fitted.facts["bound"])


def written_anew(draw, table: pl.DataFrame, task: str, limits):
    """The same problem in another table: its name, table, limits, and how often each row stands there."""
    numbers = ["a", "b"]
    kind = draw(st.sampled_from(["units", "cubes", "mirror", "rows", "columns", "levels", "classes", "halves"]))
    if kind == "mirror" and table["a"].null_count():
        kind = "units"  # a missing number goes right, so that left and right are not alike
    match kind:
        case "units":
            table = table.with_columns(pl.col(numbers) * draw(st.sampled_from([0.125, 4, 2.0**40])) + 32)
        case "cubes":
            table = table.with_columns(pl.col(numbers) ** 3)
        case "mirror":
            table = table.with_columns(-pl.col(numbers))
        case "rows":
            table = table[draw(st.permutations(range(table.height)))]
        case "columns":
            table = table.select(draw(st.permutations(table.columns)))
        case "levels":
            table = table.with_columns(pl.col("c").replace({"u": "z z", "v": "Ü", "w": "<="}))
        case "classes" if task == "classification":
            table = table.with_columns(pl.col("y").replace({"0": "up", "1": "down"}))
            limits = tuple(text.replace("[1]", "[down]").replace("positive=1", "positive=down") for text in limits)
        case "halves":
            halved = table.with_columns(pl.col("weight") / 2)
            return kind, pl.concat([halved, halved]), limits, 2
    return kind, table, limits, 1


@pytest.mark.parametrize("task", TASKS)
@given(data=st.data())
@settings(max_examples=40, **SLOW)
def test_the_optimum_is_that_of_the_problem_however_its_table_is_written(task, data):
    table = data.draw(tables(task))
    limits = data.draw(st.sampled_from(LIMITS.get(task, LIMITS["others"])))
    least, price = data.draw(st.integers(1, 3)), data.draw(st.sampled_from([0, 0.25]))
    try:
        expected = best(table, task, limits, least, price)
    except odtc.OdtcError:  # nothing to learn: one class, one number, actions that cost alike
        assume(False)
    kind, other, renamed, times = written_anew(data.draw, table, task, limits)
    assert best(other, task, renamed, times * least, price) == expected, kind
