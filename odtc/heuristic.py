"""What a heuristic is: a function from encoded rows and a depth to a tree, without a solver.

    NAME, SUMMARY
    tree(encoded, topology, price) -> HeapTree     price: how much error a branch node must save

Used for MIP starts and to stand beside every result.
"""

from odtc.registry import Registry

HEURISTICS = Registry("start", "odtc.heuristics", ("cart",), ("NAME", "SUMMARY", "tree"))
