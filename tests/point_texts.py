"""What each solver would write for a point, as text: formats that odtc itself does not write included."""

import io

import numpy as np

from odtc.fileformats.solution_files import POINTS
from odtc.model.points import name_list
from odtc.model.solution import Termination


def text(model, x: np.ndarray, format: str) -> bytes:
    """The bytes of a file that says x is optimal."""
    module = POINTS.get(format)
    if hasattr(module, "write"):
        stream = io.BytesIO()
        module.write(model, x, stream, Termination.OPTIMAL)
        return stream.getvalue()
    columns = list(zip(name_list(model.columns), x.tolist()))
    rows = list(zip(name_list(model.rows), (model.A @ x).tolist()))
    made = globals()[format.replace("-", "_")]
    return made(columns, rows, model.objective(x)).encode("ascii")


def highs_table(columns, rows, objective) -> str:
    return (
        "Columns\n    Index Status        Lower        Upper       Primal         Dual  Type        Name\n"
        + "".join(
            f"{at:9d}        {0:12g} {'inf':>12} {v:12g}               Integer     {n}\n"
            for at, (n, v) in enumerate(columns)
        )
        + "Rows\n    Index Status        Lower        Upper       Primal         Dual  Name\n"
        + "".join(f"{at:9d}        {0:12g} {'inf':>12} {v:12g}               {n}\n" for at, (n, v) in enumerate(rows))
        + f"\nModel status: Optimal\n\nObjective value: {objective!r}\n"
    )


def glpk_table(columns, rows, objective) -> str:
    def part(cells, star):
        return "".join(
            (f"{at:6d} {n:<12s} " if len(n) <= 12 else f"{at:6d} {n}\n{'':20s}")
            + f"{star} {v:13.6g} {0:13g}               \n"
            for at, (n, v) in enumerate(cells, 1)
        )

    line = "------ ------------    ------------- ------------- -------------\n"
    return (
        f"Problem:    M\nRows:       {len(rows)}\nColumns:    {len(columns)} (1 integer, 1 binary)\nNon-zeros:  1\n"
        f"Status:     INTEGER OPTIMAL\nObjective:  obj = {objective:.10g} (MINimum)\n\n"
        f"   No.   Row name        Activity     Lower bound   Upper bound\n{line}{part(rows, ' ')}\n"
        f"   No. Column name       Activity     Lower bound   Upper bound\n{line}{part(columns, '*')}\n"
        "Integer feasibility conditions:\n\nKKT.PE: max.abs.err = 0.00e+00 on row 0\n\nEnd of output\n"
    )


def xpress_ascii(columns, rows, objective) -> str:
    lines = [f'"{n:<8s}","G","SB",{v!r},0,-1e+09,10,0,10' for n, v in rows]
    lines += [f'"{n:<8s}","C","SB",{v!r},3,0,1,0' for n, v in columns]
    return "".join(f"{at:6d},{line}\n" for at, line in enumerate(lines, 1))


def symphony(columns, rows, objective) -> str:
    return (
        "\n==  Welcome to the SYMPHONY MILP Solver \n\nReading input file...\n\n"
        "****************************************************\n* Optimal Solution Found                           *\n"
        "* Now displaying stats and best solution found...  *\n****************************************************\n\n"
        f"Solution Found: Node 0, Level 0\nSolution Cost: {objective:.10f}\n{'+' * 51}\n"
        f"Column names and values of nonzeros in the solution\n{'+' * 51}\n"
        + "".join(f"{n:<50s} {v:.10f}\n" for n, v in columns if v)
        + "\n"
    )


def lp_solve(columns, rows, objective) -> str:
    return (
        f"\nValue of objective function: {objective:.8f}\n\nActual values of the variables:\n"
        + "".join(f"{n:<20s} {v:12g}\n" for n, v in columns)
        + "\nActual values of the constraints:\n"
        + "".join(f"{n:<20s} {v:12g}\n" for n, v in rows)
        + "\nDual value\n"
    )
