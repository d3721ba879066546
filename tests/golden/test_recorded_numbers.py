"""Clusters, stacks and tuner constants are those read from their sources (`data/numbers`); `python
-m tests.golden.test_recorded_numbers` rewrites them.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from yantra.collectives.nccl import constants, rccl
from yantra.fabric import clusters, stacks

FOLDER = Path(__file__).parent / "data" / "numbers"
Row = tuple[str, str, str]


def _of_clusters() -> Iterator[Row]:
    for name in clusters.names():
        for key, number in clusters.load(name).numbers():
            yield name, key, number.written


def _of_stacks() -> Iterator[Row]:
    for name in stacks.names():
        for machine, terms in stacks.load(name).machines:
            for key, number in terms.numbers():
                yield name, f"{machine}: {key}", number.written


def _of_tuners() -> Iterator[Row]:
    for module in (constants, rccl):
        for name, value in _constants(module):
            for key, number in _flat(value):
                yield module.__name__.rpartition(".")[2], f"{name}{key}", repr(number)


def _constants(module: ModuleType) -> Iterator[tuple[str, Any]]:
    for name, value in vars(module).items():
        if name.isupper() and not name.startswith("_") and name not in ("PROTOCOLS", "ALGORITHMS"):
            yield name, value


def _flat(value: Any, key: str = "") -> Iterator[tuple[str, object]]:
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _flat(part, f"{key}.{name}")
    elif isinstance(value, tuple):
        for at, part in enumerate(value):
            yield from _flat(part, f"{key}[{at}]")
    else:
        yield key, value


RECORDED: dict[str, Callable[[], Iterator[Row]]] = {
    "clusters": _of_clusters,
    "stacks": _of_stacks,
    "tuners": _of_tuners,
}


def _read(name: str) -> list[Row]:
    with open(FOLDER / f"{name}.csv", newline="") as file:
        return [(of, key, value) for of, key, value in csv.reader(file)]


@pytest.mark.parametrize("name", RECORDED)
def test_numbers_are_those_that_were_read_from_their_sources(name: str) -> None:
    recorded, found = _read(name), list(RECORDED[name]())
    assert len(found) > 150
    assert [row for row in found if row not in set(recorded)] == []
    assert found == recorded


NVLINK = {"8.0": "20 GB/s", "9.0": "20.6 GB/s", "10.0": "40.1 GB/s"}
"""Of a link by compute capability: NCCL, src/graph/topo.h, SM80_NVLINK_BW and those after it."""


@pytest.mark.parametrize("name", clusters.names())
def test_latencies_and_links_that_follow_from_nccl_do(name: str) -> None:
    """A hop is half a step of a ring of NCCL's or RCCL's tuner, which crosses two."""
    steps = {
        "[nccl] tuning.cc": {
            "NVLink, LL": constants.NVLINK["Ring"][0],
            "network, LL": constants.NETWORK["Ring"][0],
        },
        "[rccl] tuning.cc": {"LL": rccl.MODELS["mi300"].xgmi["Ring"][0]},
    }
    for level in clusters.load(name).network:
        source = level.latency.source
        for table, of in steps.items():
            if source.startswith(table):
                said = re.search(r"([0-9.]+) us per step of a ring[^(]*\(([^)]*)\)", source)
                assert said is not None, source
                assert float(said[1]) == of[said[2]]
                hops = 1 if "within a node" in source else 2
                assert level.latency.value == pytest.approx(1000 * of[said[2]] / hops)
        if level.achievable is not None and "topo.h" in level.achievable.source:
            capability = level.achievable.source.rpartition(" ")[2]
            assert level.achievable.written == NVLINK[capability]


def test_a_number_of_one_source_is_the_same_in_all_stacks() -> None:
    said: dict[tuple[str, str], set[str]] = {}
    for name in stacks.names():
        for _, terms in stacks.load(name).machines:
            for key, number in terms.numbers():
                if key == "launch":
                    said.setdefault((key, number.source), set()).add(number.written)
    assert said and all(len(values) == 1 for values in said.values()), said


def _write() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, rows in RECORDED.items():
        with open(FOLDER / f"{name}.csv", "w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows())


if __name__ == "__main__":
    sys.exit(_write())
