"""A task of your own is one file: its trees equal those of exhaustive search."""

import json
import math

from tests.command_line import CHECKOUT, odtc, refused

PLUG_IN = CHECKOUT / "examples" / "my-task" / "poisson_rate.py"
ROWS = [(0, 1, 2), (1, 0, 0), (2, 1, 7), (3, 0, 1), (4, 1, 0), (5, 0, 5), (6, 1, 6), (7, 1, 9), (8, 0, 4), (9, 0, 0)]


def test_a_task_of_one_file_has_trees_that_no_other_tree_beats(tmp_path):
    (tmp_path / "claims.csv").write_text("x,z,claims\n" + "".join(f"{x},{z},{y}\n" for x, z, y in ROWS))
    words = "--task", "poisson_rate", "--depth", 1, "--plugin", PLUG_IN
    said = odtc("fit", "claims.csv", *words, "-o", "t", folder=tmp_path)
    assert said.code == 0 and "proved optimal" in said.out and "Poisson deviance" in said.out
    assert "not certified: certificates can be checked for the tasks" in said.out

    def cost(rows):
        mean = sum(y for _, _, y in rows) / len(rows)
        return -sum(y * math.log(mean) - mean for _, _, y in rows) if mean else 0.0

    parts = [[[row for row in ROWS if (row[0] <= at) == left] for left in (True, False)] for at in range(9)]
    parts.append([[row for row in ROWS if row[1] == z] for z in (0, 1)])
    least = min(parts, key=lambda sides: sum(map(cost, sides)))
    tree = json.loads((tmp_path / "t.tree.json").read_text())["root"]
    means = [sum(y for _, _, y in rows) / len(rows) for rows in least]
    found = [leaf["sums"][3] / leaf["sums"][1] for leaf in (tree["left"], tree["right"])]
    assert [round(mean, 9) for mean in found] == [round(mean, 9) for mean in means]
    again = odtc("verify", "t", "--plugin", PLUG_IN, folder=tmp_path)
    assert again.code == 0 and "all 6 checks passed" in again.out
    assert odtc("predict", "t.tree.json", "claims.csv", "--plugin", PLUG_IN, folder=tmp_path).out.count("\n") == 11


def test_what_a_task_of_another_package_lacks_is_told(tmp_path):
    (tmp_path / "claims.csv").write_text("x,z,claims\n" + "".join(f"{x},{z},{y}\n" for x, z, y in ROWS))
    words = "--task", "poisson_rate", "--plugin", PLUG_IN
    assert "regression, survival" in refused(odtc("certify", "claims.csv", *words, folder=tmp_path))
    assert "is a task" in refused(odtc("check", "poisson_rate", "--plugin", PLUG_IN, folder=tmp_path))
