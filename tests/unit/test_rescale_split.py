"""A recording split another way does what the job does that was recorded so.

Beside this, gloo jobs (a transformer by hand-written collectives, PyTorch 2.13, 2 to 4 ranks) were
recorded at both settings.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.pipeline_steps import Pipeline
from tests.split_steps import Split
from yantra.base.errors import UnsupportedError
from yantra.chakra import NodeType, Trace
from yantra.tracing.inspect.groups import Groups
from yantra.tracing.inspect.validate import check_traces
from yantra.tracing.rescale.rescale import rescale


def facts(trace: Trace, groups: Groups, ranks: int) -> Counter[Any]:
    """Operators with shapes and operations; bytes of collectives with who takes part."""
    found: Counter[Any] = Counter()
    for node in trace:
        shapes = node.inputs.shapes if node.inputs else ""
        if node.type == NodeType.COMM_COLL:
            members = groups.get(str(node["pg_name"]), tuple(range(ranks)))
            found[node["comm_type"], members, shapes, node["comm_size"]] += 1
        else:
            found[node.name, shapes, node.get("num_ops")] += 1
    return found


def check(old: Split, settings: list[str], wanted: Split) -> None:
    made = rescale(old.job(), settings, old.named())
    expected = wanted.job()
    assert sorted(made.traces) == [one.rank for one in expected]
    for rank, _, trace in expected:
        found = facts(made.traces[rank], made.groups, wanted.ranks)
        assert found == facts(trace, wanted.named(), wanted.ranks), rank
    assert check_traces(list(made.traces.values()), groups=made.groups).valid


PAIRS = [
    (Split(tp=2), Split(tp=4), "tp"),
    (Split(tp=2, sequence=True), Split(tp=4, sequence=True), "tp"),
    (Split(dp=2, tp=2), Split(dp=2, tp=4), "tp"),
    (Split(dp=3, tp=2, sequence=True), Split(dp=3, tp=4, sequence=True), "tp"),
]


@pytest.mark.parametrize(("less", "more", "name"), PAIRS)
def test_tensors_are_split_as_recorded_at_the_other_degree(
    less: Split, more: Split, name: str
) -> None:
    check(less, [f"{name}={getattr(more, name)}"], more)
    check(more, [f"{name}=x0.5"], less)


def test_tensors_and_replicas_change_together() -> None:
    check(Split(dp=2, tp=2), ["tp=4", "dp=3"], Split(dp=3, tp=4))
    check(Split(dp=2, tp=4), ["dp=1", "tp=2"], Split(dp=1, tp=2))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (Split(dp=4, ep=2), Split(dp=4, ep=4)),
        (Split(dp=8, ep=2), Split(dp=8, ep=4)),
        (Split(dp=8, ep=4), Split(dp=8, ep=2)),
    ],
)
def test_experts_are_split_as_recorded_at_the_other_degree(old: Split, new: Split) -> None:
    check(old, [f"ep={new.ep}"], new)


@pytest.mark.parametrize(
    ("old", "setting", "reason"),
    [
        (Split(dp=4), "tp=2", "tp: no groups of ranks that split tensors are recorded"),
        (Split(tp=2), "ep=2", "ep: no groups of ranks that exchange tokens are recorded"),
        (Split(tp=4), "tp=3", "no whole number"),
        (Split(dp=4, ep=4), "ep=2", "how their gradients are summed is not recorded"),
        (Split(dp=4, ep=2), "ep=8", "4 replicas do not divide into groups of 8"),
        (Split(dp=4, ep=2, uneven=True), "ep=4", "unequal numbers of tokens"),
    ],
)
def test_what_is_not_determined_is_refused(old: Split, setting: str, reason: str) -> None:
    with pytest.raises(UnsupportedError, match=reason):
        rescale(old.job(), [setting], old.named())


def stage_facts(trace: Trace) -> tuple[Counter[Any], list[Any]]:
    """Operators with shapes and operations, and messages in order."""
    operators: Counter[Any] = Counter()
    messages = []
    for node in trace:
        if node.type in (NodeType.COMM_SEND, NodeType.COMM_RECV):
            messages.append((node.type, node["comm_src"], node["comm_dst"], node["comm_size"]))
        else:
            operators[node.name, node.inputs and node.inputs.shapes, node.get("num_ops")] += 1
    return operators, messages


@pytest.mark.parametrize("gpipe", [False, True])
@pytest.mark.parametrize(("old", "new"), [(4, 2), (3, 4), (4, 3), (3, 6), (3, 2)])
def test_stages_run_their_share_of_layers_in_the_recorded_order(
    old: int, new: int, gpipe: bool
) -> None:
    made = rescale(Pipeline(old, gpipe=gpipe).job(), [f"pp={new}"])
    wanted = Pipeline(new, gpipe=gpipe).job()
    assert sorted(made.traces) == [one.rank for one in wanted]
    for rank, _, trace in wanted:
        assert stage_facts(made.traces[rank]) == stage_facts(trace), rank
        waited = {parent for node in made.traces[rank] for parent in node.data_deps}
        received = {one.id for one in made.traces[rank] if one.type == NodeType.COMM_RECV}
        assert received <= waited
    assert check_traces(list(made.traces.values()), groups=made.groups).valid


@pytest.mark.parametrize(
    ("old", "setting", "reason"),
    [
        (Pipeline(2), "pp=4", "record at least 3 stages"),
        (Pipeline(4), "pp=1", "one stage is not recorded"),
        (Pipeline(3), "pp=5", "stages of 4 layers do not divide into 5 equal ones"),
        (Pipeline(4, layers=4), "pp=2", "no operators repeat"),
    ],
)
def test_stages_that_are_not_determined_are_refused(
    old: Pipeline, setting: str, reason: str
) -> None:
    with pytest.raises(UnsupportedError, match=reason):
        rescale(old.job(), [setting])


def test_passes_in_another_order_are_refused() -> None:
    job = Pipeline(3).job()
    mixed = [*job[:2], job[2]._replace(trace=Pipeline(3, gpipe=True).job()[2].trace)]
    with pytest.raises(UnsupportedError, match="neither 1F1B nor GPipe"):
        rescale(mixed, ["pp=2"])
