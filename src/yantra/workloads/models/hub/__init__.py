"""Published checkpoints by their ids: what each is, and in which type its weights are stored.

Trade-off: a table, which new models are not in; give the path of their config.json.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from yantra.base.errors import ConfigError
from yantra.workloads.models import hf, zoo
from yantra.workloads.models.model import Model
from yantra.workloads.models.transformer import Transformer

_TUNED = re.compile(
    r"[-_](instruct|chat|base|it|hf|alpha|beta|pt|thinking|v\d(\.\d)?|\d{4}|sft|full|dpo"
    r"|checkpoints|preview)$",
    re.IGNORECASE,
)
_RESIZED = re.compile(
    r"[-_](pro|pruned?|minitron|depth|width|draft|eagle\d?|mtp|lora|adapter|vision|vl|v|embedding"
    r"|small|mini|tiny|lite|moe|slim|\d*layers?|\d+(\.\d+)?[bm]|x\d+b)(?=$|[-_.])",
    re.IGNORECASE,
)
"""Words of a name that may tell of other sizes."""
_SIZE = re.compile(r"[ax]?\d+(\.\d+)?[bm]|\d+x\d+b")
_WORDS = re.compile(rf"(?:{_SIZE.pattern.replace('(', '(?:')})(?![a-z])|\d+(?:\.\d+)?|[a-z]+")
_NAMED = """
pro pruned minitron depth width draft eagle mtp vision vl vla v embedding embed reranker small mini
tiny lite moe slim nano audio omni layers layer reward tts asr ultra super
"""
_OTHERS = frozenset(_NAMED.split())
_ANY_OWNER = "*/"
_BLOCKS = re.compile(r"(Qwen|zai-org)/")
_FORMATS: Mapping[str, str] = {
    r"-FP8(-dynamic|-KV|-block|-Static-PerTensor)?": "fp8",
    r"-(NV)?FP4(-v\d)?": "nvfp4",
    r"[-.](AWQ|GPTQ)(-marlin)?([-_]?(Int4|4bit))?|-Int4(-mixed)?|[-.](quantized\.)?w4a16(-G128)?"
    r"|-MXFP4": "int4",
    r"-BF16|-bfloat16": "bf16",
    r"[-.](bnb-4bit|GGUF|GPTQ-Int[238]|int8|(quantized\.)?w8a(8|16)|exl\d|MLX|AQLM|W4AFP8)": "",
}
"""Ends of ids, and the type of their weights; empty where it is not modelled."""


class Stored(NamedTuple):
    """An id without what says its type, and the type; empty where the id says none."""

    id: str
    dtype: str


class Checkpoint(NamedTuple):
    """`model` describes it, `stored` is the type of its weights; empty where of 16 bits."""

    id: str
    model: Transformer | Model
    stored: str


def stored(name: str, where: str = "model") -> Stored:
    """Raises ConfigError for a type that is not modelled."""
    for end, dtype in _FORMATS.items():
        if (found := re.search(f"({end})$", name, re.IGNORECASE)) is not None:
            if not dtype:
                raise ConfigError(where, f"{name}: weights in {found[0][1:]} are not covered")
            is_blocks = dtype == "fp8" and found[0].upper() == "-FP8" and _BLOCKS.match(name)
            return Stored(name[: found.start()], "fp8_block" if is_blocks else dtype)
    return Stored(name, "")


def find(name: str, *, of_any_owner: bool = False) -> Checkpoint | None:
    """The checkpoint of an id, or of one without its owner, in 16 bits.

    `of_any_owner` takes a path that ends with its name, or with a name that begins with it: a model
    that others trained on.
    """
    known = _known(name)
    if not known and of_any_owner:
        last = name.rstrip("/").rpartition("/")[2]
        known = _known(last) or _begun(_ANY_OWNER + last.lower()) or _within(name)
    return _checkpoint(known) if known else None


def is_known(name: str) -> bool:
    return bool(_known(name))


def short_names() -> tuple[str, ...]:
    """The ids without their owners."""
    return tuple(sorted({one.rpartition("/")[2] for one in _rows()}))


def _known(name: str) -> str:
    key = name.lower()
    return _id(key if "/" in key else _ANY_OWNER + key)


def table() -> list[dict[str, Any]]:
    """The rows, each with `ids`, `weights`, and `config` or `model`."""
    text = files(__package__).joinpath("checkpoints.json").read_text(encoding="utf-8")
    found: list[dict[str, Any]] = json.loads(text)["models"]
    return found


def _id(key: str) -> str:
    """As the table writes it; empty where it has none."""
    while _plain(key) not in _ids():
        shorter = _TUNED.sub("", key)
        if shorter == key:
            return ""
        key = shorter
    return _ids()[_plain(key)]


def _within(path: str) -> str:
    """The id whose family, generation and size a part of a path says, among other words."""
    for part in reversed(path.split("/")):
        words = _WORDS.findall(part.lower())
        found = [(len(own), one) for own, one in _of_words() if _are_in(own, words)]
        if found:
            return max(found)[1]
    return ""


def _are_in(own: tuple[str, ...], words: list[str]) -> bool:
    """Whether words are there in order, and no others that may tell of other sizes."""
    at, rest = 0, []
    for word in words:
        if at < len(own) and word in (own[at], own[at].replace(".", "")):
            at += 1
        else:
            rest.append(word)
    return at == len(own) and not any(_SIZE.fullmatch(one) or one in _OTHERS for one in rest)


@cache
def _of_words() -> list[tuple[tuple[str, ...], str]]:
    plain = [(_TUNED.sub("", _TUNED.sub("", key.rpartition("/")[2])), key) for key in _rows()]
    split = [(tuple(_WORDS.findall(name.lower())), key) for name, key in plain]
    return [(own, key) for own, key in split if len(own) > 1 and any(map(_SIZE.fullmatch, own))]


def _begun(key: str) -> str:
    """The id that a name begins with; empty where the rest may tell of other sizes."""
    shorter = key
    while "-" in shorter:
        shorter = shorter.rpartition("-")[0]
        if (found := _id(shorter)) and not _RESIZED.search(key, len(shorter)):
            return found
    return ""


@cache
def _ids() -> Mapping[str, str]:
    whole = {_plain(one): one for one in _rows()}
    return whole | {_ANY_OWNER + key.rpartition("/")[2]: one for key, one in whole.items()}


def _plain(key: str) -> str:
    return key.lower().replace("-", "").replace("_", "")


@cache
def _rows() -> Mapping[str, dict[str, Any]]:
    return {one: row for row in table() for one in row["ids"]}


@cache
def _checkpoint(name: str) -> Checkpoint:
    row = _rows()[name]
    if "model" in row:
        return Checkpoint(name, zoo.get(row["model"]), row.get("stored", ""))
    model = hf.from_config(row["config"], f"{name} config.json", name)
    return Checkpoint(name, model, row.get("stored", ""))
