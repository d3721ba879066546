"""What tests of published numbers share with the scripts of examples/papers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "examples" / "papers"))

from comparison import published
from network import MIB, Block, all_reduce_us

__all__ = ["DATA", "MIB", "Block", "all_reduce_us", "deviation", "rows"]

DATA = Path(__file__).parent / "data"


def rows(name: str) -> Iterator[dict[str, str]]:
    return published(f"validation/data/{name}")


def deviation(ours: float, published: float) -> float:
    return ours / published - 1
