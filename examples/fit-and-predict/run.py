"""Fit and predict in Python: an estimator like any other, with the proof beside the tree.

python run.py
"""

import polars as pl
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

import odtc


def main() -> None:
    tumours = load_breast_cancer()
    X = pl.DataFrame(tumours.data, schema=list(tumours.feature_names))  # a frame of pandas does as well
    X, y = X[["mean radius", "mean texture", "mean concave points", "worst perimeter"]], tumours.target
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

    tree = odtc.OptimalTreeClassifier(max_depth=2, encoding="auto:bins=12").fit(X_train, y_train)
    print(odtc.export_text(tree))
    print(f"proved optimal: {tree.is_optimal_}; {tree.objective_:g} errors, no tree has fewer than {tree.bound_:g}")
    print("checks computed anew:", all(check.passed for check in tree.verify(X_train, y_train)))

    # Beside CART of the same depth, on rows that neither has seen.
    cart = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X_train, y_train)
    table = tree.compare({"CART": cart}, X_test, y_test)
    for name, accuracy, leaves in zip(table.names, table.accuracy, table.leaves):
        print(f"{name:<5}  {accuracy:.1%} of the test rows correct, {leaves} leaves")
    print(f"they agree on {table.agreement[0, 1]:.1%}")

    # Why a row is predicted what it is.
    why = tree.explain(X_test[:1])[0]
    print("; ".join(step.answer for step in why.steps), "->", why.prediction)

    # How many leaves are worth their price: the best tree for every ccp_alpha.
    path = tree.cost_complexity_pruning_path(X_train, y_train)
    for alpha, wrong, leaves in zip(path.ccp_alphas, path.impurities, path.n_leaves):
        print(f"from ccp_alpha {alpha:.4f} on: {leaves} leaves, {wrong:.1%} misclassified")


if __name__ == "__main__":
    main()
