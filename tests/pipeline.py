"""The steps of a run by their names, as tests and benchmarks call them one by one."""

from odtc.problem.formulation import loop_of, searches
from odtc.workflow.compiling import compile_model, prepare, pricing, start
from odtc.workflow.decoding import finish, learn
from odtc.workflow.messages import no_solution_text
from odtc.workflow.pipeline import build, decode, fit, labelled
from odtc.workflow.posing import pose, pose_run
from odtc.workflow.searching import searched
from odtc.workflow.solving import relaxations, solve, solve_or_loop
from odtc.workflow.specification import RunSpec, SolvingSpec

__all__ = [
    "RunSpec",
    "SolvingSpec",
    "build",
    "compile_model",
    "decode",
    "finish",
    "fit",
    "labelled",
    "learn",
    "loop_of",
    "no_solution_text",
    "pose",
    "pose_run",
    "prepare",
    "pricing",
    "relaxations",
    "searched",
    "searches",
    "solve",
    "solve_or_loop",
    "start",
]
