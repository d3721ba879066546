"""What the numbers in an outcome of the core mean: types of nodes, kinds of collectives."""

from __future__ import annotations

NEVER = 2**64 - 1
"""What the core says of a time that never was."""

NODE_TYPES = (
    "INVALID",
    "METADATA",
    "MEM_LOAD",
    "MEM_STORE",
    "COMP",
    "COMM_SEND",
    "COMM_RECV",
    "COMM_COLL",
)
COLLECTIVE_KINDS = (
    "all_reduce",
    "reduce",
    "all_gather",
    "gather",
    "scatter",
    "broadcast",
    "all_to_all",
    "reduce_scatter",
    "reduce_scatter_block",
    "barrier",
)
