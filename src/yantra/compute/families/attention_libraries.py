"""How much longer attention takes with the kernels of a library than with those of the tables.

On Blackwell it runs Hopper's older instructions, as fast in each clock of a unit (derived).

Sources: [2] Dao, "FlashAttention-2", 2023, section 4.1; [3] Shah et al., "FlashAttention-3", 2024,
section 4.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from yantra.base.errors import ConfigError, did_you_mean

ERROR = 0.15
"""Added to the relative error with a slower library: [2] and [3] spread so."""


class Longer(NamedTuple):
    """Factors of a forward and a backward kernel."""

    forward: float
    backward: float


AMPERE, HOPPER, BLACKWELL = "Ampere", "Hopper", "Blackwell"
_OF_GPU = {
    "a100_sxm": AMPERE, "h100_sxm": HOPPER, "h200_sxm": HOPPER, "b200_sxm": BLACKWELL,
    "gb200": BLACKWELL,
}  # fmt: skip
_FLASH_2 = {AMPERE: Longer(1.0, 1.0), HOPPER: Longer(1.9, 1.6), BLACKWELL: Longer(3.2, 2.8)}
LIBRARIES: Mapping[str, Mapping[str, Longer]] = {
    "flash-1": {on: Longer(1.8 * f, 1.8 * b) for on, (f, b) in _FLASH_2.items()},
    "flash-2": _FLASH_2,
    "sdpa": _FLASH_2,
    "flash-3": {HOPPER: Longer(1.0, 1.0)},
    "cudnn": dict.fromkeys((AMPERE, HOPPER, BLACKWELL), Longer(1.0, 1.0)),
}


def library_named(name: str | None, where: str) -> str:
    """Raises ConfigError at `where` for others."""
    if name is not None and name not in LIBRARIES:
        problem = f"no attention of {name}; expected one of {', '.join(LIBRARIES)}"
        raise ConfigError(where, problem + did_you_mean(name, LIBRARIES))
    return name or ""


def longer(library: str, gpu: str) -> Longer:
    """The factors on a GPU with tables; ConfigError where the library does not run there."""
    if not library:
        return Longer(1.0, 1.0)
    known, on = LIBRARIES[library], _OF_GPU.get(gpu, AMPERE)
    if on not in known:
        runs = ", ".join(known)
        raise ConfigError("attention", f"{library} runs on {runs}, not on {on}; flash-2 does")
    return known[on]
