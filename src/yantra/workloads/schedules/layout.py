"""Layers of each stage as a text: numbers, or the layout of Megatron-LM.

A list has a number per stage. A layout has `E` for the embedding, `t` a layer, `L` the head with
the loss, `|` between stages, and `*n` repeats what precedes it: `Et*5|(t*8|)*3t*5L`. Commas and
blanks mean nothing.

`m` are layers of multi-token prediction, which come with the head.

Trade-off: the embedding is on the first stage and the head on the last; other layouts are refused.

Source: Megatron-LM, `--pipeline-model-parallel-layout`
(core/transformer/pipeline_parallel_layer_layout.py).
"""

from __future__ import annotations

import re
from typing import Any

from yantra.base.errors import ConfigError, expected_got, show

_MOST = 1 << 16
_NUMBERS = re.compile(r"\s*\d+\s*(,\s*\d+\s*)*")
_REPEATED = re.compile(r"\(([^()]*)\)\*(\d+)|([^()*])\*(\d+)")


def layers_of(value: Any, field: str = "stage_layers") -> tuple[int, ...]:
    """Raises ConfigError."""
    if isinstance(value, str):
        if not _NUMBERS.fullmatch(value):
            return _of_layout(value, field)
        value = [int(number) if len(number) < 12 else -1 for number in value.split(",")]
    whole = isinstance(value, list | tuple) and all(type(one) is int and one >= 0 for one in value)
    if not whole or not value or sum(value) > _MOST:
        expected = "the layers of each stage, such as 6,9,9,6, or a layout such as Et*6|t*9|t*6L"
        raise ConfigError(field, expected_got(expected, value))
    return tuple(value)


def _of_layout(text: str, field: str) -> tuple[int, ...]:
    stages = _unrolled(text, field).split("|")
    for at, stage in enumerate(stages):
        strange = set(stage) - set("EtmL")
        if strange:
            known = "E, t, m, L, | between stages, ( )*n"
            raise ConfigError(field, f"{expected_got(known, ''.join(sorted(strange)))}")
        ends = ("E" in stage) == (at == 0) and ("L" in stage) == (at == len(stages) - 1)
        in_order = re.fullmatch("E?t*(m*L)?", stage)
        if not ends or not in_order:
            problem = "E must be first on the first stage, and L last on the last, after m if any"
            raise ConfigError(field, f"stage {at} of {show(text)} is {show(stage)}; {problem}")
    return tuple(stage.count("t") for stage in stages)


def modules_of(layout: str) -> int:
    """Layers of multi-token prediction in a layout."""
    return _unrolled(layout, "stage_layers").count("m")


def _unrolled(text: str, field: str) -> str:
    plain = re.sub(r"[\s,]", "", text)
    while found := _REPEATED.search(plain):
        times = int((found[2] or found[4])[:12])
        what = found[1] if found[2] else found[3]
        if times * len(what) > _MOST:
            raise ConfigError(field, f"{show(text)} has more than {_MOST} layers")
        plain = plain[: found.start()] + what * times + plain[found.end() :]
    return plain
