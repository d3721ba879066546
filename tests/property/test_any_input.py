"""Any input ends in a scenario or an error of Yantra's."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yantra import scenario as scenarios
from yantra.astra_sim import flags, from_files
from yantra.base.documents import parse_yaml
from yantra.base.errors import ConfigError, UnsupportedError
from yantra.scenario import Scenario
from yantra.scenario.astra_sim_keys import SYSTEM

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**66), 2**66)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(["LIFO", "localBWAware", "direct4", "oneRing", "RG", "MEMORY_POOL"])
)
trees = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
system_keys = st.sampled_from([key.name for key in SYSTEM])
numbers = st.sampled_from(["0", "8", "010", "0x4", "-1", "1e3", ".5", "1_0", "x", "~", "[1]"])

GOOD_SYSTEM = {"scheduling-policy": "LIFO", "preferred-dataset-splits": 4}
GOOD_NETWORK = "{topology: [Ring], npus_count: [8], bandwidth: [50], latency: [500]}"
GOOD_MEMORY = '{"memory-type": "NO_MEMORY_EXPANSION"}'
GOOD_SCENARIO: dict[str, Any] = {
    "workload": {"traces": "step.{rank}.et"},
    "cluster": {
        "topology": [{"kind": "ring", "size": 8, "bandwidth": "50 GB/s", "latency": "5 ns"}],
        "device": {"peak": "1 TFLOP/s"},
        "memory": {"kind": "pool", "bandwidth": "1 GB/s"},
    },
    "collectives": {"all_reduce": ["ring"], "shared_bus": {"l": "1 ns"}, "chunks": 4},
    "resources": {"cpu_slots": 1},
}


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def read(folder: Path, **texts: str) -> None:
    good = {"system": json.dumps(GOOD_SYSTEM), "network": GOOD_NETWORK, "memory": GOOD_MEMORY}
    for name, text in (good | {"groups": "{}"} | texts).items():
        (folder / name).write_text(text, encoding="utf-8")
    try:
        scenario, warnings = from_files(
            workload="w",
            system="system",
            network="network",
            memory="memory",
            groups="groups",
            directory=folder,
            scheduling_keys="honour",
        )
    except (ConfigError, UnsupportedError) as error:
        assert "\n" not in str(error)
    else:
        assert isinstance(scenario, Scenario)
        assert all(isinstance(warning, str) for warning in warnings)


@given(keys=st.dictionaries(system_keys, trees, max_size=4))
def test_any_system_file(folder: Path, keys: dict[str, Any]) -> None:
    read(folder, system=json.dumps(GOOD_SYSTEM | keys))


@given(keys=st.dictionaries(st.sampled_from(["memory-type", "remote-mem-bw", "num-nodes"]), trees))
def test_any_memory_file(folder: Path, keys: dict[str, Any]) -> None:
    read(folder, memory=json.dumps(json.loads(GOOD_MEMORY) | keys))


@given(tree=trees | st.dictionaries(st.sampled_from(["0", "1", "02"]), trees))
def test_any_group_file(folder: Path, tree: Any) -> None:
    read(folder, groups=json.dumps(tree))


@given(sizes=st.lists(numbers, max_size=2), bandwidths=st.lists(numbers, max_size=2))
def test_any_network_file(folder: Path, sizes: list[str], bandwidths: list[str]) -> None:
    lists = f"npus_count: [{', '.join(sizes)}], bandwidth: [{', '.join(bandwidths)}]"
    read(folder, network=f"{{topology: [Ring], {lists}, latency: [1]}}")


@given(name=st.sampled_from(["system", "network", "memory", "groups"]), text=st.text(max_size=40))
def test_any_text(folder: Path, name: str, text: str) -> None:
    read(folder, **{name: text})


@given(st.lists(st.text(max_size=10) | st.sampled_from([f"--{name}" for name in flags.OPTIONS])))
def test_any_command_line(arguments: list[str]) -> None:
    try:
        assert isinstance(flags.parse(arguments), flags.Flags)
    except ConfigError as error:
        assert str(error).startswith("--")


@given(st.data())
def test_any_value_in_any_place_of_a_scenario_file(data: st.DataObject) -> None:
    tree = json.loads(json.dumps(GOOD_SCENARIO))
    place = tree
    while True:
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else [0]))
        if not isinstance(place[key], dict | list) or data.draw(st.booleans()):
            break
        place = place[key]
    place[key] = data.draw(trees)
    try:
        assert isinstance(scenarios.loads(json.dumps(tree)), Scenario)
    except (ConfigError, UnsupportedError) as error:
        assert str(error)


@given(st.text(max_size=60) | st.text(alphabet="{}[]:,&*!-?#'\"| \n\tab1", max_size=60))
def test_any_text_is_yaml_or_a_configuration_error(text: str) -> None:
    try:
        parse_yaml(text, "file")
    except ConfigError as error:
        assert str(error).startswith("file")
