"""Words that a stranger stumbled over: the name of a decoded tree, a proof without targets, intervals of means."""

import pytest

from tests.command_line import odtc


@pytest.fixture
def alike(tmp_path):
    """Rows of which two are alike and of two classes, so that no tree is right on all."""
    (tmp_path / "alike.csv").write_text("x,y\n" + "1,a\n1,a\n1,b\n2,b\n" * 3)
    return tmp_path


def test_a_stem_for_decode_is_that_of_the_tree(alike):
    assert (
        odtc(
            "fit", "alike.csv", "--depth", "1", "--model", "flowoct", "--solver", "highs", "-o", "m", folder=alike
        ).code
        == 0
    )
    for named, written in (("again", "again.tree.json"), ("other.json", "other.json")):
        assert odtc("decode", "m.sol", "-o", named, folder=alike).code == 0
        assert (alike / written).is_file() and not (alike / "again").exists()


def test_a_proof_without_targets_says_what_it_rests_on(alike):
    said = odtc("certify", "alike.csv", "--depth", "2", folder=alike)
    assert said.code == 0 and "0 targets" not in said.out
    assert "no targets, as rows alike in every test cost as much" in said.out


def test_equal_numbers_have_no_interval_of_their_mean(tmp_path):
    (tmp_path / "n.csv").write_text("x,y\n1,10.4\n1,10.4\n2,3\n2,4\n2,5\n")
    said = odtc("fit", "n.csv", "--task", "regression", "--depth", "1", "-o", "n", folder=tmp_path)
    assert said.code == 0
    shown = odtc("show", "n.tree.json", folder=tmp_path).out
    assert "10.4 to 10.4" not in shown and "sd 0" in shown and "sd 1, mean 1.51586 to 6.48414 (95 %)" in shown


def test_figures_of_thousands_have_no_exponent(tmp_path):
    rows = [f"{at % 2},{20000 + 1.5 * (at % 4) * 1e4}" for at in range(40)]
    (tmp_path / "sums.csv").write_text("\n".join(["x,y", *rows]) + "\n")
    said = odtc("fit", "sums.csv", "--task", "regression", "--depth", "1", "-o", "n", folder=tmp_path)
    assert said.code == 0
    shown = odtc("show", "n.tree.json", folder=tmp_path).out
    assert "sd 15389.7, mean 27797.4 to 42202.6 (95 %)" in shown and "e+0" not in shown  # 20,000 and 50,000, ten each
