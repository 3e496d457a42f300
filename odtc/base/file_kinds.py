"""Kinds of files by their names, and the commands that read them: for the message of a command that was given another
file."""

from os import PathLike

# The end of a name -> what such a file is, and what to do with it.
KINDS = {
    ".tree.json": "a tree, which `odtc show`, `predict`, `export`, `explain` and `report` read",
    ".odt.json": "a manifest; name the solution file that belongs to it",
    ".run.json": "the record of a run; name the solution file or the tree of the run",
    ".pool.json": "a list of trees, which `odtc show` reads",
    ".near-optimal.json": "the near-optimal trees, which `odtc show` reads",
    ".frontier.json": "the points of a frontier with their trees, which `odtc verify` checks",
    ".mps": "a model file, which `odtc solve` reads",
    ".lp": "a model file, which `odtc solve` reads",
    ".mst": "a start, which `odtc solve --start` reads",
    ".start.sol": "a start, which `odtc solve --start` reads",
    ".sol": "a solution, which `odtc decode` makes a tree",
    ".csv": "a table of data, which `odtc fit` and `odtc build` read",
    ".tsv": "a table of data, which `odtc fit` and `odtc build` read",
    ".parquet": "a table of data, which `odtc fit` and `odtc build` read",
    ".html": "a page for the browser",
    ".log": "the log of a solver",
    ".certificate.json": "a certificate, which `odtc verify` checks",
    ".columns.json": "the columns of a run of cg",
    ".tune.json": "the scores of `odtc tune`",
    **dict.fromkeys((".svg", ".png", ".pdf"), "a picture"),
    **dict.fromkeys((".py", ".c", ".java", ".js", ".r", ".sql"), "code, as `odtc export` writes it"),
    **dict.fromkeys((".pmml", ".onnx", ".pkl", ".tex"), "a tree for another program, as `odtc export` writes it"),
}


def kind_by_name(path: str | PathLike[str], *expected: str) -> str:
    """Return "; by its name it is a tree, which …" for a file of another kind than those whose names end as
    `expected`; "" if the name does not show a kind."""
    end = _end_of(path)
    return "" if end is None or end in expected else f"; by its name it is {KINDS[end]}"


def what_it_is(path: str | PathLike[str], end: str | None = None) -> str:
    """Return what a file is, by its name or by the end that names of its kind have, without what reads it."""
    return KINDS.get(end or _end_of(path) or "", "a file of another program").partition(",")[0].partition(";")[0]


def _end_of(path: str | PathLike[str]) -> str | None:
    name = str(path).lower().removesuffix(".gz")
    return next((end for end in KINDS if name.endswith(end)), None)
