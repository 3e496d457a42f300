"""Property tests of a format of model files: a file read back is the same model, and has the same bytes each time."""

from hypothesis import strategies as st

from odtc.errors import ModelError
from odtc.problem.formulation import FORMULATIONS
from odtc.testing.problems import ALL_VARIANTS, drawn_problem
from odtc.testing.properties.formulations import expect_read_back
from odtc.testing.properties.solvers import models, note_model
from odtc.testing.property import Property, Trial, refuses


def any_model(plug_in, variant, trial: Trial) -> None:
    model = trial.draw(models())
    note_model(trial, model)
    expect_read_back(trial, plug_in, model, lambda: model)


def of_formulations(plug_in, variant, trial: Trial) -> None:
    own = [variant for variant in ALL_VARIANTS if variant[0] in FORMULATIONS.module_names]
    problem = drawn_problem(trial, trial.draw(st.sampled_from(own)))
    model = problem.module.build(problem)
    expect_read_back(trial, plug_in, model, lambda: model)


PROPERTIES = (
    Property("models", "A file of any small model, read back, is the model.", any_model, examples=25),
    Property(
        "formulations", "A file of any formulation's model, read back, is the model.", of_formulations, examples=15
    ),
    refuses(lambda plug_in, data: plug_in.read(data, "m"), ModelError, 40),
)
