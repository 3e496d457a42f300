"""Names of options, JSON keys and functions that differ between commits: cells and answers use those of 3a0f6ef4.

A later name is chosen by probing: an option if `odtc COMMAND --help` of the checkout has it, a key if the JSON object
has it, a function if its module is in the checkout. So an entry is a tuple of names, oldest first, and a renamed name
is one more member of its tuple.
"""

import subprocess
from dataclasses import dataclass, field
from pathlib import Path

OPTIONS = (
    ("--aside", "--auxiliary"),
    ("--forms", "--formulations"),
)
# Beginnings of words: constraints, inside --constraint and --vary, and parameters with their values.
BEGINNINGS = (("tests <=", "splits <="), ("sums=tests", "sums=splits"))
KEYS = (
    ("termination", "ended"),
    ("n_leaves", "leaves"),
    ("certified", "is_certified"),
    ("checked",),
    ("fewest_leaves",),
)
# Values of `termination`: (of 3a0f6ef4, later ones).
ENDINGS = (
    ("optimal", "proved optimal", "certified"),
    ("time_limit", "best found"),
    ("infeasible",),
)
# CPU seconds of a part are those inside these functions, without the parts inside. Members that a checkout lacks are
# ignored; a commit that moves a function adds its new place.
PARTS = {
    "reading": ("odtc.data.reading:read", "odtc.data.reading:read_as"),
    "encoding": ("odtc.data.encoding:encode",),
    "first tree": ("odtc.workflow.searching:start_of", "odtc.workflow.compiling:start"),
    "search": (
        "odtc.formulations.dpflow:search",
        "odtc.formulations.dpflow:frontier",
        "odtc.formulations.dpflow:certificate",  # for certify; it searches, and writes what it has found
        "odtc.formulations.dpflow.constrained:search",
        "odtc.formulations.dpflow.search_by_sums:_searched",
        "odtc.formulations.dpflow.forms.moments:_searched",
        "odtc.formulations.dpflow.threshold_search:ThresholdSearch.run",
        "odtc.formulations.cg:fit",
        "odtc.formulations.bendersoct:fit",
        "odtc.formulations.cart:tree",
        "odtc.formulations.cart_tuned:tree",
        "odtc.formulations.oblique_search:learned",
        "odtc.solvers.solve:solve",
        "odtc.solvers.solve:solve_until",
        "odtc.solvers.portfolio:run",
    ),
    "early bounds": (
        "odtc.algorithms.thresholds.early_bound:EarlyBound.by_common_rows",
        "odtc.algorithms.thresholds.early_bound:EarlyBound.raise_all",
        "odtc.formulations.dpflow.constrained:floor_of",
    ),
    "fewest leaves": ("odtc.formulations.dpflow.threshold_search:ThresholdSearch.smallest",),
    "near-optimal set": (
        "odtc.workflow.near_optimal:near_optimal",
        "odtc.workflow.near_optimal_set:near_optimal_set",
    ),
    "model": ("odtc.workflow.compiling:compile_model",),
    "certificate": ("odtc.workflow.provenance.certificates:certify_run", "odtc.workflow.provenance.certifying:certify"),
    "check": (
        "odtc.workflow.provenance.certificates:_checked",
        "odtc.workflow.provenance.certifying:_proof",
        "odtc.workflow.decoding:finish",
        "odtc.workflow.decoding:without_model",
        "odtc.verification.verify:verify",
    ),
    "writing": ("odtc.base.commit:commit", "odtc.base.atomic_write:write"),
    "compiling": ("odtc.base.threads:apart", "odtc.base.kernels:_stored", "numba.core.dispatcher:Dispatcher.compile"),
}


@dataclass(frozen=True)
class Names:
    """The names of one checkout.

    Attributes
    ----------
    helps : str, the help of its commands, in which options are looked up
    parts : dict, {part: functions}
    """

    helps: str = ""
    parts: dict = field(default_factory=lambda: {part: list(places) for part, places in PARTS.items()})

    @classmethod
    def of(cls, path: Path, python: str) -> "Names":
        """Probe a checkout."""
        helps = [
            subprocess.run(
                [python, "-m", "odtc", *words], cwd=path, env={"PYTHONPATH": str(path), "COLUMNS": "200"},
                capture_output=True, text=True, check=True,
            ).stdout
            for words in (["fit", "--help"], ["list", "constraints"], ["info", "flowoct"])
        ]  # fmt: skip
        return cls("\n".join(helps))

    def words(self, words: list[str]) -> list[str]:
        """The command line in the names of this checkout."""
        options = {names[0]: self._latest(names) for names in OPTIONS}
        found = [options.get(word, word) for word in words]
        for names in BEGINNINGS:
            found = [
                word.replace(names[0], self._latest(names)) if word.startswith(names[0]) else word for word in found
            ]
        return found

    def _latest(self, names: tuple[str, ...]) -> str:
        return next((name for name in reversed(names) if name in self.helps), names[0])

    def facts(self, told: dict) -> dict:
        """A JSON object with the keys, and the endings, of the first commit."""
        told = dict(told)
        for first, *later in KEYS:
            for name in later:
                if name in told:
                    told.setdefault(first, told[name])
        for first, *later in ENDINGS:
            if told.get("termination") in later:
                told["termination"] = first
        if isinstance(told.get("fit"), dict):
            told["fit"] = self.facts(told["fit"])
        return told
