"""The process in which an embedded solver runs under a time limit: `python -m odtc.solvers.worker SOLVER`.

It reads pickled Jobs from its input, one after another, and writes pickled events to its output; the last event of a
job is its Outcome. It stops at the end of its input, so it also ends when the process that started it dies.
"""

import os
import pickle
import queue
import sys
import threading
import time
from dataclasses import replace
from typing import Any


def main() -> None:
    # Whatever a solver prints must not come between the events.
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    from odtc.solvers.child_process import GRACE
    from odtc.solvers.protocols import SOLVERS, Outcome

    module = SOLVERS.get(sys.argv[1])
    lock, stop = threading.Lock(), threading.Event()
    jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def emit(event: Any) -> None:
        with lock:
            pickle.dump(event, output, protocol=5)
            output.flush()

    def watch() -> None:
        try:
            while True:
                jobs.put(pickle.load(sys.stdin.buffer))
        except (EOFError, pickle.UnpicklingError):
            jobs.put(None)
        stop.set()
        time.sleep(2 * GRACE)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    while (job := jobs.get()) is not None:
        emit("started")
        try:
            before = time.process_time()
            outcome = Outcome.checked(module.run(job, emit, stop.is_set), module.name, len(job.c))
            emit(replace(outcome, cpu_seconds=time.process_time() - before))
        except BrokenPipeError:
            break
        except Exception as problem:
            emit(Outcome.failed(problem))
    os._exit(0)


if __name__ == "__main__":
    main()
