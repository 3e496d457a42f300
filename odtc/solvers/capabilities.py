"""Formats and abilities of a solver, as far as solvers differ: each flag has the reason why it exists.

Files stay in the subset that all solvers read alike (docs/reference/file-formats.md), so most solvers need no flag
except the form of their starts. If a dialect cannot express something, the command says so; it is never dropped.
"""

from odtc.base.value_class import frozen_class


@frozen_class
class Dialect:
    """The dialect of a solver. `reads`: model formats, best first. `gzip`: it reads them as .gz. `start`: the point
    format of its MIP starts, always complete ones (None: it has no starts). `lp_start`: it accepts one for a model
    without integer variables, too (CPLEX ends with an error, others ignore it). `cuts`: USERCUTS and LAZYCONS
    sections have their usual meaning (docs/reference/file-formats.md). `duals`: its solutions of an LP contain
    duals. `limit`: the restriction without a licence."""

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
