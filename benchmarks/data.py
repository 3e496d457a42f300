"""Where the public data sets of the studies are: in $ODTC_DATA, else in ../shared/data beside the checkout."""

import os
from pathlib import Path

SHARED = Path(__file__).resolve().parents[2] / "shared"


def data_folder() -> Path:
    return Path(os.environ.get("ODTC_DATA") or SHARED / "data")


def data_file(name: str) -> Path | None:
    """NAME.csv or NAME.csv.gz in the folder; None where there is neither."""
    return next((path for ending in (".csv", ".csv.gz") if (path := data_folder() / f"{name}{ending}").exists()), None)
