"""Bytes of a dispatch over two levels agree with recorded ones; those of NVLink are an
upper bound.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import pytest

from yantra.collectives.deepep.routing import traffic

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "golden" / "collectives"
FILE = SHARED / "moe_hierarchical.csv"
RECORDED = [  # ranks, of a node, tokens, experts of one, hidden, nodes of one; bytes in FP8
    (32, 8, 4096, 8, 7168, 1, 22020096.0, 205520896.0),
    (16, 8, 128, 8, 7168, 2, 917504.0, 6422528.0),
    (64, 8, 4096, 8, 7168, 4, 102760448.0, 205520896.0),
]
EACH = 1000  # experts of a rank, so that no two of a token meet by chance


def rows() -> Iterator[tuple[float, ...]]:
    yield from RECORDED
    if FILE.is_file():
        for row in csv.reader(FILE.read_text().splitlines()[1:]):
            yield (*map(float, row[:7]), float(row[8]))


@pytest.mark.parametrize("row", list(rows()), ids=str)
def test_bytes_of_a_dispatch_are_the_recorded_ones(row: tuple[float, ...]) -> None:
    ranks, local, tokens, top_k, hidden, nodes, rdma, nvlink = row
    sent = traffic(
        tokens, hidden, top_k=top_k, experts=ranks * EACH, ranks=ranks, local=local, limit=nodes
    )
    # A token that may go to all nodes misses one of two with a chance of 2^-7.
    assert 0.995 * rdma <= float(sent.rdma) <= rdma
    assert 0.8 * nvlink <= float(sent.nvlink) <= nvlink
