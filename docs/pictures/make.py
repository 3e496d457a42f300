"""Draws the pictures of the documentation anew: `python docs/pictures/make.py`. The data are scikit-learn's."""

from pathlib import Path

from sklearn.datasets import load_breast_cancer

import odtc

HERE = Path(__file__).resolve().parent


def first_tree() -> odtc.OptimalTreeClassifier:
    """The tree of the first screen: 569 tumours, 30 measurements of each, depth 2."""
    table = load_breast_cancer(as_frame=True)
    return odtc.OptimalTreeClassifier(max_depth=2).fit(table.data, table.target_names[table.target])


if __name__ == "__main__":
    tree = first_tree()
    (HERE / "breast-cancer.svg").write_text(odtc.export(tree, "svg"), encoding="utf-8")
    print(f"breast-cancer.svg: {tree.status_}, objective {tree.objective_:g}, bound {tree.bound_:g}")
