"""Mistakes in JSON, read by a process that has read nothing else, as `yantra astra-sim` is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cases import ALL_REDUCE
from yantra.base.documents import parse_json
from yantra.base.errors import ConfigError
from yantra.chakra import TraceBuilder

MISTAKES = (
    '{"a": 1,}',
    '{"a": 1 "b": 2}',
    '{"a" 1}',
    "{'a': 1}",
    '{"a": "b}',
    '{"a": "\t"}',
    '{"a": "\\q"}',
    '{"a": 1, // comment\n"b": 2}',
    '{"a": 1, # comment\n}',
    '{"a": 1',
    "{a: 1}",
    '{"a": }',
    '{"a": [1, 2}',
    '{"a": [1 2]}',
    '{"a": tru}',
    '{"a": 01}',
    '{"a": .5}',
    '{"a": "\\u12"}',
    '{"a": NaN}',
    '{"a": -}',
    "",
    "[",
    "nonsense",
)
_READER = """
import sys
from yantra.base.documents import parse_json
from yantra.base.errors import ConfigError
for text in sys.stdin.read().split("\\0"):
    try:
        said = repr(parse_json(text, "file.json"))
    except ConfigError as error:
        said = str(error)
    print(said, end="\\0")
"""


def _said(text: str) -> str:
    try:
        return repr(parse_json(text, "file.json"))
    except ConfigError as error:
        return str(error)


def test_a_fresh_process_says_of_every_mistake_what_any_process_says() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _READER],
        input="\0".join(MISTAKES),
        capture_output=True,
        text=True,
        check=True,
    )
    said = done.stdout.split("\0")[:-1]
    assert said == [_said(text) for text in MISTAKES]
    assert all("not JSON" in one for one in said)


@pytest.mark.parametrize("file", ["system.json", "memory.json", "groups.json"])
def test_the_command_ends_with_status_2_and_the_place(file: str, tmp_path: Path) -> None:
    trace = TraceBuilder()
    trace.collective(ALL_REDUCE, 1024)
    for rank in range(4):
        trace.build().write(tmp_path / f"workload.{rank}.et")
    system = {
        "scheduling-policy": "LIFO",
        "preferred-dataset-splits": 1,
        "all-reduce-implementation": ["ring"],
    }
    texts = {
        "system.json": json.dumps(system),
        "memory.json": '{"memory-type": "NO_MEMORY_EXPANSION"}',
        "groups.json": '{"1": [0, 1]}',
        "network.yml": "topology: [Ring]\nnpus_count: [4]\nbandwidth: [50]\nlatency: [500]\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text[:-1] + ",}" if name == file else text)
    options = {
        "workload": "workload",
        "system": "system.json",
        "network": "network.yml",
        "remote-memory": "memory.json",
        "comm-group": "groups.json",
    }
    done = subprocess.run(
        [
            *(sys.executable, "-m", "yantra", "astra-sim"),
            *(f"--{name}-configuration={tmp_path / path}" for name, path in options.items()),
            f"--logging-folder={tmp_path / 'log'}",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    column = len(texts[file]) + 1
    assert f"{file}, line 1, column {column}: not JSON: expecting property name" in done.stderr
