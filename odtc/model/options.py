"""Options of a solve, for every solver: limits, threads, seed and gap. The command line reads them without numpy."""

from odtc.base.spec_fields import check_ranges, spec_field
from odtc.base.value_class import frozen_class


@frozen_class
class Options:
    """Options of a solve, for every solver: `time_limit` in wall seconds; `gap` holds absolutely and relatively;
    `threads` None is the solver's own choice, for own searches odtc.base.threads.allowed(). Raises ChoiceError for a
    value outside of its range."""

    time_limit: float | None = spec_field(
        None,
        "Wall seconds for the whole run (default: no limit).",
        metavar="S",
        wanted="seconds above 0 and below 1000000000",
        fits=lambda value: value is None or 0 < value < 1_000_000_000,
    )
    threads: int | None = spec_field(
        None,
        "Threads (default: the choice of the solver; without a solver, all cores of the process).",
        metavar="N",
        wanted="a whole number from 1 to 1024",
        fits=lambda value: value is None or 1 <= value <= 1024,
    )
    seed: int = spec_field(
        0,
        "Seed of the random numbers.",
        metavar="N",
        wanted="a whole number from 0 to 2147483647",
        fits=lambda value: 0 <= value < 2**31,
    )
    gap: float = spec_field(
        0.0,
        "Stop at this absolute and relative gap.",
        metavar="GAP",
        wanted="a number of at least 0",
        fits=lambda value: 0 <= value < float("inf"),
    )

    def __post_init__(self) -> None:
        check_ranges(self)
