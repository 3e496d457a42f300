"""Where the public data sets of the studies are: in $ODTC_DATA, else in ../shared/data beside the checkout."""

import argparse
import csv
import gzip
import hashlib
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


def listed() -> list[tuple[str, str, str]]:
    """Return (file, its sha256, its state) for each public table that the benchmarks use.

    The state is "present", "missing", or "differs" if the bytes in the folder have another checksum. A file
    NAME.csv.gz is compared by its unpacked bytes.
    """
    with open(Path(__file__).with_name("data.csv"), encoding="utf-8", newline="") as file:
        expected = [(row["file"], row["sha256"]) for row in csv.DictReader(file)]
    states = []
    for name, digest in expected:
        path = data_file(name.removesuffix(".csv"))
        state = "missing" if path is None else "present" if _digest(path) == digest else "differs"
        states.append((name, digest, state))
    return states


def _digest(path: Path) -> str:
    with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def main() -> None:
    argparse.ArgumentParser(
        prog="python -m benchmarks.data",
        description=(
            "List the public tables that the benchmarks use, with the SHA-256 of each and whether $ODTC_DATA (or "
            "../shared/data) has it. Most come from the UCI Machine Learning Repository: one header row, commas, the "
            "class in the last column, an empty cell for a missing value. Benchmarks on generated tables need no file."
        ),
    ).parse_args()
    states = listed()
    for name, digest, state in states:
        print(f"{name:<32}{digest}  {state}")
    present = sum(state == "present" for _, _, state in states)
    print(f"{present} of {len(states)} files are in {data_folder()}")


if __name__ == "__main__":
    main()
