"""Memory and group files that ASTRA-sim refuses, crashes on or reads without definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from yantra.base.errors import ConfigError

TYPES = (
    '"NO_MEMORY_EXPANSION", "PER_NPU_MEMORY_EXPANSION", "PER_NODE_MEMORY_EXPANSION" or '
    '"MEMORY_POOL"'
)


def memory(kind: str, **keys: str) -> str:
    entries = [f'"{key.replace("_", "-")}": {value}' for key, value in keys.items()]
    return "{" + ", ".join([f'"memory-type": {kind}', *entries]) + "}"


def per_node(**keys: str) -> str:
    return memory('"PER_NODE_MEMORY_EXPANSION"', **keys)


MEMORIES: list[tuple[str, str]] = [
    ("", "memory.json, line 1, column 1: not JSON: expecting value"),
    (
        memory('"HBM"'),
        f'memory.json: "memory-type": unknown name; expected {TYPES}, got "HBM"',
    ),
    (
        memory('"MEMORY_POOL"', remote_mem_bw='"100"'),
        'memory.json: "remote-mem-bw": expected a number, got "100"',
    ),
    (
        memory('"MEMORY_POOL"', remote_mem_latency="true"),
        'memory.json: "remote-mem-latency": expected a number, got true',
    ),
    (
        memory('"MEMORY_POOL"', remote_mem_latency="-1"),
        'memory.json: "remote-mem-latency": must be at least 0; got -1',
    ),
    (
        memory('"MEMORY_POOL"', remote_mem_latency="1e30"),
        'memory.json: "remote-mem-latency": does not fit an integer of ASTRA-sim; got 1e+30',
    ),
    (
        per_node(num_nodes="2", remote_mem_bw="1"),
        'memory.json: "num-npus-per-node": must be at least 1; got 0',
    ),
    (
        per_node(num_nodes="1", num_npus_per_node="4", remote_mem_bw="1"),
        'memory.json: "num-nodes": must be at least 2, as 8 NPUs in nodes of 4 need that many; '
        "got 1",
    ),
]


@pytest.mark.parametrize(("text", "message"), MEMORIES, ids=[text for _, text in MEMORIES])
def test_a_bad_memory_file_is_explained(read: Callable[..., Any], text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(memory=text)
    assert str(caught.value) == message


GROUPS: list[tuple[str, str]] = [
    ("[[0, 1]]", 'groups.json: expected a JSON object such as {"1": [0, 1]}, got [[0, 1]]'),
    (
        '{"0": [0, 1]}',
        'groups.json: "0": group 0 cannot be defined, because pg_name 0 always means all ranks; '
        "use a positive id (ASTRA-sim aborts here)",
    ),
    (
        '{"default": [0]}',
        'groups.json: "default": expected a group id (a positive integer below 2147483648), got '
        '"default"',
    ),
    (
        '{"-1": [0]}',
        'groups.json: "-1": expected a group id (a positive integer below 2147483648), got "-1"',
    ),
    (
        '{"2147483648": [0]}',
        'groups.json: "2147483648": expected a group id (a positive integer below 2147483648), got '
        '"2147483648"',
    ),
    (
        '{"+0": [0, 1]}',
        'groups.json: "+0": group 0 cannot be defined, because pg_name 0 always means all ranks; '
        "use a positive id (ASTRA-sim aborts here)",
    ),
    ('{"1": 5}', 'groups.json: "1": expected a list of ranks, got 5'),
    ('{"1": []}', 'groups.json: "1": expected a list of ranks, got []'),
    ('{"1": [0, 8]}', 'groups.json: "1": expected ranks from 0 to 7, got 8'),
    ('{"1": [-1, 2]}', 'groups.json: "1": expected ranks from 0 to 7, got -1'),
    ('{"1": [0, true]}', 'groups.json: "1": expected a rank (an integer), got true'),
    ('{"1": [3, 2, 3]}', 'groups.json: "1": rank 3 is listed more than once'),
    ('{"1": [0 1]}', "groups.json, line 1, column 10: not JSON: expecting ',' delimiter"),
]


@pytest.mark.parametrize(("text", "message"), GROUPS, ids=[text for _, text in GROUPS])
def test_a_bad_group_file_is_explained(read: Callable[..., Any], text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(groups=text)
    assert str(caught.value) == message


def test_a_missing_file_is_named(read: Callable[..., Any], tmp_path: Any) -> None:
    read()
    for name in ("system.json", "network.yml", "memory.json"):
        (tmp_path / name).rename(tmp_path / "elsewhere")
        with pytest.raises(ConfigError) as caught:
            _read_again(tmp_path)
        assert str(caught.value) == (
            f"{tmp_path / name}: cannot be read: No such file or directory"
        )
        (tmp_path / "elsewhere").rename(tmp_path / name)


def _read_again(folder: Any) -> None:
    from yantra.astra_sim import from_files

    from_files(
        workload="workload",
        system="system.json",
        network="network.yml",
        memory="memory.json",
        directory=folder,
    )
