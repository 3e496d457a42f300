"""How soon a run ends after its time limit, and with what.

    python -m benchmarks.limits [--data FILE …] [--models auto,dpflow,…] [--limit 5] [--depth 3] [--terminate 3]

Runs `odtc fit` once for each data set and model and prints a table: seconds from the start of the process to its end,
CPU seconds and memory of all its processes, how it ended, and what its tree costs. With `--terminate S` each run has no
limit and is sent SIGTERM after S seconds instead; the seconds are then those from the signal to the end. Times are of
a machine that may have other work: CPU seconds tell how much of them was this run's.
"""

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("ODTC_DATA") or ROOT.parent / "shared" / "data")
MODELS = "auto,dpflow,flowoct,cg,bendersoct,oct,cart,oblique_search"
HANGS = 180.0  # seconds after which a run is killed


def run(data: Path, model: str, asked) -> list[str]:
    """The cells of one line."""
    words = [sys.executable, "-m", "odtc", "fit", str(data), "--model", model, "--depth", str(asked.depth), "--json"]
    words += [] if asked.terminate else ["--time-limit", str(asked.limit)]
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        child = subprocess.Popen(words, cwd=folder, env=environment, start_new_session=True, **pipes)
        killer = threading.Timer(HANGS, lambda: os.killpg(child.pid, signal.SIGKILL))
        killer.start()
        if asked.terminate:
            try:
                child.wait(asked.terminate)
            except subprocess.TimeoutExpired:
                child.send_signal(signal.SIGTERM)
                began = time.monotonic()
        out, err = child.communicate()
        seconds = time.monotonic() - began
        killer.cancel()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    try:
        facts = json.loads(out)
        end = facts.get("termination", "?")
        objective = "no tree" if facts.get("objective") is None else f"{facts['objective']:.10g}"
        cart = f"{facts['cart_loss']:.10g}" if "cart_loss" in facts else ""
    except ValueError:
        end, objective, cart = f"exit {child.returncode}: {' '.join(err.split())[-80:]}", "no tree", ""
    return [data.name.split(".")[0], model, f"{seconds:.1f}", f"{cpu:.1f}", f"{_most(after):.2f}", end, objective, cart]


def _most(usage) -> float:
    """GB of the largest process so far."""
    return usage.ru_maxrss / 1e6


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--data", nargs="+", type=Path, default=[DATA / "adult.csv.gz", DATA / "magic04.csv"])
    words.add_argument("--models", default=MODELS)
    words.add_argument("--limit", type=float, default=5)
    words.add_argument("--depth", type=int, default=3)
    words.add_argument("--terminate", type=float)
    asked = words.parse_args()
    print("| data | model | seconds | CPU | GB (largest so far) | end | objective | CART |")
    print("|---" * 8 + "|")
    for data in asked.data:
        for model in asked.models.split(","):
            print(f"| {' | '.join(run(data.resolve(), model, asked))} |", flush=True)


if __name__ == "__main__":
    main()
