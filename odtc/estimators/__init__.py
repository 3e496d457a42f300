"""The scikit-learn estimator. Imports workflow and all below it."""
