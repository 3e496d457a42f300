"""Numbers and names as text."""

from collections.abc import Sequence


def show_number(value: float) -> str:
    """The shortest text that reads back as the same double: 3 rather than 3.0."""
    value = float(value)
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def some(names: Sequence[str]) -> str:
    """Ten of these names at most, quoted."""
    listed = [repr(name) for name in names[:10]]
    return ", ".join(listed + ["..."] if len(names) > 10 else listed)
