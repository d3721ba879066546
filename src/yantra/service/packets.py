"""ASTRA-sim's ns-3 configuration as the packet network's options.

Source: github.com/alibaba-edu/High-Precision-Congestion-Control, simulation/scratch/third.cc.
"""

from __future__ import annotations

import os

from yantra.base.documents import read_text
from yantra.base.errors import ConfigError, expected_got
from yantra.base.fields import Plugin

_SCHEMES = {1: "dcqcn", 3: "hpcc", 7: "timely", 8: "dctcp", 10: "hpcc_pint", 12: "none"}
_MIB = 1 << 20


def read(path: str) -> tuple[Plugin, list[str]]:
    name = os.path.basename(path)
    rows = (line.split() for line in read_text(path).splitlines())
    given = {row[0]: row[1:] for row in rows if row}

    def number(key: str, default: float) -> float:
        words = given.get(key) or [str(default)]
        try:
            value = float(words[0])
        except ValueError:
            value = -1.0
        if not 0 <= value < float("inf"):
            problem = expected_got("a number of at least 0", " ".join(words))
            raise ConfigError(f"{name}: {key}", problem)
        return value

    if number("ERROR_RATE_PER_LINK", 0):
        problem = "expected 0, as no network here loses packets by chance"
        raise ConfigError(f"{name}: ERROR_RATE_PER_LINK", problem)
    if any(word != "0" for word in given.get("LINK_DOWN", [])):
        problem = "expected 0 0 0: links of the packet network do not fail"
        raise ConfigError(f"{name}: LINK_DOWN", problem)
    mode = int(number("CC_MODE", 12))
    if mode not in _SCHEMES:
        expected = ", ".join(f"{key} ({scheme})" for key, scheme in _SCHEMES.items())
        raise ConfigError(f"{name}: CC_MODE", expected_got(f"one of {expected}", mode))
    window = "unlimited"
    if number("HAS_WIN", 1):
        window = "variable" if number("VAR_WIN", 1) else "static"
    options: dict[str, str | float] = {
        "congestion_control": _SCHEMES[mode],
        "window": window,
        "payload": number("PACKET_PAYLOAD_SIZE", 1000),
        "buffer": number("BUFFER_SIZE", 32) * _MIB,
        "semantics": "ns3_fork",
    }
    warnings = []
    if _SCHEMES[mode] != "none":
        warnings.append(
            f"{name}: marks, rates and timers are those of the preset of {_SCHEMES[mode]}, "
            "not those of the file"
        )
    return Plugin(kind="packet", options=tuple(options.items())), warnings
