"""`odtc inspect`: the table of columns as odtc reads it, before anything is fitted."""

from odtc.cli import console
from odtc.cli.options import READING, DataFile, Json, Part, takes
from odtc.workflow.specification import ModelSpec


@takes(Part(ModelSpec, only=("encoding", "depth")), READING)
def inspect(data: DataFile, spec, as_json: Json = False) -> None:
    """Check how odtc reads a data file: types, missing cells, suspicious columns."""
    from odtc.data.inspection import inspect_data

    with console.at_work("inspect", as_json):
        found = inspect_data(data, spec.reading, spec.model.encoding, spec.model.depth)
    if as_json:
        console.print_json(found.to_json())
        return
    print(found.to_text())
