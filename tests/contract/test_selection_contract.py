"""Selections: a run uses the algorithm of each size, and wrong answers are named."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yantra.base.errors import ConfigError
from yantra.base.fields import Plugin, PluginChoice
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.collectives.selection import contract
from yantra.collectives.selection.by_size import BySize, Rule, Rules
from yantra.collectives.selection.selection import Choice, Group, Selection
from yantra.result import Result
from yantra.run.simulate import simulate
from yantra.scenario import Collectives, Dimension, Scenario, Topology, Traces, to_yaml
from yantra.scenario.text import loads
from yantra.scenario.types import ChakraFiles

SMALL, LARGE, LIMIT = 1000, 1 << 20, 1 << 16
RULES = (
    Rule(algorithm="halving_doubling", collective="all_reduce"),
    Rule(algorithm="ring", collective="all_reduce", from_bytes=LIMIT),
)
BY_SIZE = Plugin(kind="by_size", options=(("rules", RULES),))


def run(
    sizes: Sequence[int],
    algorithm: str | None = None,
    selection: PluginChoice | None = None,
    **other: str,
) -> Result:
    trace = TraceBuilder()
    before = None
    for size in sizes:
        after = () if before is None else (before,)
        before = trace.collective(CollectiveType.ALL_REDUCE, size, after=after)
    topology = Topology(
        dimensions=(Dimension(kind="switch", size=8, bytes_per_ns=50.0, latency_ns=500.0),)
    )
    names = None if algorithm is None else (algorithm,)
    return simulate(
        Scenario(
            workload=Traces(traces=(trace.build(),) * 8),
            topology=topology,
            collectives=Collectives(all_reduce=names, selection=selection),
            **other,  # type: ignore[arg-type]
        )
    )


@given(st.lists(st.sampled_from([1, SMALL, LIMIT - 1, LIMIT, LARGE]), min_size=1, max_size=4))
@settings(max_examples=20, deadline=None)
def test_each_collective_takes_the_time_of_the_algorithm_of_its_size(sizes: list[int]) -> None:
    alone = [
        run([size], "halving_doubling" if size < LIMIT else "ring").finish_ps[0] for size in sizes
    ]
    for fold in ("off", "require"):
        assert set(run(sizes, None, BY_SIZE, fold=fold).finish_ps) == {sum(map(int, alone))}


def test_what_a_selection_leaves_open_is_the_scenarios() -> None:
    large = Plugin(kind="by_size", options=(("rules", RULES[1:]),))
    assert run([SMALL, LARGE], "halving_doubling", large).finish_ps[0] == sum(
        int(run([size], name).finish_ps[0])
        for size, name in ((SMALL, "halving_doubling"), (LARGE, "ring"))
    )
    with pytest.raises(ConfigError, match="the selection leaves sizes below 65536 B to it"):
        run([SMALL], None, large)


def test_the_last_rule_that_holds_counts() -> None:
    rules = Rules(rules=(*RULES, Rule(algorithm="direct", from_bytes=10, from_ranks=16)))
    chosen = {
        ranks: BySize(rules).choices("all_reduce", Group(ranks, (("ring", ranks),), (0,), 0))
        for ranks in (8, 16)
    }
    assert [(of.from_bytes, *of.algorithms) for of in chosen[8]] == [
        (0, "halving_doubling"),
        (LIMIT, "ring"),
    ]
    assert [(of.from_bytes, *of.algorithms) for of in chosen[16]] == [
        (0, "halving_doubling"),
        (10, "direct"),
        (LIMIT, "direct"),
    ]
    assert all(a.from_bytes < b.from_bytes for a, b in pairwise(chosen[16]))


def test_rules_are_written_and_read_back() -> None:
    scenario = run([SMALL], None, BY_SIZE).model.scenario.replace(workload=ChakraFiles(prefix="t"))
    assert loads(to_yaml(scenario)) == scenario


def test_a_selection_is_refused_under_the_semantics_of_astra_sim() -> None:
    with pytest.raises(ConfigError, match="only with semantics yantra"):
        run([SMALL], "ring", BY_SIZE, semantics="astra-sim")


class Unknown(Selection):
    def choices(self, kind: str, group: Group) -> Sequence[Choice]:
        return [Choice(0, ("rings",))]


class Descends(Selection):
    def choices(self, kind: str, group: Group) -> Sequence[Choice]:
        return [Choice(10, ("ring",)), Choice(0, ("direct",))]


class TooMany(Selection):
    def choices(self, kind: str, group: Group) -> Sequence[Choice]:
        return [Choice(0, ("ring",) * 3)]


class Moody(Selection):
    asked = 0

    def choices(self, kind: str, group: Group) -> Sequence[Choice]:
        self.asked += 1
        return [Choice(self.asked, ("ring",))]


@pytest.mark.parametrize(
    ("selection", "law"),
    [
        (Unknown, "every_algorithm_is_known: no collective algorithm is named 'rings'"),
        (Descends, "sizes_ascend_and_every_dimension_has_an_algorithm: Descends gives sizes"),
        (TooMany, "sizes_ascend_and_every_dimension_has_an_algorithm: TooMany gives 3 algorithms"),
        (Moody, "the_same_is_said_twice"),
    ],
)
def test_a_selection_that_breaks_a_law_is_caught_by_its_name(
    selection: type[Selection], law: str
) -> None:
    assert any(law in wrong for wrong in contract.violations(selection(None)))


def test_by_size_keeps_every_law_with_rules() -> None:
    rules = (RULES[0].replace(algorithm="direct"), RULES[1])
    assert list(contract.violations(BySize(Rules(rules=rules)))) == []
    found = next(iter(contract.violations(BySize(Rules(rules=RULES)))))
    assert "it chooses halving_doubling: it needs a power of two positions, got 3" in found


class Breaks(Selection):
    def choices(self, kind: str, group: Group) -> Sequence[Choice]:
        raise KeyError("x")


def test_a_selection_that_raises_is_named_with_its_line() -> None:
    said = (
        r"^collectives\.selection: Breaks failed for all_reduce: KeyError: 'x' "
        r"\(test_selection_contract\.py, line \d+\)$"
    )
    with pytest.raises(ConfigError, match=said):
        run([SMALL], "ring", Breaks)


class BreaksAtOnce(Selection):
    def __init__(self, options: object) -> None:
        raise KeyError("y")


def test_a_plug_in_that_cannot_be_made_is_named() -> None:
    with pytest.raises(ConfigError, match="BreaksAtOnce failed: KeyError: 'y' \\(test_sel"):
        run([SMALL], "ring", BreaksAtOnce)
