"""A solver that odtc has never heard of: scipy.optimize.milp on an LP file, with words of its own.

python scipy_solver.py MODEL SOLUTION [SECONDS]
"""

import sys

from scipy.optimize import Bounds, LinearConstraint, milp

from odtc.extend import name_list, read_model

model = read_model(sys.argv[1])
found = milp(
    model.c,
    constraints=LinearConstraint(model.A, model.row_lower, model.row_upper),
    bounds=Bounds(model.col_lower, model.col_upper),
    integrality=model.integrality,
    options={"time_limit": float(sys.argv[3])} if len(sys.argv) > 3 else {},
)
if found.x is not None:
    with open(sys.argv[2], "w") as stream:
        stream.writelines(f"{name} := {value!r}\n" for name, value in zip(name_list(model.columns), found.x.tolist()))
print({0: "all done", 1: "out of time", 2: "there is none", 3: "there is no end"}.get(found.status, "no idea"))
print(f"nothing below {found.mip_dual_bound}")
