"""Texts of options to the fields of a question: plans such as `tp=4,gpus=32`, and `NAME=VALUE`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from yantra.base.errors import ConfigError, expected_got, hint
from yantra.base.units import parse

if TYPE_CHECKING:
    from collections.abc import Sequence

_WHOLE = (
    "prompt_tokens", "train_batch", "micro_tokens", "score_tokens", "reward_workers", "seed",
    "at_once", "turns", "reward_gpus",
    "checkpoint_every", "tool_tokens", "most_rounds", "reward_batch", "validate_every",
    "validate_samples", "validate_batch",
)  # fmt: skip
_SHARES = {"filtered": "a share from 0 to 1", "oversampling": "a number above 0"}
_TEXTS = (
    "algorithm", "reward_model", "framework", "stack", "refit", "refit_rule", "kv", "convert",
    "checkpoint",
)  # fmt: skip
_SWITCHES = ("reference", "policy", "packing", "async_engine")
_TIMES = {"reward": "reward_s", "tool_delay": "tool_delay_s"}
NAMES = (*_WHOLE, *_SHARES, *_TEXTS, *_SWITCHES, *_TIMES, "storage")
"""What `--set` has."""


def plan_of(text: str | None, where: str) -> dict[str, Any]:
    """Read `name=value,name=value`. Raises ConfigError."""
    found: dict[str, Any] = {}
    for part in (text or "").split(","):
        if part.strip():
            name, equals, value = (piece.strip() for piece in part.partition("="))
            if not equals or not value:
                raise ConfigError(where, expected_got("name=value,name=value", part.strip()))
            found[name.replace("-", "_")] = _plain(value)
    return found


def settings_of(texts: Sequence[str]) -> dict[str, Any]:
    """Read `NAME=VALUE`s into the fields of a question. Raises ConfigError."""
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not value:
            raise ConfigError("--set", expected_got("NAME=VALUE", text))
        key = name.replace("-", "_")
        where = f"--set {name}"
        if key in _TIMES:
            found[_TIMES[key]] = parse(value, "time", "s", where)
            if found[_TIMES[key]] < 0:
                raise ConfigError(where, expected_got("a time from 0", value))
        elif key == "storage":
            found[key] = parse(value, "bandwidth", "B/s", where)
            if found[key] <= 0:
                raise ConfigError(where, expected_got("a bandwidth above 0", value))
        elif key in _WHOLE:
            found[key] = _number(value, where)
        elif key in _SHARES:
            found[key] = _share(value, where, _SHARES[key])
        elif key in _SWITCHES:
            if value not in ("on", "off"):
                raise ConfigError(where, expected_got("on or off", value))
            found[key] = value == "on"
        elif key in _TEXTS:
            found[key] = value
        else:
            problem = f"{name}: nothing has this name; expected one of {', '.join(NAMES)}"
            raise ConfigError("--set", problem + hint(key, NAMES))
    return found


def _number(text: str, where: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 10**9:
        raise ConfigError(where, expected_got("a whole number of at least 1", text))
    return int(text)


def _share(text: str, where: str, expected: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ConfigError(where, expected_got(expected, text)) from None


def _plain(text: str) -> Any:
    if text.isdecimal():
        return int(text)
    return {"true": True, "on": True, "false": False, "off": False}.get(text.lower(), text)
