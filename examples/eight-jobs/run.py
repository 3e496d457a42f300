"""Eight plug-ins, one file each, installed by pip, used by a command and checked by the property tests of its type.

    python examples/eight-jobs/run.py FOLDER [CASES [TYPE …]]

For each job: `odtc new TYPE NAME --package` writes the file and its pyproject.toml, pip installs it beside odtc (into
FOLDER/site, so that your environment stays as it is), a command uses it by its name, and `odtc check` tries it on CASES
random cases of each property test (0: none). The seconds of each job are printed. With TYPEs it does these jobs alone.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

MONKS = Path(__file__).resolve().parents[1] / "monks" / "monks-1.csv"
FIT = ("fit", MONKS, "--depth", 1, "--encoding", "onehot", "-o", "used")
# (kind, name, the command that uses it, what it must say)
JOBS = (
    ("formulation", "my_formulation", (*FIT, "--model", "my_formulation"), "proved optimal: objective 34"),
    ("cut", "my_cut", ("build", *FIT[1:], "--model", "my_formulation", "--cuts", "my_cut"), "used.mps"),
    ("constraint", "my_constraint", (*FIT, "--constraint", "my_constraint[1] <= 0.25"), "my_constraint[1] <= 0.25"),
    ("solver", "my_solver", (*FIT, "--model", "flowoct", "--solver", "my_solver"), "proved optimal: objective 34"),
    ("exporter", "my_exporter", ("export", "tree.tree.json", "--to", "my_exporter", "-o", "tree.json"), ""),
    ("reader", "my_reader", ("fit", "rows.jsonl", "--depth", 1, "-o", "used"), "proved optimal"),
    ("encoding", "my_encoding", (*FIT[:-4], "--encoding", "my_encoding", "-o", "used"), "proved optimal"),
    ("selection", "my_selection", (*FIT, "--select", "my_selection"), "rows"),
)


def main(folder: Path, cases: int = 3, kinds: tuple[str, ...] = ()) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    site = folder / "site"
    path = os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTHONPATH": path, "ODTC_PLUGINS": ""}

    def odtc(*words) -> str:
        return run([sys.executable, "-m", "odtc", *map(str, words)], folder, environment)

    odtc("fit", MONKS, "--depth", 1, "-o", "tree")
    (folder / "rows.jsonl").write_text(
        "".join(f'{{"size": {n}, "colour": "{"red" if n % 3 else "blue"}", "class": {int(n > 4)}}}\n' for n in range(9))
    )
    for kind, name, use, said in JOBS:
        if kinds and kind not in kinds:
            continue
        began = time.monotonic()
        if not (folder / name).exists():
            odtc("new", kind, name, "--package")
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--upgrade"]
        run([*pip, "--target", str(site), str(folder / name)], folder, environment)
        used = odtc(*use)
        if said not in used:
            raise SystemExit(f"{kind}: expected {said!r} of {' '.join(map(str, use))}, got:\n{used}")
        checked = f"{kind} {name}: installed and used"
        if cases:
            checked = odtc("check", name, "--type", kind, "--examples", cases).strip().splitlines()[-1]
        print(f"{time.monotonic() - began:6.1f} s  {checked}", flush=True)


def run(words: list[str], folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), *map(int, sys.argv[2:3]), kinds=tuple(sys.argv[3:]))
