"""Laws of scenario files: reading undoes writing, and the schema accepts what is written."""

from __future__ import annotations

from typing import Any, get_args

import jsonschema
from hypothesis import given
from hypothesis import strategies as st

from yantra import scenario as scenarios
from yantra.base.documents import parse_yaml
from yantra.fabric import topologies
from yantra.scenario import types

names = st.text(min_size=1, max_size=12).filter(lambda text: text == text.strip())
prefixes = st.from_regex(r"[a-z0-9~'#:é./-]{1,12}", fullmatch=True)
positive = st.floats(1e-9, 1e18)
not_negative = st.floats(0, 1e18)
whole_ns = st.integers(0, 2**52)


def one_of(literal: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(get_args(literal))


kinds_and_sizes = st.tuples(
    st.sampled_from([*topologies.topologies.names(), "two_level_tree2"]), st.integers(2, 6)
).filter(lambda drawn: topologies.find(drawn[0]).supports(drawn[1]) is None)


@st.composite
def dimensions(draw: st.DrawFn) -> types.Dimension:
    kind, size = draw(kinds_and_sizes)
    speed = {"bytes_per_ns": draw(positive), "latency_ns": draw(not_negative)}
    return types.Dimension(kind=kind, size=size, **speed)


devices = st.builds(
    types.Device,
    peak_flops=positive,
    memory_bytes_per_s=positive,
    compute=st.sampled_from(["recorded", "roofline"]),
)
memories = st.builds(
    types.RemoteMemory,
    kind=st.sampled_from(["none", "per_npu", "pool"]),
    latency_ns=whole_ns,
    bytes_per_ns=positive,
)
buses = st.builds(
    types.SharedBus, l_ns=whole_ns, o_ns=whole_ns, g_ns=whole_ns, big_g_ns_per_byte=not_negative
)


def collectives(size: int) -> st.SearchStrategy[types.Collectives]:
    native = st.lists(names, min_size=size, max_size=size).map(tuple)
    algorithms = st.none() | native | st.builds(types.Custom, prefix=prefixes)
    per_node = st.dictionaries(st.integers(0, 2**64 - 1), prefixes, max_size=2)
    return st.builds(
        types.Collectives,
        all_reduce=algorithms,
        all_gather=algorithms,
        custom_per_node=per_node.map(lambda pairs: tuple(sorted(pairs.items()))),
        all_reduce_shape=one_of(types.AllReduceShape),
        chunks=st.integers(1, 99),
        priority=one_of(types.Priority),
        inter_dimension=one_of(types.InterDimension),
        intra_dimension=one_of(types.IntraDimension),
        endpoint_delay_ns=whole_ns,
        shared_bus=st.none() | buses,
        reductions=one_of(types.Reductions),
        rendezvous=st.booleans(),
    ).filter(lambda drawn: drawn.shared_bus is None or drawn.reductions == "serial")


def groups(ranks: int) -> st.SearchStrategy[types.Groups]:
    members = st.lists(st.integers(0, ranks - 1), min_size=1, max_size=4, unique=True).map(tuple)
    table = st.dictionaries(st.integers(1, 10**6), members, max_size=3)
    return table.map(lambda pairs: tuple(sorted(pairs.items())))


@st.composite
def any_scenario(draw: st.DrawFn) -> types.Scenario:
    topology = types.Topology(
        dimensions=tuple(draw(st.lists(dimensions(), min_size=1, max_size=3)))
    )
    workload: types.Workload = types.WorkloadFile(path=draw(prefixes))
    if draw(st.booleans()):
        workload = types.ChakraFiles(prefix=draw(prefixes), groups=draw(groups(topology.ranks)))
    return types.Scenario(
        workload=workload,
        topology=topology,
        device=draw(devices),
        memory=draw(memories),
        collectives=draw(collectives(len(topology.dimensions))),
        resources=draw(st.sampled_from([types.Resources(), types.ASTRA_SIM_RESOURCES])),
        semantics=draw(one_of(types.Semantics)),
        quirks=draw(st.none() | st.frozensets(names, max_size=3)),
        replay_only=draw(st.booleans()),
        local_memory_trace=draw(names),
    )


def accepts(schema: dict[str, Any], tree: Any) -> bool:
    valid: bool = jsonschema.Draft202012Validator(schema).is_valid(tree)
    return valid


@given(any_scenario())
def test_reading_undoes_writing(scenario: types.Scenario) -> None:
    assert scenarios.loads(scenarios.to_yaml(scenario)) == scenario


@given(any_scenario())
def test_the_schema_accepts_what_is_written(scenario: types.Scenario) -> None:
    tree = parse_yaml(scenarios.to_yaml(scenario), "scenario")
    assert accepts(scenarios.json_schema(), tree)


@given(any_scenario(), st.sampled_from(["workload", "cluster", "nonsense"]))
def test_the_schema_refuses_a_missing_and_an_unknown_key(
    scenario: types.Scenario, key: str
) -> None:
    tree = parse_yaml(scenarios.to_yaml(scenario), "scenario")
    if key in tree:
        del tree[key]
    else:
        tree[key] = 1
    assert not accepts(scenarios.json_schema(), tree)
