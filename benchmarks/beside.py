"""The models of scikit-learn that studies of accuracy stand beside: what each is, and on which columns.

    majority    the class of most training rows
    cart        the greedy tree of the depth, nothing chosen
    cart_tuned  of the depth at most: impurity gini or entropy, leaves of 1, 5 or 10 rows, ccp_alpha 0, .001, .003, .01,
                .03, by 5 folds
    logistic    LogisticRegressionCV on standardised columns, 10 values of C, 5 folds

Levels become indicators; numbers with missing cells are left out.
"""

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from odtc.data.dataset import Dataset
from odtc.data.linear_terms import LinearTerms

BESIDE = ("majority", "cart", "cart_tuned", "logistic")


def beside(
    dataset: Dataset, inside: np.ndarray, outside: np.ndarray, depth: int, models: tuple[str, ...] = BESIDE
) -> dict[str, tuple[float, float]]:
    """{model: (training accuracy, test accuracy)} of those that are not ours, on rows by their places."""
    terms = LinearTerms.of(dataset.X, dataset.features)
    raw = terms.Z * terms.span + terms.low
    X, y, X_test, y_test = raw[inside], dataset.y[inside], raw[outside], dataset.y[outside]
    folds = int(min(5, max(2, np.bincount(y)[np.bincount(y) > 0].min())))
    grid = {
        "criterion": ["gini", "entropy"],
        "min_samples_leaf": [1, 5, 10],
        "ccp_alpha": [0, 0.001, 0.003, 0.01, 0.03],
    }
    made = {
        "majority": lambda: DummyClassifier(),
        "cart": lambda: DecisionTreeClassifier(max_depth=depth, random_state=0),
        "cart_tuned": lambda: GridSearchCV(DecisionTreeClassifier(max_depth=depth, random_state=0), grid, cv=folds),
        "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegressionCV(Cs=10, cv=folds, max_iter=1000)),
    }
    found = {}
    for name in models:
        model = made[name]().fit(X, y)
        found[name] = float(model.score(X, y)), float(model.score(X_test, y_test))
    return found
