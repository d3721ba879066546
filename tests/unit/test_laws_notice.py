"""The laws of `tests/laws` notice what breaks them, and make it small."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from random import Random

import pytest

from tests.laws import alone, pairs
from tests.laws.anomalies import Span, spans, witness
from tests.laws.campaign import Block, held
from tests.laws.cases import Case, Run
from tests.laws.changes import scaled, whole_picoseconds
from tests.laws.jobs import Job, Step, drawn
from tests.laws.laws import LAWS, Law, broken
from tests.laws.places import Place
from tests.laws.shrinking import shrunk
from yantra.base.errors import ConfigError
from yantra.scenario import Collectives

RING = Collectives(
    all_reduce=("ring",), all_gather=("ring",), reduce_scatter=("ring",), all_to_all=("ring",)
)

AT_ONCE = RING.replace(all_to_all=("direct",))


def on(network: str, rate: float = 8.0, ranks: int = 4) -> Place:
    return Place(network, "dimensions", (("switch", ranks, rate, 100.0),), RING)


def message(number: int, source: int, destination: int, size: int = 8000) -> Step:
    return Step(number, "message", (source, destination), size, ((), ()))


ONE = Job(4, (message(0, 0, 1),))
INCAST = Job(4, tuple(message(source, source, 0) for source in (1, 2, 3)))
ALL = tuple(range(4))
EXCHANGE = Job(4, (Step(0, "collective", ALL, 1 << 20, ((),) * 4, "ALL_TO_ALL", True),))
KERNEL = Job(4, (Step(0, "kernel", (0,), 5_000_000, ((),)), message(1, 0, 1)))
SLOWER = on("analytical", 4.0, ranks=8)
LINE = Place("flow", "dimensions", (("mesh", 4, 8.0, 100.0),), RING)


@pytest.mark.parametrize(
    ("law", "case"),
    [
        ("replica", Case(on("analytical"), ONE, SLOWER)),
        ("idle", Case(on("analytical"), ONE, SLOWER)),
        ("numbers", Case(LINE, ONE, (0, 2, 1, 3))),
        ("faster", Case(on("flow"), ONE, ("place", on("flow", 4.0)))),
        ("rates", Case(on("ideal"), INCAST)),
        ("bounds", Case(on("ideal")._replace(collectives=AT_ONCE), EXCHANGE)),
    ],
)
def test_a_law_tells_what_breaks_it(law: str, case: Case) -> None:
    assert broken(LAWS[law], case)


class Changed(Run):
    runs: Iterator[int]
    rate: float

    def __init__(self, place: Place, job: Job) -> None:
        super().__init__(place if next(self.runs) == 0 else on(place.network, self.rate), job)


@pytest.mark.parametrize(
    ("law", "rate", "change"),
    [
        ("units", 4.0, 2),
        ("parts", 16.0, (2, True)),
        ("later", 4.0, None),
        ("iterations", 4.0, None),
        ("again", 4.0, None),
    ],
)
def test_a_law_tells_a_run_that_does_not_fit_the_first(
    monkeypatch: pytest.MonkeyPatch, law: str, rate: float, change: object
) -> None:
    monkeypatch.setattr(Changed, "runs", count(), raising=False)
    monkeypatch.setattr(Changed, "rate", rate, raising=False)
    for module in (pairs, alone):
        monkeypatch.setattr(module, "Run", Changed)
    assert broken(LAWS[law], Case(on("flow"), ONE, change))


def test_a_kernel_that_is_not_run_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alone, "Run", lambda place, job: Run(place, job.without(0)))
    assert broken(LAWS["work"], Case(on("flow"), KERNEL))


def test_parts_that_do_not_sum_up_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alone, "breakdown", lambda *_: (1,))
    assert broken(LAWS["sums"], Case(on("flow"), KERNEL))


def test_a_run_that_refuses_what_validate_takes_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise ConfigError("cluster", "no")

    monkeypatch.setattr(alone, "compile", refuse)
    assert broken(LAWS["validate"], Case(on("flow"), KERNEL, "none"))


def test_a_crash_breaks_any_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alone, "breakdown", lambda *_: 1 // 0)
    assert broken(LAWS["sums"], Case(on("flow"), KERNEL)).startswith("internal error: ZeroDivision")


def test_what_breaks_a_law_is_made_small() -> None:
    def wrong(case: Case) -> str:
        return "it sends" if any(step.what == "message" for step in case.job.steps) else ""

    law = Law("nobody sends", lambda draw, network: None, wrong)
    job = next(job for job in (drawn(Random(seed), 4) for seed in count()) if len(job.steps) == 12)
    (step,) = shrunk(law, Case(on("flow"), job)).job.steps
    assert (step.what, step.size, step.after) == ("message", 1, ((), ()))


def test_an_anomaly_needs_a_step_that_something_else_delays() -> None:
    job = Job(4, (message(0, 0, 1), message(1, 2, 3), Step(2, "kernel", (0,), 9, ((),))))
    before = {0: Span(0, 10), 1: Span(20, 30), 2: Span(0, 9)}
    shared = {0: Span(0, 12), 1: Span(5, 15), 2: Span(0, 9)}
    assert witness(job, before, shared, 0) == "step 0 ends late for step 1"
    assert not witness(job, before, {**shared, 1: Span(20, 30)}, 0)
    assert not witness(job, before, {**before, 2: Span(0, 11)}, 0)


def test_what_waits_for_one_member_is_not_the_first_to_be_late() -> None:
    """The kernel of rank 1 comes behind its part of the collective, which is late for the rest."""
    pair = Step(0, "collective", (0, 1), 9, ((), ()), "ALL_TO_ALL")
    job = Job(4, (pair, Step(1, "kernel", (1,), 9, ((0,),))))
    before = {0: Span(0, 40, 40, (40, 20)), 1: Span(20, 29)}
    after = {0: Span(0, 44, 44, (44, 25)), 1: Span(25, 34)}
    assert witness(job, before, after, 0) == "step 0: its own messages share links"
    assert not witness(job, before, {0: before[0], 1: after[1]}, 0)


def test_a_flow_that_meets_another_ends_by_its_own_start_twice() -> None:
    place = on("flow", rate=1.0)._replace(dims=(("switch", 4, 1.0, 0.0),))

    def ends(first: int, second: int) -> list[int]:
        kernels = [Step(0, "kernel", (0,), first, ((),)), Step(1, "kernel", (1,), second, ((),))]
        sent = [
            Step(2, "message", (0, 2), 1000, ((0,), ())),
            Step(3, "message", (1, 2), 9000, ((1,), ())),
        ]
        job = Job(4, (*kernels, *sent))
        found = spans(Run(place, job), job)
        return [found[2].end, found[3].end]

    assert ends(1000, 5000) == [2_000_000 + 2 * 1000 - 5000, 10_000_000 + 1000]


def test_a_seed_gives_the_same_case() -> None:
    block = Block("rates", "flow", 3, 2)
    assert held(block) == held(block)
    assert drawn(Random("a"), 5) == drawn(Random("a"), 5) != drawn(Random("b"), 5)


def test_rates_of_whole_picoseconds_are_powers_of_two_up_to_8() -> None:
    place = whole_picoseconds(on("flow", 53.6870912))
    assert place.dims == (("switch", 4, 8.0, 100.0),)


@pytest.mark.parametrize("by", [1, 2, 3, 5, 10, 30])
def test_a_sender_that_asks_as_another_flow_ends_hears_of_it(by: int) -> None:
    """Rank 0's second message enters as its first is through, which a rounding may reverse.

    The first shares the link with rank 1's: 1 byte leaves after 2 / 0.7 ns; the second begins then
    and shares, too: it leaves 2 x 777 / 0.7 ns later, and not when it arrives.
    """
    cables = ((0, 4, 50.0, 800.0), (1, 4, 50.0, 100.0), (4, 5, 0.7, 500.0), (5, 2, 9.0, 0.0))
    place = Place(
        "flow",
        "fabric",
        (("switch", 4, 8.0, 100.0),),
        RING,
        cables=(*cables, (5, 3, 9.0, 0.0)),
        devices=6,
        routing="shortest",
    )
    job = Job(4, (message(0, 1, 3, 1000), message(1, 0, 2, 1), message(2, 0, 2, 777)))
    run = Run(scaled(place, by), job)
    left = spans(run, job)[2].left / by
    assert left == pytest.approx(1000 * (2 / 0.7 + 2 * 777 / 0.7), abs=1)


@pytest.mark.parametrize("network", ["analytical", "store_and_forward", "flow"])
def test_themis_begins_anew_with_whoever_comes_first(network: str) -> None:
    """And not with rank 0, however late it comes: then numbers would decide, by 70 %."""
    dims = (("fully_connected", 2, 0.7, 12.25), ("ring", 4, 8.0, 333.0))
    kinds = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
    halving = dict.fromkeys(kinds, ("halving_doubling",) * 2)
    chosen = Collectives(**halving, chunks=2, inter_dimension="themis")
    everyone = tuple(range(8))
    behind = tuple((0,) if rank in (4, 6) else () for rank in everyone)
    gathered = Step(1, "collective", everyone, 777, behind, "ALL_GATHER", True)
    scattered = Step(2, "collective", everyone, 100_003, ((1,),) * 8, "REDUCE_SCATTER", True)
    case = Case(
        Place(network, "dimensions", dims, chosen),
        Job(8, (message(0, 6, 4, 777), gathered, scattered)),
        (4, 5, 6, 7, 0, 1, 2, 3),
    )
    assert not pairs.relabelled(case)
