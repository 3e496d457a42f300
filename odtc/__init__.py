"""odtc, the compiler for optimal decision trees.

    model = odtc.build("data.csv", "flowoct", depth=2)     # model.A is a scipy.sparse array
    solution = odtc.solve(model, time_limit=60)
    tree = odtc.decode(model, solution).tree
    fitted = odtc.fit("data.csv", "flowoct", depth=2)      # all of it, checked

The command line has the same words: `odtc --help`.
"""

__version__ = "0.1.0"

# The public names by the module that defines them, loaded when first used: `import odtc` (and so `odtc --help`) stays
# fast.
_NAMES = {
    "odtc.data.reading": "read",
    "odtc.data.inspection": "inspect",
    "odtc.workflow.pipeline": "build decode fit plan near_optimal frontier certify",
    "odtc.workflow.solving": "solve",
    "odtc.workflow.compiling": "start",
    "odtc.evaluation.size_table": "estimate",
    "odtc.trees.tree": "read_tree Tree",
    "odtc.trees.importing": "import_tree",
    "odtc.fileformats.model_files": "write_model",
    "odtc.workflow.files_of_models": "write_build",
    "odtc.trees.rendering": "render_tree",
    "odtc.trees.exporting": "export",
    "odtc.trees.drawing": "plot_tree export_text",
    "odtc.evaluation.html_report": "render_report",
    "odtc.estimators.classifier": "OptimalTreeClassifier",
    "odtc.estimators.regressor": "OptimalTreeRegressor",
    "odtc.estimators.survival": "OptimalSurvivalTree",
    "odtc.estimators.policy": "OptimalPolicyTree",
    "odtc.data.dataset": "Dataset",
    "odtc.model.milp": "Model",
    "odtc.model.solution": "Solution",
    "odtc.errors": "OdtcError NoSolutionError",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"module 'odtc' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__():
    return __all__
