"""Optimal trees in scikit-learn: a pipeline, a grid, an explanation, and the tree as Python."""

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

import odtc

random = np.random.default_rng(7)
X = pd.DataFrame(
    {
        "age": random.integers(18, 70, 150).astype(float),
        "income": random.integers(10, 90, 150).astype(float),
        "region": random.choice(["north", "south", "west"], 150),
    }
)
y = np.where((X["age"] < 40) & (X["region"] != "north") | (X["income"] > 75), 1, 0) ^ (random.random(150) < 0.04)
X.loc[::25, "income"] = np.nan

tree = odtc.OptimalTreeClassifier(max_depth=2, encoding="auto:bins=8", verbose=1).fit(X, y)
print(tree.tree_)
print(tree.claim_, tree.is_optimal_, tree.bound_ == tree.objective_)
print(tree.explain(X.iloc[[3]]))
print(tree.compare({"cart": odtc.OptimalTreeClassifier(2, model="cart").fit(X, y)}, X, y))
assert "proved" in tree._repr_html_()
assert (tree.decision_path(X)[np.arange(150), tree.apply(X)]).all()

fill = make_column_transformer(
    (SimpleImputer(strategy="median"), ["age", "income"]), remainder="passthrough", verbose_feature_names_out=False
)
pipeline = make_pipeline(fill, odtc.OptimalTreeClassifier(2, encoding="auto:bins=8")).set_output(transform="pandas")
print(pipeline.fit(X, y)[-1].feature_names_in_)
print(cross_val_score(pipeline, X, y, cv=3) > 0.7)

grid = GridSearchCV(pipeline, {"optimaltreeclassifier__max_depth": [0, 1, 2]}, cv=3).fit(X, y)
print(grid.best_params_)

rising = odtc.OptimalTreeRegressor(2, monotonic_cst={"age": 1}, encoding="auto:bins=6")
rising.fit(X[["age", "income"]], X["age"] + random.normal(0, 5, 150))
print(rising.claim_, np.all(np.diff(rising.predict(pd.DataFrame({"age": np.arange(20.0, 70), "income": 50.0}))) >= 0))

with open("tree_code.py", "w", encoding="utf-8") as file:
    file.write(odtc.export(tree, "python"))
for wrong in ({"min_leaf_rows": 5}, {"max_deph": 3}):
    try:
        odtc.OptimalTreeClassifier(**wrong)
    except TypeError as error:
        print(str(error).partition(";")[0])
assert DecisionTreeClassifier(max_depth=2).fit(X[["age"]], y).score(X[["age"]], y) <= tree.score(X, y)
