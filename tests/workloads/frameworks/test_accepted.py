"""Every flag that is written is one that the framework's own parser took, with its choices.

`accepted.json` has flags and choices of those parsers, read from the packages at these releases.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.serving.test_commands import OPTIONS, pools
from tests.workloads.frameworks.plans import SEQUENCE, plans
from tests.workloads.frameworks.test_round_trip import FEW
from yantra.serving.commands import emit_apart
from yantra.serving.pools import asked
from yantra.workloads.frameworks import emit

TAKEN = json.loads(Path(__file__).with_name("accepted.json").read_text(encoding="utf-8"))


def arguments(script: str, start: str) -> Iterator[tuple[str, str]]:
    """Flags behind the program, each with its first value."""
    line = script.replace("\\\n", " ").partition(start)[2].splitlines()[0]
    words = shlex.split(line)
    for at, word in enumerate(words):
        if word.startswith("--"):
            yield word[2:], words[at + 1] if at + 1 < len(words) else ""


def check(framework: str, script: str, start: str) -> None:
    taken: dict[str, Any] = TAKEN[framework]
    for name, value in arguments(script, start):
        if name in taken["choices"]:
            assert value in taken["choices"][name].split(), name
        else:
            assert name in taken["flags"].split(), name


@FEW
@given(data=st.data())
def test_megatron_takes_what_is_written(data: st.DataObject) -> None:
    model, plan = data.draw(plans("megatron"))
    check("megatron", emit("megatron", model, plan, SEQUENCE).files["train.sh"], "pretrain_gpt.py")


@pytest.mark.parametrize("engine", OPTIONS)
@settings(max_examples=10, deadline=None, derandomize=True)
@given(data=st.data())
def test_engines_take_what_is_written(engine: str, data: st.DataObject) -> None:
    model, replicas, fields = data.draw(pools(engine))
    pool = asked(replicas, engine, fields, "test")
    start = "vllm serve" if engine == "vllm" else "sglang.launch_server"
    for name, text in emit_apart({"prefill": pool, "decode": pool}, model).items():
        if name in ("prefill.sh", "decode.sh"):
            check(engine, text, start)
