"""All that authors of plug-ins import, in one public place: `from odtc.extend import Problem, ModelBuilder, parameter`.

What a member of each kind defines is said by its protocol, which stands here, too: Formulation, Kind (of constraints),
CutFamily, Encoding, Reader, Exporter, Heuristic, ModelFormat, PointFormat, Selection, Solver. Other modules of odtc may
move; the names here stay, and one that must go warns for a release. docs/extending.md has an example of each.
"""

# Loaded when first used, so that an encoding does not import solvers.
_HOMES = {
    # protocols of members, one for each ability
    **dict.fromkeys(
        (
            "Formulation",
            "Compiled",
            "Learner",
            "Iterative",
            "Pricing",
            "Estimates",
            "NearOptimal",
            "Ranking",
            "Certifies",
        ),
        "odtc.problem.formulation",
    ),
    "Subject": "odtc.problem.constraints.kind",
    "Reference": "odtc.problem.constraints.by_definition",
    **dict.fromkeys(("klass", "share"), "odtc.problem.constraints.rates"),
    **dict.fromkeys(("Kind", "OnPredictions", "CountsSplits", "BarsPaths", "Repairs"), "odtc.problem.constraints.kind"),
    **dict.fromkeys(("Solver", "ProgramSolver", "PackageSolver"), "odtc.solvers.protocols"),
    "Encoding": "odtc.data.encoding",
    "Reader": "odtc.data.file_text.data_files",
    "Exporter": "odtc.trees.exporting",
    "Heuristic": "odtc.heuristics.heuristic",
    "ModelFormat": "odtc.fileformats.model_files",
    **dict.fromkeys(("PointFormat", "ReadPoints", "WrittenPoints"), "odtc.fileformats.solution_files"),
    "Task": "odtc.data.task",
    "Selection": "odtc.workflow.row_selection.selection",
    # errors: one sentence each, exit code 1
    **dict.fromkeys(
        (
            "OdtcError",
            "ChoiceError",
            "DataError",
            "ModelError",
            "OutputError",
            "SolutionError",
            "SolverError",
            "TreeError",
        ),
        "odtc.errors",
    ),
    # data
    **dict.fromkeys(("BOOLEAN", "CATEGORICAL", "NUMERIC", "Dataset", "Feature"), "odtc.data.dataset"),
    **dict.fromkeys(("Encoded", "encode"), "odtc.data.encoding"),
    **dict.fromkeys(("BINS", "level_splits"), "odtc.data.binary_splits.column_splits"),
    **dict.fromkeys(("Missing", "Oblique", "Split", "Subset", "Term", "Threshold"), "odtc.data.splits"),
    **dict.fromkeys(("Cluster", "KeptRows"), "odtc.workflow.row_selection.selection"),
    # trees
    **dict.fromkeys(("Beyond", "HeapTree", "blank_arrays", "settle"), "odtc.trees.heap_tree"),
    **dict.fromkeys(("Branch", "Leaf", "Tree"), "odtc.trees.tree"),
    "CompleteTree": "odtc.trees.complete_tree",
    "grow": "odtc.heuristics.heuristic",
    # models
    **dict.fromkeys(("Axis", "Block", "Cells", "NamedBlock"), "odtc.model.blocks"),
    "ModelBuilder": "odtc.model.builder",
    "Model": "odtc.model.milp",
    "name_list": "odtc.model.points",
    **dict.fromkeys(("Options", "Round", "Solution", "Termination"), "odtc.model.solution"),
    **dict.fromkeys(("read_model", "write_model"), "odtc.fileformats.model_files"),
    **dict.fromkeys(("RawPoint", "read_point", "write_point"), "odtc.fileformats.solution_files"),
    # problems and formulations
    **dict.fromkeys(("Problem", "error_cost"), "odtc.problem.problem"),
    "parameter": "odtc.problem.parameters",
    **dict.fromkeys(("Role", "columns", "fresh_name", "node_axis", "nodes"), "odtc.problem.roles"),
    **dict.fromkeys(("Expression", "Need", "Part", "Statement", "needed", "stated"), "odtc.problem.expressions"),
    **dict.fromkeys(("branch_penalty", "objective"), "odtc.problem.branch_penalty"),
    **dict.fromkeys(("Estimate", "Sizes"), "odtc.problem.estimates"),
    # constraints and cuts
    **dict.fromkeys(
        (
            "SPLITTING",
            "BRANCHING",
            "Constraint",
            "split_variables",
            "built",
            "cap_branch_nodes",
            "cap_distinct",
            "count_bound",
            "held",
            "least_missed",
            "with_at_most",
        ),
        "odtc.problem.constraints.constraint",
    ),
    **dict.fromkeys(("Knows", "predicted"), "odtc.problem.constraints.on_predictions"),
    **dict.fromkeys(("AN_OPTIMUM", "EVERY_TREE", "CutRows"), "odtc.problem.cuts.cut"),
    # solvers
    "Dialect": "odtc.solvers.capabilities",
    "Program": "odtc.solvers.executables",
    **dict.fromkeys(("Incumbent", "Job", "Log", "Outcome"), "odtc.solvers.messages"),
}

__all__ = sorted(_HOMES)  # noqa: PLE0605


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"module 'odtc.extend' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__():
    return __all__
