"""Megatron-LM's arguments, divided into used and unused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from yantra.base.errors import ConfigError, did_you_mean, show
from yantra.base.shell import Word
from yantra.base.whole_numbers import is_whole, whole
from yantra.workloads.models.megatron.arguments import (
    DEEPSPEED,
    FLAG,
    LAUNCH,
    MODEL,
    NOT_MODELLED,
    NUMBER,
    PLAN,
    PLAN_TOGETHER,
    REAL,
    REFUSED,
    WORD,
)
from yantra.workloads.models.megatron.ignored import is_ignored

_USED: Mapping[str, str] = MODEL | PLAN | PLAN_TOGETHER | DEEPSPEED
_IF_KNOWN = ("deepspeed-config", "tokenizer-model", "tokenizer-type", "vocab-file")
"""Of use where the text decides them; else empty."""


class Given(NamedTuple):
    """Values of the used arguments, by name without dashes.

    `ignored` cost nothing; `notes` say what the plan does not distinguish.
    """

    values: dict[str, Any]
    ignored: tuple[str, ...]
    notes: tuple[str, ...]
    where: str

    def number(self, name: str, default: int = 0) -> int:
        value: int = self.values.get(name, default)
        return value

    def flag(self, name: str) -> bool:
        return name in self.values

    def wrong(self, name: str, problem: str) -> ConfigError:
        return ConfigError(f"{self.where}: --{name}", problem)


_FORMER = {
    "activations-checkpoint-method": "recompute-method",
    "activations-checkpoint-num-layers": "recompute-num-layers",
    "checkpoint-num-layers": "recompute-num-layers",
    "model-parallel-size": "tensor-model-parallel-size",
    "batch-size": "micro-batch-size",
    "cpu-optimizer": "optimizer-cpu-offload",
    "ds-sequence-parallel-size": "context-parallel-size",
    "moe-expert-parallel-size": "expert-model-parallel-size",
    "moe-train-capacity-factor": "moe-expert-capacity-factor",
    "num-key-value-heads": "num-query-groups",
    "topk": "moe-router-topk",
    "use-flash-attn-triton": "use-flash-attn",
    "use-flash-attn-v1": "use-flash-attn",
    "use-flash-attn-v2": "use-flash-attn",
}
"""Names of releases before 2023, and of Megatron-DeepSpeed."""
_ALSO = {
    "ds-sequence-parallel-size": ("cp-comm-type", "a2a"),
    "num-key-value-heads": ("group-query-attention", ""),
}
"""What else a former name says."""


def read(words: Iterable[Word], where: str) -> Given:
    """Raises ConfigError for an unknown or uncovered argument, and a missing, wrong or doubtful
    value.
    """
    values: dict[str, Any] = {}
    ignored: dict[str, None] = {}
    notes: dict[str, None] = {}
    for name, behind, doubt in _of_today(_arguments(words, where)):
        place = f"{where}: --{name}"
        if not name:
            expected = "an argument such as --num-layers"
            raise ConfigError(where, f"expected {expected}, got {show(' '.join(behind))}")
        if name in _IF_KNOWN and (doubt or len(behind) != 1):
            values[name] = ""
        elif name in _USED:
            if _USED[name] == FLAG and doubt and not any(behind):
                behind, doubt = [], ""  # of a variable that holds nothing
            if doubt:
                raise ConfigError(place, f"{doubt}; write out what it is")
            values[name] = _value(place, _USED[name], behind)
        elif name in REFUSED:
            raise ConfigError(place, f"{REFUSED[name]} is not covered")
        elif name in NOT_MODELLED:
            notes[f"--{name}: {NOT_MODELLED[name]}"] = None
        elif is_ignored(name):
            ignored[f"--{name}"] = None
        else:
            known = (*_USED, *NOT_MODELLED, *REFUSED)
            problem = "not an argument that is known here; it may change the model or the plan"
            raise ConfigError(place, problem + did_you_mean(name, known))
    if "deepspeed" in values:
        _as_megatron(values, notes)
    return Given(values, tuple(ignored), tuple(notes), where)


def _as_megatron(values: dict[str, Any], notes: dict[str, None]) -> None:
    """Defaults of Megatron-DeepSpeed's in Megatron-LM's words: one expert is a dense model."""
    if values.get("num-experts", 1) == 1:
        for name in ("num-experts", "expert-model-parallel-size", "moe-expert-capacity-factor"):
            values.pop(name, None)
        return
    values.setdefault("moe-router-topk", 1)
    values.setdefault("moe-layer-freq", str(values.get("expert-interval", 2)))
    if "disable-moe-token-dropping" in values:
        values.pop("moe-expert-capacity-factor", None)
    if "disable-bias-linear" not in values:
        notes["--num-experts: the biases of layers are left out"] = None
        values["disable-bias-linear"] = True


def _of_today(
    given: Iterable[tuple[str, list[str], str]],
) -> Iterator[tuple[str, list[str], str]]:
    """With names of today; the former ones recompute whole layers."""
    for name, behind, doubt in given:
        if name in ("activations-checkpoint-method", "checkpoint-activations"):
            yield "recompute-granularity", ["full"], ""
        if name in _ALSO:
            also, value = _ALSO[name]
            yield also, [value] if value else [], ""
        if name == "checkpoint-activations":
            yield "recompute-method", ["uniform"], ""
        else:
            yield _FORMER.get(name, name), behind, doubt


def launched(words: Iterable[Word], where: str) -> dict[str, int]:
    found: dict[str, int] = {}
    named = set()
    for name, behind, doubt in _arguments(words, where):
        meaning = LAUNCH.get(name)
        if meaning:
            named.add(meaning)
        if meaning and not doubt and len(behind) == 1 and is_whole(behind[0]):
            found[meaning] = int(behind[0])
    if "nproc-per-node" in found and "nnodes" not in named:
        found["nnodes"] = 1
    return found


def _arguments(words: Iterable[Word], where: str) -> Iterator[tuple[str, list[str], str]]:
    name, behind, doubt = "", [], ""
    for word in words:
        if not word.text and "uses $@," in word.doubt:
            continue
        if not word.text.startswith("--"):
            behind.append(word.text)
            doubt = doubt or word.doubt
            continue
        if name or behind:
            yield name, behind, doubt
        name, equals, value = word.text[2:].partition("=")
        name = name.replace("_", "-")
        behind = [value] if equals else []
        doubt = word.doubt
    if name or behind:
        yield name, behind, doubt


def _value(place: str, kind: str, words: list[str]) -> Any:
    if kind == FLAG:
        if words:
            raise ConfigError(place, f"a switch takes no value, got {show(' '.join(words))}")
        return True
    if not words or (kind in (NUMBER, REAL, WORD) and len(words) > 1):
        raise ConfigError(place, f"expected one value, got {len(words)}")
    try:
        if kind == NUMBER:
            number = whole(words[0].removeprefix("-"))
            if number is None:
                raise ValueError
            return -number if words[0].startswith("-") else number
        if kind == REAL:
            return float(words[0])
    except ValueError:
        expected = "a whole number" if kind == NUMBER else "a number"
        raise ConfigError(place, f"expected {expected}, got {show(words[0])}") from None
    return words[0] if kind == WORD else tuple(words)
