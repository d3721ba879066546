"""ASTRA-sim's notation of a product of dimensions: `R(4)_FC(8)_SW(32)`, innermost first.

R or RI is a ring, FC fully connected, SW a switch; other topologies by name: `hypercube(8)_SW(4)`.

Source: Won et al., "ASTRA-sim2.0", ISPASS 2023, section IV-B.
"""

from __future__ import annotations

import re

from yantra.base.errors import ConfigError, show

SHORT = {"R": "ring", "RI": "ring", "FC": "fully_connected", "SW": "switch"}
"""The abbreviations, and what they stand for."""

_PART = r"([A-Za-z][A-Za-z0-9_]{0,60}?)\(([0-9]{1,9})\)"
_PRODUCT = rf"{_PART}(_{_PART}){{0,19}}"


def is_notation(text: str) -> bool:
    return re.fullmatch(_PRODUCT, text) is not None


def parse(text: str, where: str) -> tuple[tuple[str, int], ...]:
    if not is_notation(text):
        expected = "a product of dimensions such as R(4)_FC(8)_SW(32)"
        raise ConfigError(where, f"expected {expected}, got {show(text)}")
    found = re.findall(rf"(?:^|(?<=\))_){_PART}", text)
    return tuple((SHORT.get(name, name), int(size)) for name, size in found)
