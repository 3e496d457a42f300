"""`monotonic_cst` of the classifier, as constraints."""

from collections.abc import Mapping, Sequence

from odtc.base.spec_fields import quoted


def directions(given, names: Sequence[str]) -> list[tuple[str, int]]:
    """(column, 1 or -1) of each constrained column.

    Parameters
    ----------
    given : sequence of int, mapping {column name: int} or None
        1 if the second class becomes more likely as the column grows, -1 if less, 0 for no constraint.
    names : sequence of str
        The columns in their order.

    Raises
    ------
    ValueError
        For another number of columns, an unknown name, or other values.
    """
    if given is None:
        return []
    if isinstance(given, Mapping):
        if strange := [name for name in given if name not in names]:
            raise ValueError(f"expected monotonic_cst of the columns {', '.join(names)}, got one of {strange[0]!r}")
        values = [given.get(name, 0) for name in names]
    else:
        values = list(given)
    if len(values) != len(names):
        raise ValueError(f"expected monotonic_cst of {len(names)} columns, got {len(values)} values")
    if strange := [value for value in values if value not in (-1, 0, 1)]:
        raise ValueError(f"expected -1, 0 or 1 in monotonic_cst, got {strange[0]!r}")
    return [(name, int(value)) for name, value in zip(names, values) if value]


def constraint_text(kind: str, name: str, positive: str) -> str:
    """The constraint of this kind that the class becomes more likely as the column grows."""
    return f"{kind}[{quoted(name)},{quoted(f'positive={positive}')}]"
