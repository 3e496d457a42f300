"""The price of one more percent is that of a run with the tighter number."""

import pytest

import odtc
from odtc.errors import NoSolutionError
from odtc.workflow.constrained.prices import prices
from tests.command_line import MONKS
from tests.command_line import odtc as command

MONKS_1 = MONKS / "monks-1.csv"


@pytest.mark.parametrize(
    "constraints",
    [
        ("recall[1] >= 0.5", "leaf_rows >= 20"),
        ("false_positive_rate[1] <= 0.2", "features <= 1"),
        ("accuracy >= 0.72", "features <= 1"),
        ("features <= 1", "leaf_rows >= 5"),
    ],
)
def test_a_price_is_what_the_tighter_number_costs(constraints):
    words = {"encoding": "onehot", "constraints": constraints}
    fitted = odtc.fit(MONKS_1, "dpflow", 2, **words)
    paid = fitted.facts["objective"]
    found = prices(fitted.problem, fitted.decoded.heap, paid)
    assert len(found) == sum("." in text for text in constraints)
    for entry in found:
        tighter = (str(entry.constraint), constraints[1])
        try:
            alone = odtc.fit(MONKS_1, "dpflow", 2, encoding="onehot", constraints=tighter).facts["objective"]
            assert entry.ended == "optimal" and entry.price == pytest.approx(alone - paid)
        except NoSolutionError:
            assert entry.ended == "infeasible" and entry.price is None


def test_command_line(tmp_path):
    words = (
        "fit",
        MONKS_1,
        "--encoding",
        "onehot",
        "--constraint",
        "recall[1] >= 0.5",
        "-o",
        tmp_path / "m",
        "--price",
    )
    facts = command(*words, "--json").facts
    assert [entry["constraint"] for entry in facts["prices"]] == ["recall[1] >= 0.51"]
    assert "price     recall[1] >= 0.51 would cost" in command(*words).out
