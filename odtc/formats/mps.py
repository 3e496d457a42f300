"""Free MPS, aligned, with the model's own names (FORMATS §5)."""

from odtc import card_reader, cards
from odtc.format import name_table
from odtc.model import Model

NAME = "mps"
SUFFIX = ".mps"
SUMMARY = "aligned free MPS, the portable subset, names as in the paper"


def write(model: Model, stream, cuts: bool = False) -> None:
    names = name_table(model.columns)
    # FREE on the NAME card: without it CBC 2.10 and SYMPHONY take short lines for the fixed form.
    cards.write(model, stream, name_table(model.rows), lambda a, b: names[a:b], f"NAME          {model.name}  FREE\n", cuts)


def read(data: bytes, name: str) -> Model:
    return card_reader.read(data, name)
