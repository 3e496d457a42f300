"""Engine that runs the tasks of a study. Each task writes a file, so that a study that was killed can be continued.

A task is finished when its complete file exists under its key, which is a hash of everything on which its result
depends. So no finished task is lost or repeated if a worker, this process or the machine is killed. A file that
contains the result of another task, or was changed, is ignored, and its task is run again. So is a file with a valid
seal if the task can tell that this cannot be its result.
"""

import errno
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import joblib

from odtc.base import system
from odtc.base.atomic_write import write_text
from odtc.base.cluster import ATTEMPTS
from odtc.base.value_class import value_class
from odtc.base.wording import as_here
from odtc.errors import OdtcError, OutputError

BUNDLES_PER_PROCESS = 2  # least number of bundles of tasks for each process, so that no process is idle at the end


@value_class
class Step:
    """Position of a task in a path of tasks that are faster if one process runs them one after the other.

    Attributes
    ----------
    path : str, the same for all tasks of the path
    part : str, the same for tasks of the path that speed each other up most
    turn : int, the best order to run them
    """

    path: str
    part: str
    turn: int


class Task(Protocol):
    """One fit of a study. It must be picklable, because it is sent to other processes. It may have a `step` (Step), and
    a method `agrees`, which returns whether a stored result can be the result of this task."""

    @property
    def key(self) -> str:
        """A hash of everything on which its result depends, made by `key_of`."""
        ...

    def run(self) -> dict:
        """Return its result, an object of JSON. An OdtcError that it raises ends the study."""
        ...


class Store:
    """The folder with a file KEY.json for each finished task; `option` names the command-line option for this folder. A
    file contains the result, the key of its task, and the SHA-256 of both."""

    def __init__(self, folder: Path, option: str = "-o"):
        self.folder, self.option = Path(folder), option

    def make(self) -> None:
        """Make the folder. Raises OutputError, also for a link, because finished tasks are deleted there."""
        try:
            if self.folder.is_symlink():
                raise OSError(errno.ELOOP, "it is a link; remove it")
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise OutputError(
                f"cannot make the folder {str(self.folder)!r}: {problem.strerror or problem}; choose another place "
                f"with {self.option}"
            ) from None

    def get(self, key: str) -> dict | None:
        """Return the result of a finished task, None if it is not finished."""
        try:
            found = json.loads(system.read_file(self.folder / f"{key}.json"))
        except (OSError, ValueError, RecursionError):
            return None
        if (
            not isinstance(found, dict)
            or found.pop("task", None) != key
            or found.pop("seal", None) != seal_of(key, found)
        ):
            return None
        return found

    def put(self, key: str, result: dict) -> None:
        """Store the result of a task, completely or not at all. Nothing is stored if the folder is gone.

        Another run of the same study may end and remove the folder at any moment, and this run may create it again; so
        if a file cannot be written although the folder exists, this is tried once more. Raises OutputError.
        """
        told = result | {"task": key, "seal": seal_of(key, result)}
        text = json.dumps(told, ensure_ascii=False, sort_keys=True) + "\n"
        for last in (False, True):
            try:
                write_text(self.folder / f"{key}.json", text, self.option)
                return
            except OutputError:
                if not self.folder.is_dir():
                    return
                if last:
                    raise

    def remove(self) -> None:
        """Delete the files of tasks, and the folder if nothing else is in it."""
        for path in self.folder.glob("*.json"):
            path.unlink(missing_ok=True)
        with suppress(OSError):  # other files are in it, or another run of the study has just written one
            self.folder.rmdir()


def seal_of(key: str, result: dict) -> str:
    """Return the SHA-256 of a result and the key of its task."""
    return hashlib.sha256(json.dumps([key, result], sort_keys=True).encode()).hexdigest()


def key_of(facts: dict) -> str:
    """Return 32 hexadecimal digits of an object of JSON."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()[:32]


def kept(task: Task, store: Store | None) -> dict | None:
    """Return the stored result of a task; None if it is not finished, or if the stored result cannot be its own."""
    result = None if store is None else store.get(task.key)
    agrees = getattr(task, "agrees", None)
    return None if result is None or (agrees is not None and not agrees(result)) else result


def finish(task: Task, store: Store | None) -> dict:
    """Run a task, and store its result; for workers."""
    result = task.run()
    if store is not None:
        store.put(task.key, result)
    return result


def finish_in_turn(tasks: Sequence[Task], store: Store | None) -> list[dict]:
    """Run tasks one after the other, except for those that an earlier attempt has finished; for workers."""
    return [kept(task, store) or finish(task, store) for task in tasks]


def bundles(tasks: Sequence[Task], least: int) -> list[list[int]]:
    """Return the positions of tasks in bundles: whole paths; if these are too few, their parts; if these are still too
    few, single tasks.

    Parameters
    ----------
    tasks : sequence of Task
    least : int, the number of bundles that are needed so that all processes have work

    Returns
    -------
    list of list of int
        Each in the order of its turns.
    """
    steps = [getattr(task, "step", None) or Step("", str(place), 0) for place, task in enumerate(tasks)]
    found: dict[object, list[int]] = {}
    for name in (lambda step: step.path or step, lambda step: (step.path, step.part)):
        found = {}
        for place, step in enumerate(steps):
            found.setdefault(name(step), []).append(place)
        if len(found) >= min(least, len(tasks)):
            return [sorted(places, key=lambda place: steps[place].turn) for places in found.values()]
    return [[place] for place in range(len(tasks))]


def part(tasks: Sequence[Task], which: int, parts: int) -> list[Task]:
    """Return the tasks of part `which` of `parts`. Tasks that speed each other up are in the same part, unless there
    are too few such groups."""
    return [tasks[place] for bundle in bundles(tasks, parts)[which::parts] for place in bundle]


# A function that runs tasks, and yields (position in the sequence, result) as they end, or raises WorkersLost.
Pool = Callable[[Sequence[Task], Store | None], Iterator[tuple[int, dict]]]


class WorkersLost(OdtcError):
    """Workers ended before their tasks did: they were killed, or their machine was lost."""


def run_tasks(
    tasks: Sequence[Task], pool: Pool, store: Store | None = None, tell: Callable[[int, dict, bool], None] | None = None
) -> list[dict]:
    """Return the results of tasks, in their order.

    Parameters
    ----------
    tasks : sequence of Task
    pool : Pool
        `local(jobs)`, or the pool of a cluster.
    store : Store or None
        Contains finished tasks, which are not run again. None stores nothing.
    tell : function or None
        Called with the position of each task, its result, and whether it was finished before.

    Returns
    -------
    list of dict

    Raises
    ------
    OdtcError
        The errors of a task; or if workers are lost again and again.
    """
    results: list[dict | None] = [None] * len(tasks)
    left = []
    for place, task in enumerate(tasks):
        results[place] = kept(task, store)
        if results[place] is None:
            left.append(place)
        elif tell:
            tell(place, results[place], True)
    lost = 0
    while left:
        try:
            for at, result in pool([tasks[place] for place in left], store):
                place = left[at]
                if store is not None and store.get(tasks[place].key) is None:  # a worker may not see the folder
                    store.make()  # it may be gone, too, because another run of the same study has ended
                    store.put(tasks[place].key, result)
                results[place], lost = result, 0
                if tell:
                    tell(place, result, False)
        except WorkersLost as problem:
            lost += 1
            if lost > ATTEMPTS:
                raise OdtcError(
                    f"{problem}, {lost} times without a finished task between; the finished ones are kept: run the "
                    "same command again, with fewer --jobs if the memory was too small"
                ) from None
            # A worker may have stored a result that was not reported before the others were lost.
            for place in left if store is not None else ():
                if results[place] is None and (ended := kept(tasks[place], store)) is not None:
                    results[place], lost = ended, 0
                    if tell:
                        tell(place, ended, False)
        left = [place for place in left if results[place] is None]
    return results


def local(jobs: int) -> Pool:
    """Return a pool of `jobs` processes on this machine, -1 for one per core. With 1 the tasks run in this process."""

    def pool(tasks: Sequence[Task], store: Store | None) -> Iterator[tuple[int, dict]]:
        size = joblib.effective_n_jobs(jobs)
        if size == 1:
            for place in (place for bundle in bundles(tasks, 1) for place in bundle):
                yield place, finish(tasks[place], store)
            return
        # Without batches: joblib would learn from quick tasks to make large batches, and report a batch of slow tasks
        # only at its end.
        run = joblib.Parallel(n_jobs=size, return_as="generator_unordered", batch_size=1)
        together = bundles(tasks, BUNDLES_PER_PROCESS * size)
        try:
            for places, results in run(
                joblib.delayed(as_here(_numbered))(places, [tasks[place] for place in places], store)
                for places in together
            ):
                yield from zip(places, results)
        except joblib.externals.loky.process_executor.TerminatedWorkerError:
            raise WorkersLost("a process of the study was killed, or had too little memory") from None

    return pool


def _numbered(places: list[int], tasks: Sequence[Task], store: Store | None) -> tuple[list[int], list[dict]]:
    system.end_with_parent()
    return places, finish_in_turn(tasks, store)
