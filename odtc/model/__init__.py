"""A mixed-integer linear model as blocks of columns and rows, its points and its solution. Imports base only."""

from typing import Any

_FUNCTIONS = ("align", "blocks_from_json", "name_list", "point_at", "split_point")


def __getattr__(name: str) -> Any:
    # The names of what was one module, for one release (odtc.old_paths).
    if name in _FUNCTIONS or name[:1].isupper():
        from odtc.old_paths import taken

        return taken("model", ("model.blocks", "model.milp", "model.builder", "model.points"), name)
    raise AttributeError(f"module 'odtc.model' has no attribute {name!r}")
