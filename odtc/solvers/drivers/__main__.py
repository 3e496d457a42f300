"""Parses the common arguments, runs the driver and prints its last line."""

import argparse
import importlib
import sys

NAMES = ("gurobi", "cplex", "xpress", "copt", "ortools", "scip")


def main() -> None:
    name, arguments = sys.argv[1], sys.argv[2:]
    driver = importlib.import_module(f"odtc.solvers.drivers.{name}")
    if name == "scip":  # a whole shell, which parses its own
        sys.exit(driver.shell(arguments))
    words = argparse.ArgumentParser()
    for option, kind in (
        ("model", str),
        ("solution", str),
        ("start", str),
        ("time-limit", float),
        ("threads", int),
        ("seed", int),
        ("gap", float),
    ):
        words.add_argument(f"--{option}", type=kind)
    try:
        status, bound = driver.solve(words.parse_args(arguments))
    except Exception as problem:  # whatever the package raises is said in one line
        print(f"error: {type(problem).__name__}: {' '.join(str(problem).split())}", flush=True)
        status, bound = "error", None
    print(f"odtc driver: status={status} bound={bound}", flush=True)


if __name__ == "__main__":
    main()
