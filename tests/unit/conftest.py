"""A complete set of ASTRA-sim input files, to be changed one at a time."""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cases import ASTRA_SIM_SYSTEM
from yantra.astra_sim import from_files
from yantra.scenario import Scenario

SYSTEM = ASTRA_SIM_SYSTEM | {"boost-mode": 0}
NETWORK = """
topology: [ Ring ]
npus_count: [ 8 ]
bandwidth: [ 50.0 ]
latency: [ 500.0 ]
"""
MEMORY = '{"memory-type": "NO_MEMORY_EXPANSION"}'

Read = Callable[..., tuple[Scenario, list[str]]]


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Read:
    """Read files that differ from the usual ones."""
    monkeypatch.chdir(tmp_path)

    def read_files(
        system: dict[str, Any] | str = "",
        network: str = NETWORK,
        memory: str = MEMORY,
        groups: str | None = None,
        groups_path: str = "groups.json",
        **options: Any,
    ) -> tuple[Scenario, list[str]]:
        if not isinstance(system, str) or not system:
            keys = SYSTEM | dict(system or {})
            system = json.dumps({key: value for key, value in keys.items() if value is not None})
        Path("system.json").write_text(system)
        Path("network.yml").write_text(network)
        Path("memory.json").write_text(memory)
        if groups is not None:
            Path(groups_path).write_text(groups)
            options["groups"] = groups_path
        return from_files(
            workload="workload",
            system="system.json",
            network="network.yml",
            memory="memory.json",
            **options,
        )

    return read_files


@pytest.fixture
def full_disk() -> Callable[..., AbstractContextManager[None]]:
    """Let no file of this process grow beyond some bytes, none if not given, within a block. Writes
    fail then as on a full disk, but for the name of the error.
    """

    @contextmanager
    def full(most_bytes: int = 0) -> Iterator[None]:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        writes_none, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            sys.dont_write_bytecode = writes_none

    return full
