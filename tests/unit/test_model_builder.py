"""The builder of models: typed ids, and whole models."""

from __future__ import annotations

from array import array
from typing import Any

import pytest

from tests.cases import ALL_REDUCE, cluster
from tests.cases import run as run_case
from yantra import _core
from yantra.chakra import TraceBuilder

RANKS = 4
TO_NEXT = _core.ExchangeRun(
    count=3,
    out=1,
    into=-1,
    by_xor=False,
    bytes=_core.Share(1, 4),
    reduce=_core.Share(0, 1),
    from_memory=False,
    back=False,
)


def started(size: int = RANKS) -> _core.ModelBuilder:
    builder = _core.ModelBuilder(_core.TimeScale.picoseconds())
    builder.add_dimension(
        _core.Dimension(
            block=_core.Block.RING, size=size, bytes_per_ns=1.0, latency_ns=1.0, weight=1.0
        )
    )
    return builder


def layout(builder: _core.ModelBuilder, size: int) -> _core.Layout:
    return builder.add_layout([_core.OffsetAxis(count=size, stride=1, listed=[])], True)


def program(builder: _core.ModelBuilder) -> _core.ProgramId:
    return builder.add_exchange(
        runs=[TO_NEXT],
        window=1,
        sends=3,
        barrier=_core.Barrier(at=0, receipts=0, counts_hand_overs=False),
        result=_core.Share(1, 1),
        round_up=True,
    )


def plan(builder: _core.ModelBuilder, levels: list[_core.Level]) -> _core.PlanId:
    return builder.add_plan(
        levels=levels,
        over_members=False,
        communicator_size=RANKS,
        custom=None,
        masked=True,
        shared_load=True,
    )


def level(**changed: Any) -> _core.Level:
    fields: dict[str, Any] = {
        "size": RANKS,
        "stride": 1,
        "index_stride": 1,
        "dimension": 0,
        "fixed_hand_over": False,
        "programs": {},
        "alternates": {},
        "counter": None,
    }
    return _core.Level(**fields | changed)


def filled() -> _core.ModelBuilder:
    builder = started()
    builder.add_communicator(layout(builder, RANKS).id, base=0, first_chunk=0)
    builder.number_queue_sets()
    slots = _core.ResourceMap(capacity=[1, 1, 1], cpu=0, compute=1, memory=2)
    builder.set_slots(slots, first=2)
    idle = _core.lower(
        TraceBuilder().build().graph(), _core.LowerOptions(_core.TimeScale.picoseconds())
    )
    builder.set_jobs([idle.job], array("I", [0] * RANKS))
    return builder


def test_an_id_stands_for_its_own_kind_alone() -> None:
    builder = started()
    added = layout(builder, RANKS)
    known = program(builder)
    made = plan(builder, [level(programs={_core.CollectiveKind.ALL_REDUCE: known})])
    kind = _core.CollectiveKind.ALL_REDUCE
    builder.set_plan(added.id, kind, made)
    for wrong in (known, added.id, 0, None):
        with pytest.raises(TypeError):
            builder.set_plan(added.id, kind, wrong)  # type: ignore[arg-type]
    for wrong in (made, 0):
        with pytest.raises(TypeError):
            level(programs={kind: wrong})
    with pytest.raises(TypeError):
        builder.add_communicator(known, 0, 0)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        builder.set_plan(added.id, 99, made)  # type: ignore[arg-type]


def test_ids_are_equal_where_they_name_the_same() -> None:
    builder = started()
    first, second = program(builder), program(builder)
    assert first != second and len({first, second, first}) == 2
    communicator = builder.add_communicator(layout(builder, RANKS).id, 0, 0)
    assert builder.communicator(communicator.index) == communicator
    assert first != plan(builder, [])  # both count from 0


def test_nothing_is_built_twice_or_after() -> None:
    builder = filled()
    model = builder.build()
    public = [name for name in dir(model) if not name.startswith("_")]
    assert public == ["fabric", "formula_groups", "links_change"]  # to read
    for use in (builder.build, builder.match_by_tag, builder.add_phase_counter):
        with pytest.raises(_core.InternalFault, match=r"used after build\(\)"):
            use()
    simulation = _core.Simulation(model)
    del model, builder
    simulation.start()
    assert simulation.run_for(100)
    assert simulation.outcome().finish.tolist() == [0] * RANKS


def test_a_simulation_takes_a_model_and_no_builder() -> None:
    with pytest.raises(TypeError):
        _core.Simulation(filled())  # type: ignore[arg-type]


BROKEN = {
    "one dimension or more": lambda: _core.ModelBuilder(_core.TimeScale.picoseconds()).build(),
    "the first communicator is all ranks": lambda: started().build(),
    "one job for each rank": lambda: _with(lambda b: b.set_jobs([], array("I"))),
    "a rank of a job that is not there": lambda: _with(
        lambda b: b.set_jobs([], array("I", [0] * RANKS))
    ),
    "a queue set by communicator": lambda: _with(
        lambda b: b.add_communicator(layout(b, 2).id, 0, 0)
    ),
    "a rank that is not there": lambda: _with(
        lambda b: b.add_communicator(layout(b, 2).id, RANKS - 1, 0)
    ),
    "a slot that is not there": lambda: _with(
        lambda b: b.set_slots(_core.ResourceMap(capacity=[1], cpu=0, compute=1, memory=2), first=0)
    ),
    "no such program": lambda: plan(
        started(), [level(programs={_core.CollectiveKind.BARRIER: program(started())})]
    ),
    "no such plan": lambda: _foreign_plan(),
    "no such dimension": lambda: plan(started(), [level(dimension=1)]),
    "a table if its block is one": lambda: started().add_dimension(
        _core.Dimension(
            block=_core.Block.TABLE, size=2, bytes_per_ns=1.0, latency_ns=1.0, weight=1.0
        )
    ),
}


def _with(change: Any) -> _core.Model:
    builder = filled()
    change(builder)
    return builder.build()


def _foreign_plan() -> None:
    builder = started()
    builder.set_plan(layout(builder, RANKS).id, _core.CollectiveKind.BARRIER, plan(started(), []))


@pytest.mark.parametrize("why", BROKEN)
def test_what_is_missing_or_out_of_range_is_refused(why: str) -> None:
    with pytest.raises(_core.InternalFault, match=why):
        BROKEN[why]()


def test_a_model_outlives_its_builder_and_runs_the_same_again() -> None:
    done = run_case(
        cluster(("ring", RANKS, 1.0, 1.0)), lambda trace, rank: trace.collective(ALL_REDUCE, 4096)
    )
    again = _core.Simulation(done.model.native)
    again.start()
    assert again.run_for(2**62)
    assert again.outcome().finish.tolist() == done.outcome.finish.tolist()
