"""Files of rules (.ysyn): JSON, of which nothing runs; what does not fit is refused.

Trade-off: text is larger than packed numbers, and anybody can look at what is given away.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from yantra.base.errors import ConfigError
from yantra.base.output import write_text
from yantra.base.regular import read_regular
from yantra.synth.law import Law
from yantra.synth.motifs import LONGEST, Motif
from yantra.synth.passes import BACKWARD, END, FORWARD, LATE, START, Call
from yantra.synth.rules import AMOUNTS, AXES, WORK, CallLaw, Component, Rules, is_whole
from yantra.synth.settings import FEATURES, MESSAGE, Settings, settings_of

FORMAT, VERSION = "yantra synth", 2
TIERS = ("rules", "grammar")
_POSITIONS = {"only", "first", "middle", "last"}
_MOST_BYTES = 1 << 28


def save(rules: Rules, path: str) -> None:
    """Write rules to a file; equal rules give equal bytes."""
    form = {"format": FORMAT, "version": VERSION, "tier": rules.tier}
    form["components"] = [_component_as_json(one) for one in rules.components]
    write_text(path, json.dumps(form, indent=1) + "\n")


def load(path: str) -> Rules:
    """Read rules. Raises ConfigError for anything but what `save` writes."""
    try:
        content = read_regular(path)
    except OSError as error:
        raise ConfigError(path, f"cannot be read: {error.strerror or error}") from None
    try:
        if len(content) > _MOST_BYTES:
            raise ValueError(f"{len(content)} bytes are too many")
        form = json.loads(content)
        if form["format"] != FORMAT or form["tier"] not in TIERS:
            raise ValueError(f"expected format {FORMAT!r}")
        if form["version"] in range(1, VERSION):
            raise ConfigError(path, "of an older `yantra synth fit`; fit the jobs again")
        if form["version"] != VERSION:
            raise ValueError(f"expected version {VERSION}")
        made = Rules(form["tier"], [_component(one) for one in form["components"]])
        if not made.components:
            raise ValueError("no component")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        said = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
        problem = f"not rules that `yantra synth fit` wrote, or damaged: {said[:120]}"
        raise ConfigError(path, problem) from None
    return made


def _component_as_json(component: Component) -> dict[str, Any]:
    return {
        "jobs": component.jobs,
        "seen": component.seen,
        "work": {name: law._asdict() for name, law in component.work.items()},
        "messages": {name: law._asdict() for name, law in component.messages.items()},
        "calls": {
            call.word: law._asdict() | {"calls": law.calls._asdict(), "size": law.size._asdict()}
            for call, law in component.calls.items()
        },
        "grammar": {
            kind: [
                {
                    "tokens": one.tokens,
                    "times": one.times._asdict(),
                    "after": list(one.after.items()),
                }
                for one in motifs
            ]
            for kind, motifs in component.grammar.items()
        },
    }


def _component(form: Mapping[str, Any]) -> Component:
    jobs, seen = form["jobs"], {name: list(form["seen"][name]) for name in Settings._fields}
    if type(jobs) is not int or not jobs > 0 or {len(some) for some in seen.values()} != {jobs}:
        raise ValueError("expected a value of each setting for each job")
    for name, values in seen.items():
        for value in values:
            settings_of({"layers": 1 << 20, name: value}, "seen")
    names = {f"{kind} {name}" for kind in (FORWARD, BACKWARD, END) for name in WORK}
    _known(form["work"], names)
    _known(form["messages"], {FORWARD, BACKWARD})
    _known(form["grammar"], {FORWARD, BACKWARD, END})
    calls = {}
    for word, one in form["calls"].items():
        call = _call(word)
        features = len(MESSAGE if is_whole(call) else FEATURES)
        calls[call] = CallLaw(
            _law(one["calls"], features),
            _law(one["size"], features),
            _shares(one["beside"]),
            _shares(one["place"]),
            _number(one["after"]),
        )
    return Component(
        jobs,
        seen,
        {name: _law(law, len(FEATURES)) for name, law in form["work"].items()},
        calls,
        {name: _law(law, len(MESSAGE)) for name, law in form["messages"].items()},
        {kind: _motifs(some, calls) for kind, some in form["grammar"].items()},
    )


def _motifs(form: list[Mapping[str, Any]], calls: Mapping[Call, CallLaw]) -> list[Motif]:
    words = {*AMOUNTS, *(call.word for call in calls)}
    found = []
    for one in form:
        tokens = [(word, octave) for word, octave in one["tokens"]]
        if not 0 < len(tokens) <= LONGEST or not {word for word, _ in tokens} <= words:
            raise ValueError("a motif of unknown tokens, or too long a one")
        if any(type(octave) is not int or abs(octave) > 64 for _, octave in tokens):
            raise ValueError("a motif of sizes that none has")
        after = {int(_number(at)): int(_number(times)) for at, times in one["after"]}
        found.append(Motif(tokens, _law(one["times"], len(FEATURES)), after))
    return found


def _known(form: Mapping[str, Any], names: set[str]) -> None:
    for name in form:
        if name not in names:
            raise ValueError(f"unknown amount {name!r}")


def _call(word: str) -> Call:
    when, type, axes, beside = word.split(" ")
    spanned = axes.removeprefix("ends:").split("+")
    if (
        when not in (FORWARD, BACKWARD, END, START, LATE)
        or not 0 <= int(type) <= 9
        or not set(spanned) <= set(AXES)
        or beside not in ("beside", "between")
    ):
        raise ValueError(f"unknown call {word!r}")
    return Call(when, int(type), axes, beside == "beside")


def _law(form: Mapping[str, Any], features: int) -> Law:
    coefficients = [_number(one) for one in form["coefficients"]]
    if len(coefficients) != features:
        raise ValueError(f"expected {features} coefficients, got {len(coefficients)}")
    return Law(coefficients, _number(form["left"]))


def _shares(form: Mapping[str, Any]) -> dict[str, float]:
    _known(form, _POSITIONS)
    return {name: min(_number(value), 1.0) for name, value in form.items()}


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"expected a number, got {value!r}")
    if not 0 <= value < 1e30 or not math.isfinite(value):
        raise ValueError(f"expected a number from 0, got {value}")
    return float(value)
