"""A measured step is judged by the run of `yantra run --stack`, to the bit."""

from __future__ import annotations

from pathlib import Path

import pytest

from yantra.accuracy.fit import Factors
from yantra.accuracy.predict import given_of, parts_of, ran_with, scenario_of
from yantra.accuracy.rows import Row
from yantra.accuracy.suite import chosen_rows
from yantra.compile import compile
from yantra.run.interval import bounds, interval
from yantra.run.simulate import simulate
from yantra.scenario.on_cluster import on_cluster
from yantra.workloads.training.train import train

FACTORS = Factors(products=1.25, attention=1.5, rest=1.125, communication=0.75)
FILE = """
title: Mine
sources: {{mine: "a test"}}
{copies}
{waits}
machines:
  any:
    rows: 1
    models: 1
    products: {{value: 1.25, source: mine}}
    attention: {{value: {attention!r}, source: mine}}
    rest: {{value: 1.125, source: mine}}
    communication: {{value: 0.75, source: mine}}
    launch: {{value: {launch!r} ns, source: mine}}
    straggling: {{value: {straggling!r}, source: mine}}
    {taken}
    interval: {{value: 0.2, source: mine}}
"""
TAKEN = "taken: {{value: {!r}, source: mine}}"
SETS = [
    ("ptdp", "dense"),
    ("simumax_b200", "dense"),
    ("simumax_b200", "moe"),
    ("bridge_moe", "moe"),
    ("mpt_fsdp_h100", "dense"),
    ("vtrain_one_node", "dense"),
]


def smallest(dataset: str, kind: str) -> Row:
    of_set = [row for row in chosen_rows() if (row.dataset, row.kind) == (dataset, kind)]
    return min(of_set, key=lambda row: (row.ranks, row.seconds))


@pytest.mark.parametrize(("dataset", "kind"), SETS)
def test_a_row_with_factors_takes_what_a_run_takes_with_a_stack_of_them(
    dataset: str, kind: str, tmp_path: Path
) -> None:
    row = smallest(dataset, kind)
    given, copies = given_of(row), row.file.copies
    workload, stack = tmp_path / "step.yw", tmp_path / "stack.yaml"
    train(row.made_model(), row.made_plan()).save(workload)
    stack.write_text(
        FILE.format(
            copies=f"copies: {{value: {int(copies.value)}, source: mine}}" if copies else "",
            waits="host_waits: {source: mine}" if given.host_waits else "",
            attention=given.attention * FACTORS.attention,
            launch=given.launch_ns,
            straggling=given.straggling,
            taken=TAKEN.format(given.taken) if given.taken else "",
        )
    )
    if row.profile:
        own = tmp_path / "own.yaml"
        own.write_text(f"title: own\nbased_on: ./stack.yaml\nkernels: {row.profile}\n")
        stack = own
    scenario = on_cluster(
        str(workload),
        row.cluster,
        stack=str(stack),
        settings={"cluster.dtype": row.dtype},
        ignore_memory=True,
    )
    (ran,) = ran_with(row, [FACTORS])
    result = simulate(scenario)
    found = interval(result)
    assert ran == float(result.finish_ns.max()) / 1e9
    assert found is not None and bounds(0.2) == (found.low, found.high)


def test_the_parts_of_a_step_that_waits_for_launches_are_a_tangent_of_its_runs() -> None:
    row = smallest("vtrain_one_node", "dense")
    given = given_of(row)
    assert given.launch_ns == 65e3
    products, attention, rest, _ = parts_of(
        compile(scenario_of(row, "measured").replace(stack=given))
    )
    for factors, off in (
        (Factors(), 1e-6),
        (Factors(1.2, 1.2, 1.2), 1e-3),  # equal factors make all of it as much longer
        (Factors(0.95, 0.95, 1.1), 0.02),
        (Factors(rest=1.3), 0.05),
    ):
        (ran,) = ran_with(row, [factors])
        sum_ = factors.products * products + factors.attention * attention + factors.rest * rest
        assert (1 - off) * ran <= sum_ <= (1 + 1e-3) * ran
