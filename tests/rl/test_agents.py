"""Agents: turns with tools between them, in a step of post-training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from yantra.base.errors import ConfigError
from yantra.rl.agents import split
from yantra.rl.answer import Answer, answered, as_dict
from yantra.rl.lengths import lengths_of
from yantra.rl.parts import machines_of, parts_of
from yantra.rl.question import made

_ASKED: dict[str, Any] = {
    "gpus": 4, "prompts": 8, "generations": 8, "lengths": "uniform:least=100,most=400",
    "prompt_tokens": 100, "train": {"pp": 2, "recompute": "full"}, "generate": {"tp": 1},
}  # fmt: skip


def _answer(mode: str = "sync", **more: Any) -> Answer:
    return answered(made("llama3-8b", "hgx-h100", mode=mode, **(_ASKED | more)))


def test_turns_keep_every_token() -> None:
    output = np.array([1, 3, 10, 997])
    cut = split(output, 4, 2.0, 50)
    assert np.add.reduceat(cut.output, cut.begin[:-1]).tolist() == output.tolist()
    assert np.diff(cut.begin).tolist() == [1, 3, 4, 4]
    assert cut.said.tolist() == [0, 100, 150, 150]
    again = cut.take(np.array([3, 1]))
    assert np.add.reduceat(again.output, again.begin[:-1]).tolist() == [997, 3]
    assert again.said.tolist() == [150, 100]


def test_tools_of_one_sample_add_up() -> None:
    alone: dict[str, Any] = {
        "prompts": 1,
        "generations": 1,
        "lengths": "fixed:tokens=60",
        "turns": 4,
    }
    alone |= {"generate": {"tp": 4}}
    none, some = (_answer(**alone, tool_delay_s=one).steps[0].parts for one in (0.0, 2.0))
    assert some.generation - none.generation == pytest.approx(3 * 2.0)
    assert some.tool * some.generation == pytest.approx(6.0)
    assert none.tool == 0


def test_slower_tools_make_steps_longer_and_gpus_wait() -> None:
    found = [_answer(turns=3, tool_delay_s=one) for one in (0.0, 5.0, 20.0)]
    seconds = [one.seconds for one in found]
    assert seconds == sorted(seconds) and seconds[2] > seconds[0] + 30
    assert as_dict(found[2])["idle"]["tool"] > as_dict(found[1])["idle"]["tool"] > 0
    assert _answer(turns=3, tool_tokens=500).seconds > seconds[0]


def test_beside_training_tools_are_waited_for_too() -> None:
    step = _answer("async", gpus=8, staleness=1, turns=3, tool_delay_s=20.0).steps[0]
    assert step.idle["tool"] > 0.1
    assert step.rolled is not None
    assert sum(step.rolled.generating.values()) == pytest.approx(1)


def test_a_file_has_the_turns_of_each_sample(tmp_path: Path) -> None:
    turns = [{"output": 40, "delay": "1500 ms", "added": 300}, {"output": 20, "delay": 9}]
    rows = [{"turns": turns}, {"output": 100}]
    path = tmp_path / "agents.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    lengths = lengths_of(str(path))
    assert lengths.cap == 360
    (drawn,) = lengths.drawn(2, 2)
    assert sorted(drawn.output.tolist()) == [60, 60, 100, 100]
    assert sorted(drawn.own.tolist()) == [100, 100, 360, 360]
    assert drawn.turns is not None
    assert drawn.turns.delay_s.sum() == 3.0  # behind a last turn is no tool
    question = made("llama3-8b", "hgx-h100", **(_ASKED | {"lengths": str(path)}))
    (drawn,) = question.lengths.drawn(8, 8)
    parts = parts_of(question, machines_of(question, drawn), drawn)
    assert parts.generation > 1.5 and parts.tool > 0
    with pytest.raises(ConfigError, match="have their own turns"):
        _answer(lengths=str(path), turns=2)


@pytest.mark.parametrize(
    "row", ['{"turns": []}', '{"turns": [{"output": 0}]}', '{"turns": [3]}',
            '{"output": 5, "turns": [{"output": 4}]}', '{"turns": [{"output": 4, "delay": -1}]}'],
)  # fmt: skip
def test_turns_that_cannot_be_are_refused(row: str, tmp_path: Path) -> None:
    path = tmp_path / "agents.jsonl"
    path.write_text(row)
    with pytest.raises(ConfigError, match=r"agents\.jsonl: line 1"):
        lengths_of(str(path))
    with pytest.raises(ConfigError, match="tool_delay"):
        _answer(tool_delay_s=3.0)
