"""Tiers of KV as a user writes them, and whether reading a block beats working it out again.

`host_kv=200 GiB` is read over the host's link of each device, `disk_kv=2 TiB @ 6 GB/s` and
`pool_kv=4 TiB @ 20 GB/s` at the rate given, of a replica's devices together. A tier from which a
block takes longer than the products of its tokens in a full iteration is left out and told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from yantra.base.errors import ConfigError, expected_got
from yantra.base.notes import note
from yantra.base.units import format_time, parse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from yantra.fabric.clusters.types import Cluster
    from yantra.serving.blocks import Room

NAMES = ("host_kv", "disk_kv", "pool_kv")
_NO_TIME = 1e-3  # us: what takes none, for the core counts a tier of 0 as not there


class TierOptions(NamedTuple):
    """Options of the engine, and blocks of the pool that all engines share."""

    engine: dict[str, float]
    pool_blocks: int


def tier_options(
    given: Mapping[str, str], room: Room, cluster: Cluster, ranks: int, token_s: float
) -> TierOptions:
    """Raises ConfigError for what is no size, or a disk or pool without a rate."""
    options: dict[str, float] = {}
    pool = 0
    for name, text in given.items():
        size, rate = _read(name, str(text), cluster, ranks)
        block = room.per_token * room.block_size * ranks
        took = block / rate
        again = token_s * room.block_size
        if took > again:
            note(
                f"{name}: a block takes {format_time(took * 1e9)} to read and "
                f"{format_time(again * 1e9)} to work out again, so it is not used"
            )
            continue
        kind = name.removesuffix("_kv")
        options[f"{kind}_block_us"] = max(took * 1e6, _NO_TIME)
        if kind == "pool":
            pool = int(size // block)
        else:
            options[f"{kind}_blocks"] = float(size // block)
    return TierOptions(options, pool)


def _read(name: str, text: str, cluster: Cluster, ranks: int) -> tuple[float, float]:
    size, at, rate = (part.strip() for part in text.partition("@"))
    bytes_ = parse(size, "size", "B", name)
    if bytes_ <= 0:
        raise ConfigError(name, expected_got("a size above 0", text))
    if at:
        return bytes_, _above_0(parse(rate, "bandwidth", "B/s", name), name, text)
    if name != "host_kv":
        raise ConfigError(name, expected_got("a size and its rate, such as '2 TiB @ 6 GB/s'", text))
    return bytes_, _above_0(float(cluster.host_bandwidth.value) * ranks, name, text)


def _above_0(rate: float, name: str, text: str) -> float:
    if rate <= 0:
        raise ConfigError(name, expected_got("a rate above 0", text))
    return rate


def split(given: dict[str, Any]) -> dict[str, str]:
    """Take the fields of tiers out of others."""
    return {name: str(given.pop(name)) for name in NAMES if name in given}
