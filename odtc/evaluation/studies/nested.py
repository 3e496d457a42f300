"""The choice of a study, made again without each part of the rows and scored on it: `odtc sweep --nested`."""

from collections.abc import Callable, Iterator, Sequence

from odtc.errors import ChoiceError, OdtcError
from odtc.evaluation.cross_validation import Fold, Nested, best_setting, summarise
from odtc.evaluation.studies.sweep import FitTask, Study


def nested_of(
    study: Study, results: Sequence[dict], score: str, rule: str, fit: Callable[[list[FitTask]], list[dict]]
) -> dict[str, list[Nested | str]]:
    """Return the result of choosing a setting on rows that took no part in the choice.

    Parameters
    ----------
    study : Study
    results : sequence of dict
        Results of its `inner_tasks`.
    score, rule : str
        As in odtc.evaluation.cross_validation.
    fit : function
        Returns the results of tasks: the settings that were chosen, on the rows that they were chosen on.

    Returns
    -------
    dict
        For each data file a Nested for each seed, or why there is none; {} without `nested`.
    """
    if not study.nested:
        return {}
    settings, left = [setting for setting, _ in study.settings], _in_turn(results)
    # The order of the tasks: data files, parts, settings, seeds, folds.
    every = [
        [
            [[[next(left) for _ in range(study.folds)] for _ in study.seeds] for _ in settings]
            for _ in range(study.nested)
        ]
        for _ in study.data
    ]
    own: dict[str, list[Nested | str]] = {path: [] for path in study.data}
    for path, sha256, parts in zip(study.data, study.sha256, every):
        for at, seed in enumerate(study.seeds):
            try:
                found = [summarise(settings, [seeds[at] for seeds in part], score) for part in parts]
                chosen = [best_setting(one, rule) for one in found]
                tasks = [
                    FitTask(path, sha256, study.spec_of(*study.settings[best], seed), seed + 1, k, len(parts))
                    for k, best in enumerate(chosen)
                ]
                own[path].append(_scored(found, chosen, fit(tasks), score))
            except OdtcError as problem:
                own[path].append(str(problem))
    return own


def _in_turn(results: Sequence[dict]) -> Iterator[Fold]:
    names = Fold.__dataclass_fields__
    for result in results:
        yield Fold(**({"setting": 0, "fold": 0} | {name: value for name, value in result.items() if name in names}))


def _scored(found: list, chosen: list[int], made: list[dict], score: str) -> Nested:
    """`found` are the results of all settings by part, `made` the fits of those that were chosen."""
    for one, best, result in zip(found, chosen, made):
        if result.get(score) is None:
            raise ChoiceError(f"no tree came of {one[best].setting} on the rows of its choice: {result.get('error')}")
    seconds = sum(result.seconds for one in found for result in one) + sum(one.get("seconds") or 0.0 for one in made)
    inner = tuple(one[best].score for one, best in zip(found, chosen))
    return Nested(tuple(result[score] for result in made), inner, tuple(chosen), seconds)
