"""Numbers as text."""


def show_number(value: float) -> str:
    """The shortest text that reads back as the same double: 3 rather than 3.0."""
    value = float(value)
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
