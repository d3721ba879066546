"""How far predicted rates of dispatch and combine are from those that DeepEP publishes.

    python -m yantra.accuracy.deepep

Nothing is fitted to these rates: the constants rest on tables of other kernels of DeepEP
(`yantra.collectives.deepep.constants`) and, for several nodes, on kernels of low latency. Source:
https://github.com/deepseek-ai/DeepEP, README.md at 0297fc8: 8,192 tokens a rank of 7,168 elements,
8 of 256 experts, FP8 out and BF16 back, one ConnectX-7 a GPU. Rates are "logical": they count what
stays in the rank (NVLink) or in the node (RDMA).
"""

from __future__ import annotations

import sys
from typing import NamedTuple

from yantra.collectives.deepep.constants import LINKS, fit_of
from yantra.collectives.deepep.law import (
    DIRECTIONS,
    Direction,
    Exchange,
    Kernels,
    bytes_of,
    exchange,
    time_us,
)

ADAPTER = 50.0
DTYPES: dict[Direction, str] = {"dispatch": "fp8", "combine": "bf16"}


class Published(NamedTuple):
    """A row of the table: the rates in GB/s of both directions, the slower network's."""

    gpu: str
    ranks: int
    sms: int
    dispatch: float
    combine: float


PUBLISHED = (
    Published("h100_sxm", 16, 12, 90, 81),
    Published("h100_sxm", 32, 6, 61, 61),
    Published("b200_sxm", 16, 12, 90, 91),
    Published("b200_sxm", 8, 64, 726, 740),
    Published("b200_sxm", 8, 24, 643, 675),
)


class Row(NamedTuple):
    """A published rate, what is predicted, and what 90 % of such predictions lie between."""

    gpu: str
    ranks: int
    sms: int
    direction: Direction
    published: float
    predicted: float
    low: float
    high: float

    @property
    def error(self) -> float:
        """By what fraction the prediction is above what is published."""
        return self.predicted / self.published - 1


def of_published(row: Published) -> Exchange:
    """Return the exchange of a row."""
    return exchange(
        tokens=8192, hidden=7168, top_k=8, experts=256, ranks=row.ranks, local=8, sms=row.sms,
        link=LINKS[row.gpu], adapter=ADAPTER,
    )  # fmt: skip


def rate(of: Exchange, gpu: str, direction: Direction, kernels: Kernels = "elastic") -> float:
    """Return the logical bandwidth in GB/s, as DeepEP counts it."""
    us = time_us(fit_of(gpu, kernels, direction).constants, of, DTYPES[direction], kernels)
    sent = bytes_of(of, DTYPES[direction], kernels)
    nodes = of.ranks / of.local
    counted = sent.rdma / (1 - 1 / nodes) if nodes > 1 else sent.copied
    return float(counted / us / 1e3)


def rows(kernels: Kernels = "elastic") -> list[Row]:
    """Return all published rates with their predictions."""
    made = []
    for row in PUBLISHED:
        of = of_published(row)
        for direction in DIRECTIONS:
            wide = 1 + fit_of(row.gpu, kernels, direction).p90_error
            found = rate(of, row.gpu, direction, kernels)
            told = getattr(row, direction)
            made.append(
                Row(row.gpu, row.ranks, row.sms, direction, told, found, found / wide, found * wide)
            )
    return made


def table(found: list[Row]) -> list[str]:
    """Return the rows as text."""
    from yantra.base.text import table as aligned

    head = ("GPU", "ranks", "SMs", "direction", "published", "predicted", "90 % within", "error")
    cells = [
        (
            one.gpu, f"{one.ranks}", f"{one.sms}", one.direction, f"{one.published:.0f} GB/s",
            f"{one.predicted:.0f} GB/s", f"{one.low:.0f} to {one.high:.0f}", f"{one.error:+.1%}",
        )
        for one in found
    ]  # fmt: skip
    return aligned(head, cells)


def main() -> int:
    """Print published and predicted rates."""
    sys.stdout.write("\n".join(table(rows())) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
