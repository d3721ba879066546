"""How collective algorithms are spelled: windows (`direct4`), and ASTRA-sim's names."""

from __future__ import annotations

from typing import Literal, NamedTuple

from yantra.base.errors import ConfigError, did_you_mean
from yantra.base.plugin_files import Named

ProtocolName = Literal["ll", "ll128", "simple"]
"""NCCL's protocols, as in a scenario."""

_ALGORITHMS = {
    "ring": "ring",
    "direct": "direct",
    "halvingDoubling": "halving_doubling",
    "doubleBinaryTree": "double_binary_tree",
}
_OVER_ALL_RANKS = {
    "oneRing": "ring",
    "oneDirect": "direct",
    "oneHalvingDoubling": "halving_doubling",
}
_NAMES = (*_ALGORITHMS, *_OVER_ALL_RANKS)
_WITH_WINDOW = ("direct", "oneDirect")
_LONGEST_WINDOW = 5  # digits; ASTRA-sim ignores the rest


class Implementation(NamedTuple):
    algorithm: Named
    one: bool
    window: int | None


def parse_implementation(text: str, where: str = "collective implementation") -> Implementation:
    name, window = split_window(text, where)
    if name not in _NAMES or (window is not None and name not in _WITH_WINDOW):
        raise ConfigError(
            where,
            f"no collective algorithm is named '{text}'; expected one of {', '.join(_NAMES)}, or "
            f"{' or '.join(_WITH_WINDOW)} with a window, as in direct4"
            + did_you_mean(text, _NAMES),
        )
    one = name in _OVER_ALL_RANKS
    return Implementation((_OVER_ALL_RANKS if one else _ALGORITHMS)[name], one, window)


def spelled_for_astra_sim(name: str) -> str:
    spelled = {ours: theirs for theirs, ours in _ALGORITHMS.items()}
    return spelled.get(name, name)


def astra_sim_has(name: str) -> bool:
    try:
        parse_implementation(spelled_for_astra_sim(name))
    except ConfigError:
        return False
    return True


def split_window(text: str, where: str) -> tuple[str, int | None]:
    """Split `direct4` into `direct` and 4 (or None)."""
    name = text.rstrip("0123456789")
    digits = text[len(name) :]
    if not name or not digits:
        return text, None
    return name, window_of(text, name, digits, where)


def window_of(
    text: str,
    name: str,
    digits: str,
    where: str,
    words: tuple[str, str] = ("messages", "no limit"),
) -> int:
    """The window in the digits behind a name."""
    counted, otherwise = words
    if not digits.isdecimal() or len(digits) > _LONGEST_WINDOW or int(digits) == 0:
        raise ConfigError(
            where,
            f"'{text}' has an impossible window; expected 1 to {'9' * _LONGEST_WINDOW} {counted}, "
            f"got {digits}; write '{name}' for {otherwise}",
        )
    return int(digits)
