"""Claims of a run with a confidence about new rows, counted again from its rows to test on, if they are known."""

from dataclasses import replace
from pathlib import Path

from odtc.base.json_schema import FLAG, NUMBER, TEXT, WHOLE, SchemaError, read_object, validate
from odtc.base.value_class import value_class
from odtc.base.wording import option
from odtc.data.dataset import Dataset
from odtc.errors import OdtcError, TreeError
from odtc.problem.constraints.constraint import parse
from odtc.problem.problem import Problem
from odtc.trees.tree import Tree
from odtc.workflow.constrained.assurance import assurances

ENTRY = {
    "constraint": TEXT,
    "assured": FLAG,
    "figure": (NUMBER, None),
    "test": (NUMBER, None),
    "rows": (WHOLE, None),
    "rows_needed": (WHOLE, None),
    "why": (TEXT, None),
}
RECORD = {"confidence": NUMBER, "assumption": TEXT, "constraints": [ENTRY], "of_the_tree?": [TEXT], "searched": [TEXT]}


@value_class
class AssuredRecord:
    """The key `assured` of STEM.run.json: `entries` as in `Assured.to_json`; `again`, whether they were counted again,
    otherwise they are only claimed by the run; `note` is the reason why they were not."""

    confidence: float
    assumption: str
    entries: tuple[dict, ...]
    again: bool = False
    note: str = ""

    @property
    def holds(self) -> bool:
        return all(entry["assured"] for entry in self.entries)


def read_assured(path: Path) -> AssuredRecord | None:
    """Read the record in STEM.run.json; None if the run had no confidence, or the file cannot be read."""
    try:
        told = read_object(path, "record of a run", TreeError, named=False).get("assured")
        if told is None:
            return None
        validate(told, RECORD)
    except (OdtcError, SchemaError, OSError):
        return None
    return AssuredRecord(told["confidence"], told["assumption"], tuple(told["constraints"]))


def counted_again(record: AssuredRecord, problem: Problem, tree: Tree, labelled: Dataset | None) -> AssuredRecord:
    """Count the record again on these rows; return the record itself if there are none, or if it has other columns or
    classes.

    Parameters
    ----------
    record : AssuredRecord
    problem : Problem
    tree : Tree
    labelled : Dataset or None
        The rows to test on.
    """
    told = "so these figures are from the run itself"
    if labelled is None:
        return replace(
            record, note=f"The rows to test on are not known here, {told}; name their file with {option('test')}."
        )
    try:
        asked = tuple(parse(entry["constraint"], problem.encoded) for entry in record.entries)
        found = assurances(problem, tree, labelled, record.confidence, asked) if asked else []
    except OdtcError as reason:
        return replace(record, note=f"The rows could not be counted again, {told}: {reason}")
    return replace(record, entries=tuple(one.to_json() for one in found), again=True)
