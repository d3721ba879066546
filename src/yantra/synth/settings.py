"""Settings of a training job, and the features that they make.

Trade-off: features are a transformer's (tokens, tokens squared, weights, over ranks); what follows
another law is fitted by the nearest of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from yantra.base.errors import ConfigError, did_you_mean, expected_got
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.step.layers import layer_ranges


class Settings(NamedTuple):
    """A plan and sizes; `sequence` in tokens."""

    layers: int = 1
    tp: int = 1
    cp: int = 1
    pp: int = 1
    dp: int = 1
    ep: int = 1
    zero: int = 0
    micro_batch: int = 1
    micro_batches: int = 1
    sequence: int = 1
    schedule: str = "1f1b"

    @property
    def plan(self) -> Plan:
        """As a plan."""
        kept = {name: getattr(self, name) for name in _OF_PLAN}
        return Plan(**kept, global_batch=self.micro_batch * self.micro_batches * self.dp)

    @property
    def stages(self) -> tuple[int, ...]:
        """Layers of each stage."""
        return tuple(end - first for first, end in layer_ranges(self.layers, self.pp))


_OF_PLAN = ("tp", "cp", "pp", "dp", "ep", "zero", "micro_batch", "schedule")
NUMBERS = tuple(name for name in Settings._fields if name != "schedule")
SCHEDULES = ("1f1b", "gpipe")
"""Those of whole backward passes and one chunk a device."""

_MOST = 1 << 20


def settings_of(given: Mapping[str, Any], where: str) -> Settings:
    """Raises ConfigError for an unknown name or a value out of range."""
    for name, value in given.items():
        if name not in Settings._fields:
            raise ConfigError(f"{where}: {name}", "unknown" + did_you_mean(name, Settings._fields))
        if name == "schedule":
            if value not in SCHEDULES:
                raise ConfigError(f"{where}: schedule", expected_got("1f1b or gpipe", value))
        elif type(value) is not int or not int(name != "zero") <= value <= _MOST:
            raise ConfigError(f"{where}: {name}", expected_got("a whole number from 1", value))
    made = Settings(**given)
    if made.pp > made.layers:
        raise ConfigError(f"{where}: pp", f"{made.pp} stages need as many layers as that or more")
    if made.zero > 3:
        raise ConfigError(f"{where}: zero", expected_got("0 to 3", made.zero))
    return made


def changed(base: Settings, asked: Iterable[str]) -> Settings:
    """`base` with `NAME=VALUE`s, parted by commas."""
    new: dict[str, Any] = {}
    for text in (part for each in asked for part in each.split(",")):
        name, equals, value = text.partition("=")
        if not equals:
            raise ConfigError("--set", expected_got("NAME=VALUE, such as layers=96", text))
        new[name] = int(value) if value.isascii() and value.isdigit() else value
    return settings_of({**base._asdict(), **new}, "--set")


LAYER = (
    "tokens/tp", "tokens", "tokens*sequence/tp", "weights/tp", "weights", "weights/ep",
    "weights/tp/ep", "weights/tp/dp", "weights/dp", "weights/ep/dp", "weights/tp/dp*ep",
)  # fmt: skip
ENDS = ("tokens/tp", "tokens", "weights/tp", "weights", "weights/tp/dp")
MESSAGE = ("tokens", "tokens/tp", "one", "layers/tp")
FEATURES = (
    *(f"layer {name}" for name in LAYER),
    *(f"first {name}" for name in ENDS),
    *(f"last {name}" for name in ENDS),
)
"""Of a stage; `MESSAGE` are those of a job."""


def job_features(of: Settings) -> list[float]:
    """The values of `MESSAGE`."""
    tokens = of.micro_batch * of.sequence / of.cp
    return [tokens, tokens / of.tp, 1.0, of.layers / of.tp]


def stage_features(of: Settings, stage: int, layers: Sequence[int]) -> list[float]:
    """The values of `FEATURES` for a stage."""
    tokens = of.micro_batch * of.sequence / of.cp
    shared = of.dp * of.cp
    each = (
        tokens / of.tp,
        tokens,
        tokens * of.sequence / of.tp,
        1 / of.tp,
        1.0,
        1 / of.ep,
        1 / of.tp / of.ep,
        1 / of.tp / shared,
        1 / shared,
        1 / of.ep / shared,
        of.ep / of.tp / shared,
    )
    ends = (tokens / of.tp, tokens, 1 / of.tp, 1.0, 1 / of.tp / shared)
    first, last = float(stage == 0), float(stage == of.pp - 1)
    return [
        *(layers[stage] * value for value in each),
        *(first * value for value in ends),
        *(last * value for value in ends),
    ]
