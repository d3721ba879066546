"""Every oddity of ASTRA-sim 2 that changes a result, by name.

`astra-sim@mlsys26` is a branch.

Source: behaviour of ASTRA-sim 2 (master of 2026-03), measured on its binaries.
"""

from __future__ import annotations

from enum import StrEnum

from yantra.base.errors import ConfigError, did_you_mean


class Quirk(StrEnum):
    """Names as in scenarios and on the command line."""

    __hash__ = str.__hash__  # Enum's own is a Python call per look-up

    WHOLE_NANOSECONDS = "whole-nanoseconds"
    LOWEST_DIMENSION_ONLY = "lowest-dimension-only"
    LINKS_CARRY_ANYTHING = "links-carry-anything"
    SEND_COMPLETES_ON_ARRIVAL = "send-completes-on-arrival"
    PADDED_CHUNKS = "padded-chunks"
    HALF_QUEUES = "half-queues"
    PHASES_AS_READY = "phases-as-ready"
    UNEVEN_REDUCTIONS = "uneven-reductions"
    GROUP_HAND_OVER = "group-hand-over"
    GROUP_RING = "group-ring"
    FOUR_DIMENSIONS = "four-dimensions"
    BUS_CHARGES_REDUCTION_TWICE = "bus-charges-reduction-twice"
    SIZES_OF_32_BITS = "sizes-of-32-bits"
    MISMATCHED_COLLECTIVES_MEET = "mismatched-collectives-meet"
    HASH_ORDER_CUSTOM = "hash-order-custom"
    BROADCAST_IS_A_TIMER = "broadcast-is-a-timer"
    SKIPPED_NODES_DO_NOT_WAKE = "skipped-nodes-do-not-wake"
    NO_DURATION_TAKES_A_NANOSECOND = "no-duration-takes-a-nanosecond"
    WHOLE_MICROSECONDS = "whole-microseconds"
    ZERO_OP_KERNEL_NEVER_ENDS = "zero-op-kernel-never-ends"
    ZERO_BYTE_KERNEL_IS_SKIPPED = "zero-byte-kernel-is-skipped"
    UNREACHABLE_NODES_ARE_DROPPED = "unreachable-nodes-are-dropped"
    DUPLICATE_IDS_MERGE = "duplicate-ids-merge"
    TUTORIAL_HOTI2024 = "tutorial-hoti2024"
    COLLECTIVES_START_TOGETHER = "collectives-start-together"
    GROUPS_ARE_RINGS = "groups-are-rings"
    GROUPS_BY_NAME_OF_NODES = "groups-by-name-of-nodes"
    KERNELS_READ_THEIR_INPUTS = "kernels-read-their-inputs"


MLSYS26: frozenset[Quirk] = frozenset(
    (
        Quirk.COLLECTIVES_START_TOGETHER,
        Quirk.GROUPS_ARE_RINGS,
        Quirk.GROUPS_BY_NAME_OF_NODES,
        Quirk.KERNELS_READ_THEIR_INPUTS,
    )
)
"""Those that only the branch has that the artifact of Chakra's paper at MLSys 2026 uses."""

ASTRA_SIM: frozenset[Quirk] = frozenset(Quirk) - {Quirk.TUTORIAL_HOTI2024} - MLSYS26

OF_SEMANTICS: dict[str, frozenset[Quirk]] = {
    "yantra": frozenset(),
    "astra-sim": ASTRA_SIM,
    "astra-sim@mlsys26": ASTRA_SIM | MLSYS26,
}
"""The quirks that are on, by semantics, unless a scenario names its own."""


def parse(names: frozenset[str], where: str) -> frozenset[Quirk]:
    """Return the quirks of names, or ConfigError at `where`."""
    known = [quirk.value for quirk in Quirk]
    for name in sorted(names):
        if name not in known:
            raise ConfigError(where, f"no quirk is named '{name}'" + did_you_mean(name, known))
    return frozenset(Quirk(name) for name in names)
