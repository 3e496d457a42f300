"""odtc, the compiler for optimal decision trees.

    model = odtc.build("data.csv", "flowoct", depth=2)     # model.A is a scipy.sparse array
    solution = odtc.solve(model, time_limit=60)
    tree = odtc.decode(model, solution).tree
    fitted = odtc.fit("data.csv", "flowoct", depth=2)      # all of it, checked

The command line has the same words: `odtc --help`.
"""

__version__ = "0.1.0"

# Loaded when first used: `import odtc` (and so `odtc --help`) stays fast.
_HOMES = {
    "read": "odtc.data.reading",
    "inspect": "odtc.data.inspection",
    "build": "odtc.workflow.pipeline",
    "solve": "odtc.workflow.solving",
    "decode": "odtc.workflow.pipeline",
    "fit": "odtc.workflow.pipeline",
    "plan": "odtc.workflow.pipeline",
    "start": "odtc.workflow.compiling",
    "near_optimal": "odtc.workflow.pipeline",
    "frontier": "odtc.workflow.pipeline",
    "certify": "odtc.workflow.pipeline",
    "estimate": "odtc.evaluation.size_table",
    "read_tree": "odtc.trees.tree",
    "import_tree": "odtc.trees.importing",
    "write_model": "odtc.fileformats.model_files",
    "write_build": "odtc.workflow.files_of_models",
    "render_tree": "odtc.trees.rendering",
    "export": "odtc.trees.exporting",
    "plot_tree": "odtc.trees.drawing",
    "export_text": "odtc.trees.drawing",
    "render_report": "odtc.evaluation.html_report",
    "OptimalTreeClassifier": "odtc.estimators.classifier",
    "OptimalTreeRegressor": "odtc.estimators.regressor",
    "OptimalSurvivalTree": "odtc.estimators.survival",
    "OptimalPolicyTree": "odtc.estimators.policy",
    "Dataset": "odtc.data.dataset",
    "Model": "odtc.model.milp",
    "Solution": "odtc.model.solution",
    "Tree": "odtc.trees.tree",
    "OdtcError": "odtc.errors",
    "NoSolutionError": "odtc.errors",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"module 'odtc' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__():
    return __all__
