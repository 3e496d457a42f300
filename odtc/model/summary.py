"""A model in a few lines: its size, and its families of columns and rows."""

from collections.abc import Sequence
from html import escape
from typing import Any

from odtc.base.text import count_of
from odtc.model import vectors
from odtc.model.arrays import Arrays

MAX_FAMILIES = 12  # families of columns, and of rows, that are named


def families(model: Arrays, blocks: Sequence[Any]) -> list[tuple[str, str, int, str]]:
    """(family, labels, size, kind) of blocks of columns or rows."""
    found = []
    for block in blocks:
        labels = ", ".join(axis.name for axis in getattr(block, "axes", ()))
        kind = "row"
        if block in model.columns:
            whole = vectors.part(model, "integrality", block.start, block.stop)
            kind = "integer" if whole.all() and len(whole) else "continuous" if not whole.any() else "mixed"
        found.append((block.name, labels, block.size, kind))
    return found


def summary_lines(model: Arrays) -> list[str]:
    """Return the size of a model, and a line for each family.

    Parameters
    ----------
    model : Model

    Returns
    -------
    list of str
    """
    own = ""
    if (built := model.as_built) is not model:
        rows, columns = model.n_rows - built.n_rows, model.n_cols - built.n_cols
        own = f"; of these {count_of(columns, 'column')} and {count_of(rows, 'row')} were added to what odtc built"
        if not rows and not columns:
            own = "; changed since odtc built it"
    lines = [
        f"<odtc.Model {model.name or 'without a name'}: {count_of(model.n_cols, 'column')} "
        f"({int(model.integrality.sum()):,} integer), {count_of(model.n_rows, 'row')}, "
        f"{count_of(model.nnz, 'nonzero')}{own}>"
    ]
    for what, blocks in (("columns", model.columns), ("rows", model.rows)):
        for name, labels, size, kind in families(model, blocks[:MAX_FAMILIES]):
            words = f", {kind}" if what == "columns" else ""
            lines.append(f"{what:<8} {name + (f'[{labels}]' if labels else ''):<32} {size:>10,}{words}")
        if len(blocks) > MAX_FAMILIES:
            lines.append(f"{what:<8} and {len(blocks) - MAX_FAMILIES} more families")
    return lines


def summary_html(model: Arrays) -> str:
    """Return the same as a table, for notebooks."""
    head, *_ = summary_lines(model)
    rows = [
        f"<tr><td>{what}</td><td>{escape(name)}</td><td>{escape(labels)}</td><td>{size:,}</td><td>{kind}</td></tr>"
        for what, blocks in (("columns", model.columns), ("rows", model.rows))
        for name, labels, size, kind in families(model, blocks)
    ]
    return (
        f"<p>{escape(head)}</p><table><thead><tr><th></th><th>family</th><th>labels</th><th>size</th><th>kind</th></tr>"
        f"</thead><tbody>{''.join(rows)}</tbody></table>"
    )
