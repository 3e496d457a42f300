"""Free MPS, aligned, with the model's own names (docs/reference/file-formats.md)."""

from odtc.base.byte_stream import ByteStream
from odtc.fileformats import mps_reader, mps_writer
from odtc.fileformats.model_files import head_comments, name_table, names_by_part
from odtc.model.milp import Model

NAME = "mps"
SUFFIX = ".mps"
SUMMARY = "aligned free MPS, the portable subset, names as in the paper"


def write(model: Model, stream: ByteStream, cuts: bool = False) -> None:
    width = max((block.width for block in model.rows), default=1)
    # FREE on the NAME card: without it CBC 2.10 and SYMPHONY take short lines for the fixed form.
    mps_writer.write(
        model,
        stream,
        (name_table(model.rows, wide=mps_writer.cell_width(max(width, len("obj")))), width),
        names_by_part(model.columns),
        f"NAME          {model.name}  FREE\n" + head_comments(model, "*"),
        cuts,
    )


def read(data: bytes, name: str) -> Model:
    return mps_reader.read(data, name)
