"""What a cut family is: rows for every formulation that offers the roles it needs.

    NAME, SUMMARY, NEEDS           the roles (odtc.formulation.Role) of the columns it speaks of
    VALID                          "every tree", or "an optimum" where some optimal tree may be cut off
    rows(problem, model, point)    -> rows to add; `point` None asks for the static choice
"""

from odtc.registry import Registry

CUTS = Registry("cut family", "odtc.cuts", (), ("NAME", "SUMMARY", "NEEDS", "VALID", "rows"))
