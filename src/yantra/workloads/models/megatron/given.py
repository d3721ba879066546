"""Megatron-LM's arguments, divided into used and unused."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from yantra.base.errors import ConfigError, did_you_mean, show
from yantra.base.notes import note
from yantra.base.open_values import Open
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
_TYPED_WRONG = 0.9
_STRUCTURE = re.compile(
    "att|layer|hidden|head|expert|moe|mlp|ffn|norm|embed|vocab|posit|rot|rope|parallel|pipe|stage"
    "|virtual|chunk|seq|context|batch|recomp|activ|offload|shard|zero|fsdp|fp8|fp4|fp16|bf16|dtype"
    "|precision|quant|optim|overlap|bucket|hybrid|mamba|linear|window|spars|lora|adapter|draft|spec"
    "|model|gpt|llama|decoder|encoder|task|aggreg|size|topk|token(?!izer)",
    re.IGNORECASE,
)


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
    "RMSNorm": "normalization",
    "overlapped-distributed-optimizer": "use-distributed-optimizer",
    "tokenizer-name-or-path": "tokenizer-model",
    "use-flash-attn-triton": "use-flash-attn",
    "use-flash-attn-v1": "use-flash-attn",
    "use-flash-attn-v2": "use-flash-attn",
}
"""Names of releases before 2023, of Megatron-DeepSpeed and of alibaba/Megatron-LLaMA."""
_ALSO = {
    "ds-sequence-parallel-size": ("cp-comm-type", "a2a"),
    "num-key-value-heads": ("group-query-attention", ""),
    "overlapped-distributed-optimizer": ("overlap-grad-reduce", ""),
}
"""What else a former name says."""


def read(words: Iterable[Word], where: str, left_open: dict[str, Open] | None = None) -> Given:
    """Raises ConfigError for an unknown or uncovered argument, and a missing, wrong or doubtful
    value. `left_open` takes those instead that a setting may say: fields of a plan, and `model`.
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
            if not doubt or _is_taken(place, name, behind, doubt, left_open):
                values[name] = _value(place, _USED[name], behind)
        elif name in REFUSED:
            raise ConfigError(place, f"{REFUSED[name]} is not covered")
        elif name in NOT_MODELLED:
            notes[f"--{name}: {NOT_MODELLED[name]}"] = None
        elif is_ignored(name):
            ignored[f"--{name}"] = None
        else:
            known = (*_USED, *NOT_MODELLED, *REFUSED)
            _unknown(place, name, did_you_mean(name, known), left_open)
    if "deepspeed" in values:
        _as_megatron(values)
    if "num-experts" in values and "disable-bias-linear" not in values:
        notes["--num-experts: the biases of layers are left out"] = None
        values["disable-bias-linear"] = True
    return Given(values, tuple(ignored), tuple(notes), where)


def _is_taken(
    place: str, name: str, behind: list[str], doubt: str, left_open: dict[str, Open] | None
) -> bool:
    """Whether a value in doubt is read, of a condition that stays open. Raises ConfigError."""
    if left_open is None:
        raise ConfigError(place, f"{doubt}; write out what it is")
    if "depend on a condition" in doubt and all(behind):
        note(f"{place}: {doubt}, which is taken to hold")
        return True
    field = name.replace("-", "_")
    if PLAN.get(name, FLAG) != FLAG:
        left_open[field] = Open.of(ConfigError(place, doubt))
    elif name in MODEL:
        left_open.setdefault("model", Open.of(ConfigError(place, doubt)))
    else:
        note(f"{place}: {doubt}; taken as its default (--set workload.plan.{field}=VALUE)")
    return False


def _unknown(place: str, name: str, hint: str, left_open: dict[str, Open] | None) -> None:
    """Raises ConfigError; or, for what a setting may answer, leaves the model open or notes it."""
    from difflib import get_close_matches

    problem = "not an argument that is known here; it may change the model or the plan"
    if left_open is None or get_close_matches(name, _USED, 1, _TYPED_WRONG):
        raise ConfigError(place, problem + hint)
    if says_structure(name):
        left_open.setdefault("model", Open.of(ConfigError(place, problem)))
    else:
        note(f"{place}: not an argument that is known here; left out")


def says_structure(name: str) -> bool:
    """Whether an unknown name may say how a model is built or spread."""
    return _STRUCTURE.search(name) is not None


def _as_megatron(values: dict[str, Any]) -> None:
    """Defaults of Megatron-DeepSpeed's in Megatron-LM's words: one expert is a dense model."""
    if values.get("num-experts", 1) == 1:
        for name in ("num-experts", "expert-model-parallel-size", "moe-expert-capacity-factor"):
            values.pop(name, None)
        return
    values.setdefault("moe-router-topk", 1)
    values.setdefault("moe-layer-freq", str(values.get("expert-interval", 2)))
    if "disable-moe-token-dropping" in values:
        values.pop("moe-expert-capacity-factor", None)


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
            yield _FORMER.get(name, name), ["RMSNorm"] if name == "RMSNorm" else behind, doubt


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
