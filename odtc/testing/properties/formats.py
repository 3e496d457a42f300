"""Property tests of a format of model files: a file read back is the same model, and has the same bytes each time."""

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from odtc.errors import ModelError
from odtc.fileformats.model_files import write_model
from odtc.problem.formulation import FORMULATIONS
from odtc.testing.problems import ALL_VARIANTS, note_problem, problems
from odtc.testing.properties.solvers import models, note_model
from odtc.testing.property import Property, Trial, refuses


def read_back(trial: Trial, plug_in, model) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write_model(model, Path(folder) / f"m{plug_in.SUFFIX}", plug_in.name)
        first = path.read_bytes()
        write_model(model, path, plug_in.name)
        trial.expect(path.read_bytes() == first, "expected the same bytes when it is written again, got others")
        again = plug_in.read(first, "m")
    for word in ("c", "col_lower", "col_upper", "row_lower", "row_upper", "integrality"):
        one, two = getattr(model, word), getattr(again, word)
        trial.expect(
            np.array_equal(one, two), f"expected {word} = {one.tolist()} back from the file, got {two.tolist()}"
        )
    trial.expect(model.offset == again.offset, f"expected the constant {model.offset!r}, got {again.offset!r}")
    same = model.A.shape == again.A.shape and (model.A != again.A).nnz == 0
    trial.expect(same, "expected the same coefficients back from the file, got others")


def any_model(plug_in, variant, trial: Trial) -> None:
    model = trial.draw(models())
    note_model(trial, model)
    read_back(trial, plug_in, model)


def of_formulations(plug_in, variant, trial: Trial) -> None:
    own = [variant for variant in ALL_VARIANTS if variant[0] in FORMULATIONS.module_names]
    problem = trial.draw(problems(trial.draw(st.sampled_from(own))))
    note_problem(trial, problem)
    read_back(trial, plug_in, problem.module.build(problem))


PROPERTIES = (
    Property("models", "A file of any small model, read back, is the model.", any_model, examples=25),
    Property(
        "formulations", "A file of any formulation's model, read back, is the model.", of_formulations, examples=15
    ),
    refuses(lambda plug_in, data: plug_in.read(data, "m"), ModelError, 40),
)
