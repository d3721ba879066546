"""A user's own measured kernels: the lines of `yantra microbench` to the profile of a machine.

The lines are kept as they are; what is checked is that each can be read. What a person checks is
the summary: the best rates of each type, beside what a data sheet says.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from yantra.base.documents import Path, read_text
from yantra.base.errors import ConfigError
from yantra.compute.profiles.correct import families_of
from yantra.compute.profiles.rows import Rows, read

_MOST_FLOPS, _MOST_BYTES = 1e17, 1e15


class Best(NamedTuple):
    """The kernels of a family and type, and the best rate of them in FLOP/s or B/s."""

    family: str
    dtype: str
    kernels: int
    rate: float
    unit: str


def profile_text(path: Path, device: str) -> tuple[str, Rows]:
    """Return the file of a machine's profile, and its kernels. Raises ConfigError with the line."""
    import json

    if not device.strip() or not device.isprintable():
        raise ConfigError("--device", "expected a name for the machine, such as my-gpu")
    whole = read_text(path)
    rows = read(whole, str(path))
    _check_rates(rows, str(path))
    lines = [line.rstrip() for line in whole.split("\n") if line.strip() and line[0] != "#"]
    about = "; ".join(rows.notes) or "measured kernels of a file"
    text = [
        f"title: {json.dumps(f'Kernels measured on {device}', ensure_ascii=False)}",
        "based_on: unknown",
        f"device: {json.dumps(device, ensure_ascii=False)}",
        f"source: {json.dumps(about, ensure_ascii=False)}",
        "kernels: |",
        *(f"  {line}" for line in lines),
    ]
    return "\n".join(text) + "\n", rows


def _check_rates(rows: Rows, name: str) -> None:
    """Refuse kernels that no device computes so fast: times in other units, most likely."""
    seconds = rows.us / 1e6
    for amount, most, what in (
        (rows.kernels.flops, _MOST_FLOPS, "FLOP/s"),
        (rows.kernels.bytes * (rows.kernels.flops == 0), _MOST_BYTES, "B/s"),
    ):
        rates = amount / seconds
        at = int(rates.argmax())
        if rates[at] > most:
            problem = f"{rows.kernels.describe(at)} in {rows.us[at]:g} us would be"
            hint = "are the times in microseconds?"
            raise ConfigError(
                name, f"{problem} {rates[at]:.3g} {what}, more than any device; {hint}"
            )


def summary(rows: Rows) -> list[Best]:
    """Return the best rate of each family and type: operations a second, or bytes."""
    families = families_of(rows.kernels)
    dtypes = np.array(rows.kernels.dtypes)[rows.kernels.dtype]
    seconds = rows.us / 1e6
    found = []
    for family, dtype in sorted(set(zip(families.tolist(), dtypes.tolist(), strict=True))):
        own = (families == family) & (dtypes == dtype)
        by_bytes = family == "memory_bound"
        amount = rows.kernels.bytes if by_bytes else rows.kernels.flops
        best = float((amount[own] / seconds[own]).max())
        found.append(Best(family, dtype, int(own.sum()), best, "B/s" if by_bytes else "FLOP/s"))
    return found
