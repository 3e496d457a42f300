"""Constraints on which nodes branch, in a model with a variable d_t for this, if a branch node may predict."""

from odtc.model.blocks import Block
from odtc.model.builder import ModelBuilder
from odtc.problem.roles import node_axis, nodes


def require_parent_branches(m: ModelBuilder, d: Block, name: str) -> None:
    """d_t ≤ d_{parent(t)}: below a node that does not branch, no node does. t a branch node, not the root"""
    t = nodes(d)[1:]
    if len(t):
        rows = m.rows(name, node_axis(t), upper=0)
        m.add(rows[t], d[t])
        m.add(rows[t], d[t // 2], -1)
