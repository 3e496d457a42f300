"""What one solver reads and writes, as far as solvers differ: each flag with the reason it exists.

Files stay in the subset that all read alike (docs/reference/file-formats.md), so most solvers need no flag but the
form of their starts. What a dialect cannot say is said by the command, never dropped.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Dialect:
    """`reads` are the model formats, best first; `gzip` whether it reads them as .gz; `start` the point
    format of its MIP starts (None: it takes none), always complete ones; `lp_start` whether it takes one
    for a model without integer columns, too (CPLEX ends with an error, others ignore it); `cuts` whether USERCUTS and
    LAZYCONS sections mean to it what they say (docs/reference/file-formats.md); `duals` whether its
    solutions of an LP hold duals; `limit` what it does not do without a licence."""

    reads: tuple[str, ...] = ("mps", "lp", "fixed-mps")
    gzip: bool = True
    start: str | None = None
    start_suffix: str = ".sol"
    lp_start: bool = False
    cuts: bool = False
    duals: bool = False
    limit: str = ""

    def words(self) -> str:
        """One line for `odtc list solvers`."""
        said = ["reads " + ", ".join(self.reads) + (" and .gz" if self.gzip else ", no .gz")]
        said += ["MIP starts" if self.start else "no MIP starts", "lazy rows" if self.cuts else "no lazy rows"]
        said += ["duals"] if self.duals else []
        said += [self.limit] if self.limit else []
        return ", ".join(said)
