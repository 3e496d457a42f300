"""Where the public data sets of the studies are: in $ODTC_DATA, else in ../shared/data beside the checkout."""

import argparse
import os
from collections.abc import Iterable
from pathlib import Path

SHARED = Path(__file__).resolve().parents[2] / "shared"


def data_folder() -> Path:
    return Path(os.environ.get("ODTC_DATA") or SHARED / "data")


def expect_data_folder(words: argparse.ArgumentParser, instead: str = "") -> None:
    """Ends the command with a sentence if there is no folder of data."""
    if not data_folder().is_dir():
        words.error(f"expected the data sets in {data_folder()}, which is no folder: set ODTC_DATA{instead}")


def expect_data_files(words: argparse.ArgumentParser, names: Iterable[str], instead: str = "") -> None:
    """Ends the command with a sentence if there is no folder of data, or not all of these sets are there."""
    expect_data_folder(words, instead)
    absent = [name for name in dict.fromkeys(names) if data_file(name) is None]
    if absent:
        words.error(
            f"expected NAME.csv or NAME.csv.gz in {data_folder()} (ODTC_DATA) for each set, got none for "
            f"{', '.join(absent)}{instead}"
        )


def data_file(name: str) -> Path | None:
    """NAME.csv or NAME.csv.gz in the folder; None where there is neither."""
    return next((path for ending in (".csv", ".csv.gz") if (path := data_folder() / f"{name}{ending}").exists()), None)
