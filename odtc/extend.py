"""All that authors of plug-ins import, in one public place: `from odtc.extend import Problem, ModelBuilder, parameter`.

The protocol of each type of plug-in states what a plug-in defines: Formulation, ConstraintType, CutFamily, Encoding,
Reader, Exporter, Heuristic, ModelFormat, PointFormat, Selection, Solver, Task. Other modules of odtc may move, but the
names here stay: before a name is removed, it warns for a release. docs/extending.md has an example of each type.
"""

# The public names by the module that defines them. A module is loaded when one of its names is first used, so that an
# encoding does not import solvers.
_NAMES = {
    # protocols of plug-ins, one for each ability, and the names that they use
    "odtc.problem.formulation": (
        "Formulation Compiled Learner Iterative Pricing Estimates NearOptimal Ranking Certifies error_cost"
    ),
    "odtc.problem.constraints.kind": (
        "Subject Knows Constraint OnPredictions OnPlaces OnGroups OnLeaves Repairs ConstraintType"
    ),
    "odtc.solvers.protocols": "Solver ProgramSolver PackageSolver Dialect Incumbent Job Log Outcome",
    "odtc.data.encoding": "Encoding Encoded encode",
    "odtc.data.cells.data_files": "Reader",
    "odtc.trees.exporting": "Exporter",
    "odtc.heuristics.heuristic": "Heuristic grow",
    "odtc.fileformats.model_files": "ModelFormat read_model write_model",
    "odtc.fileformats.solution_files": "PointFormat ReadPoints WrittenPoints RawPoint read_point write_point",
    "odtc.data.task": "Task",
    "odtc.workflow.row_selection.selection": "Selection Cluster KeptRows",
    # errors: one sentence each, exit code 1
    "odtc.errors": "OdtcError ChoiceError DataError ModelError OutputError SolutionError SolverError TreeError",
    # data
    "odtc.data.dataset": "BOOLEAN CATEGORICAL NUMERIC Dataset Feature",
    "odtc.data.binary_splits.column_splits": "BINS level_splits",
    "odtc.data.splits": "Missing Oblique Split Subset Term Threshold",
    # trees
    "odtc.trees.heap_tree": "Beyond CompleteTree HeapTree blank_arrays settle",
    "odtc.trees.tree": "Branch Leaf Tree",
    # models
    "odtc.model.blocks": "Axis Block Cells NamedBlock",
    "odtc.model.builder": "ModelBuilder",
    "odtc.model.milp": "Model",
    "odtc.model.points": "name_list",
    "odtc.model.solution": "Options Round Solution Termination",
    # problems and formulations
    "odtc.problem.problem": "Problem",
    "odtc.problem.parameters": "parameter",
    "odtc.problem.roles": "Role columns fresh_name node_axis nodes",
    "odtc.problem.expressions": "BRANCHING Expression Need Part SPLITTING Statement needed split_variables stated",
    "odtc.problem.branch_penalty": "branch_penalty objective",
    "odtc.problem.estimates": "Estimate Sizes",
    # constraints and cuts
    "odtc.problem.constraints.by_definition": "Reference",
    "odtc.problem.constraints.constraint": "built count_bound least_missed",
    "odtc.problem.constraints.on_predictions": "predicted",
    "odtc.problem.constraints.rates": "klass share",
    "odtc.problem.cuts.cut": "CutFamily AN_OPTIMUM EVERY_TREE CutRows",
    # solvers
    "odtc.solvers.executables": "Program",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = sorted(_HOMES)  # noqa: PLE0605


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"module 'odtc.extend' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__():
    return __all__
