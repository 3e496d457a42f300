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
    "read": "odtc.reader",
    "build": "odtc.pipeline",
    "solve": "odtc.pipeline",
    "decode": "odtc.pipeline",
    "fit": "odtc.pipeline",
    "start": "odtc.pipeline",
    "read_tree": "odtc.tree",
    "import_tree": "odtc.importer",
    "write_model": "odtc.format",
    "render_tree": "odtc.render",
    "export": "odtc.exporter",
    "plot_tree": "odtc.drawing",
    "export_text": "odtc.drawing",
    "OptimalTreeClassifier": "odtc.estimator",
    "Dataset": "odtc.dataset",
    "Model": "odtc.model",
    "Solution": "odtc.solution",
    "Tree": "odtc.tree",
    "OdtcError": "odtc.errors",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"module 'odtc' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__():
    return __all__
