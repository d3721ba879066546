"""Pools as a user writes them: `3x tp=4,max_num_seqs=64` are three replicas of four devices.

Names are fields of an inference plan (tp, pp, ep, dtype, ...), options of the engine, `engine`
itself, tiers of KV (`host_kv=200 GiB`), `start=60s`, the time after which all replicas of the pool
are there, `fail=600s`, when the first of them fails, and `scale`, when they come and go.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from yantra.base.errors import ConfigError, did_you_mean, expected_got
from yantra.base.plugin_files import Named
from yantra.base.units import parse
from yantra.serving import batching
from yantra.serving.apart import USUAL, Apart
from yantra.serving.scaling import Scaling
from yantra.serving.tiers import split
from yantra.workloads.serving.plan import InferencePlan

_POOL = re.compile(r"\s*(?:(\d{1,6})\s*x)?\s*(.*)", re.DOTALL)
_WHOLE = re.compile(r"-?\d{1,15}")
BUDGETS = ("max_num_batched_tokens", "chunked_prefill_size", "max_num_tokens")
"""What engines call the tokens of an iteration."""
SEATS = ("max_num_seqs", "max_running_requests", "max_batch_size")
"""What engines call the sequences that run at once."""
_PLAN = tuple(InferencePlan.field_names)


class Asked(NamedTuple):
    """What a user says of a pool."""

    replicas: int
    engine: str
    plan: InferencePlan
    options: dict[str, float]
    start_s: float = 0.0
    """When its replicas are there."""
    fail_s: float | None = None
    """When the first of them fails; None: never."""
    tiers: Mapping[str, str] = MappingProxyType({})
    scaling: Scaling | None = None
    acceptance: float | None = None
    """The chance that a draft is right; None: drafts never are."""
    draft: str = "mtp"
    """`mtp`: a layer of the model makes a draft; `ngram`: it costs nothing."""
    host: str = ""
    """The file, or its name, of an engine's host and kernels; empty: those of its scheduler."""
    apart: Apart | None = None
    """Of attention and feed-forward layers on devices of their own."""
    imbalance: str = ""
    """How much longer experts take, or the law of their popularity."""


def pool_of(text: str, engine: str, common: dict[str, Any], where: str) -> Asked:
    """Raises ConfigError at `where` for what neither plans nor the engine have."""
    match = _POOL.fullmatch(text)
    if match is None:
        raise ConfigError(where, expected_got("a pool such as '3x tp=4'", text))
    given = dict(common)
    for part in match[2].split(","):
        if part.strip():
            name, equals, value = (piece.strip() for piece in part.partition("="))
            if not equals or not value:
                raise ConfigError(where, expected_got("name=value,name=value", part.strip()))
            given[name.replace("-", "_")] = value
    return asked(int(match[1] or 1), engine, given, where)


def asked(replicas: int, engine: str, given: dict[str, Any], where: str) -> Asked:
    if replicas < 1:
        raise ConfigError(where, expected_got("at least one replica", replicas))
    given = dict(given)
    engine, host = _engine(str(given.pop("engine", engine)), where)
    start_s = _seconds(given.pop("start", 0.0), where)
    fail = given.pop("fail", None)
    scale = given.pop("scale", None)
    scaling = None if scale is None else Scaling.of(str(scale), f"{where}: scale")
    if scaling is not None:
        replicas = scaling.most
    tiers = split(given)
    more = _more(given, where)
    known = options_of(engine, where)
    plan = {name: _value(given.pop(name)) for name in tuple(given) if name in _PLAN}
    options = {name: _option(name, value, known, where) for name, value in given.items()}
    _check_policy(options, known, where)
    fail_s = None if fail is None else _seconds(fail, where)
    made = InferencePlan.of(plan)
    return Asked(
        replicas, engine, made, options, start_s, fail_s, tiers, scaling, host=host, **more
    )


def _check_policy(options: Mapping[str, float], known: Mapping[str, Any], where: str) -> None:
    policies = known.get("schedule_policy", (0, 0, "", []))[3]
    chosen = int(options.get("schedule_policy", 0))
    if (
        policies
        and policies[chosen] == "shortest-prefill-first"
        and not options.get("radix_cache", 1)
    ):
        raise ConfigError(
            f"{where}: schedule_policy",
            "shortest-prefill-first needs the tree of known prefixes, as in SGLang; "
            "set radix_cache=on, or another policy",
        )


def _engine(name: str, where: str) -> tuple[str, str]:
    from yantra.serving import engines

    if name in engines.names() or name.endswith((".yaml", ".yml")):
        return engines.load(name, where=where).scheduler, name
    return name, ""


def _more(given: dict[str, Any], where: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if "acceptance" in given:
        text = given.pop("acceptance")
        value = _value(text)
        if not isinstance(value, int | float) or not 0 <= value <= 1:
            raise ConfigError(f"{where}: acceptance", expected_got("a chance from 0 to 1", text))
        found["acceptance"] = float(value)
    if "draft" in given:
        found["draft"] = str(given.pop("draft"))
        if found["draft"] not in ("mtp", "ngram"):
            raise ConfigError(f"{where}: draft", expected_got("mtp or ngram", found["draft"]))
    if "ffn_devices" in given:
        found["apart"] = _apart(given, where)
    if "imbalance" in given:
        found["imbalance"] = str(given.pop("imbalance"))
    return found


def _apart(given: dict[str, Any], where: str) -> Apart:
    sizes = {}
    for name, fallback in (("ffn_devices", 0), ("micro_batches", USUAL)):
        value = _value(given.pop(name, fallback))
        if not isinstance(value, int) or value < 1:
            raise ConfigError(
                f"{where}: {name}", expected_got("a whole number of at least 1", value)
            )
        sizes[name] = value
    return Apart(sizes["ffn_devices"], sizes["micro_batches"])


def _seconds(value: Any, where: str) -> float:
    return parse(value, "time", "s", where) if isinstance(value, str) else float(value)


def options_of(
    engine: Named, where: str = "engine"
) -> dict[str, tuple[float, float, str, list[str]]]:
    """Raises ConfigError."""
    kind = batching.kind_of(engine, where)
    return {
        option.name: (option.default, option.least, option.help, list(option.choices))
        for option in kind.options
    }


def _option(name: str, value: Any, known: dict[str, Any], where: str) -> float:
    if name not in known:
        names = (*known, *_PLAN)
        problem = f"{name}: no field of a plan and no option of the engine"
        raise ConfigError(
            where, problem + (did_you_mean(name, names) or f"; expected {', '.join(known)}")
        )
    _, least, _, choices = known[name]
    if choices:
        text = {"true": "on", "false": "off"}.get(str(value).lower(), str(value))
        if text not in choices:
            expected = f"one of {', '.join(choices)}"
            raise ConfigError(
                f"{where}: {name}", expected_got(expected, value) + did_you_mean(text, choices)
            )
        return float(choices.index(text))
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ConfigError(f"{where}: {name}", expected_got("a number", value)) from None
    if not least <= number <= 2**31:
        raise ConfigError(f"{where}: {name}", expected_got(f"at least {least:g}", value))
    return number


def _value(value: Any) -> Any:
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        return int(value)
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return {"true": True, "false": False}.get(value.lower(), value)
    return value
