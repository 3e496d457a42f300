"""A model file as HiGHS reads it, apart from what odtc hands to a solver in its own process."""

import tempfile
from pathlib import Path

import highspy

from odtc.fileformats.model_files import write_model


def opened(path, **options) -> highspy.Highs:
    """HiGHS, silent and on one thread, with the model of this file and these of its options."""
    highs = highspy.Highs()
    highs.silent()
    for name, value in ({"threads": 1} | options).items():
        highs.setOptionValue(name, value)
    highs.readModel(str(path))
    return highs


def through_file(model, **options) -> highspy.Highs:
    """The same of a Model, by way of an MPS file."""
    with tempfile.TemporaryDirectory() as folder:
        return opened(write_model(model, Path(folder, "model.mps"), "mps"), **options)
