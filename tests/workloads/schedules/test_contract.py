"""Every registered schedule keeps the contract, and says what it cannot do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from yantra.base.errors import ConfigError
from yantra.workloads import schedules
from yantra.workloads.schedules.contract import LAWS, SIZES, Law, sizes_of, violations

NAMES = schedules.schedules.names()


def test_the_schedules_are_those_of_the_command_line() -> None:
    assert NAMES == (
        "1f1b", "dualpipe", "dualpipev", "gpipe", "interleaved", "interleaved-rounds", "zb-h1",
        "zb-h2", "zb-v",
    )  # fmt: skip


def test_the_reference_page_has_every_schedule() -> None:
    page = Path(__file__).parents[3] / "docs" / "reference" / "schedules.md"
    text = page.read_text(encoding="utf-8")
    assert [name for name in NAMES if f"| `{name}` |" not in text] == []


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", NAMES)
def test_law(law: Law, name: str) -> None:
    schedule = schedules.get(name)
    assert [law(schedule, *size) for size in sizes_of(schedule)] == [None] * len(sizes_of(schedule))


@pytest.mark.parametrize("name", NAMES)
def test_a_refusal_names_the_nearest_number_that_will_do(name: str) -> None:
    schedule = schedules.get(name)
    assert next(violations(schedule), None) is None
    for size in (*SIZES, (7, 30, 1), (6, 31, 2)):
        reason = schedule.requires(*size)
        if reason is None:
            continue
        needs, _, nearest = reason.partition("; the nearest ")
        numbers = [
            int(number) for number in re.findall(r"\b(?:is|are|and) (\d+)", "are " + nearest)
        ]
        assert numbers, reason
        at = 2 if " chunk" in needs else 0 if "number of devices" in needs else 1
        for number in numbers:
            changed = (*size[:at], number, *size[at + 1 :])
            then = schedule.requires(*changed)
            assert then is None or not then.startswith(needs.split(",")[0]), (reason, then)


@pytest.mark.parametrize(
    ("name", "size", "reason"),
    [
        ("gpipe", (0, 4, 1), "needs at least 1 device, got 0; the nearest is 1"),
        (
            "1f1b",
            (4, 8, 2),
            "needs 1 chunk per device, got 2; the nearest is 1, "
            "and the schedule interleaved takes any number from 2",
        ),
        ("interleaved", (4, 8, 1), "needs at least 2 chunks per device, got 1; the nearest is 2"),
        (
            "interleaved",
            (8, 30, 2),
            "needs micro-batches in groups of one per device (8), got 30; "
            "the nearest are 24 and 32",
        ),
        (
            "interleaved",
            (8, 3, 2),
            "needs micro-batches in groups of one per device (8), got 3; the nearest is 8",
        ),
        (
            "zb-v",
            (4, 7, 1),
            "needs at least 2 micro-batches per device (8), got 7; the nearest is 8, or 3 devices",
        ),
        (
            "zb-v",
            (4, 8, 4),
            "needs 2 chunks per device, got 4; the nearest is 2, "
            "and the schedule interleaved takes any number from 2",
        ),
        ("dualpipe", (7, 30, 1), "needs an even number of devices, got 7; the nearest are 6 and 8"),
        (
            "dualpipe",
            (4, 11, 1),
            "needs an even number of micro-batches, got 11; the nearest are 10 and 12",
        ),
        (
            "dualpipe",
            (4, 6, 1),
            "needs at least 2 micro-batches per device (8), got 6; the nearest is 8",
        ),
    ],
)
def test_what_is_impossible_is_told(name: str, size: tuple[int, int, int], reason: str) -> None:
    schedule = schedules.get(name)
    assert schedule.requires(*size) == reason
    with pytest.raises(ConfigError) as error:
        schedule.orders(*size)
    assert str(error.value) == f"schedule: {name} {reason}"


def test_an_unknown_name_is_told_at_its_field() -> None:
    with pytest.raises(ConfigError) as error:
        schedules.get("zb_h1", "--schedule")
    assert str(error.value) == (
        "--schedule: no schedule is named 'zb_h1'; expected one of 1f1b, dualpipe, dualpipev, "
        "gpipe, interleaved, interleaved-rounds, zb-h1, zb-h2, zb-v; did you mean 'zb-h1'?"
    )


@pytest.mark.parametrize("name", NAMES)
def test_stages_and_places_are_inverse(name: str) -> None:
    schedule = schedules.get(name)
    p, m, v = sizes_of(schedule)[-1]
    stages = schedule.stages(p, v)
    for route, places in enumerate(stages.routes):
        for stage, place in enumerate(places):
            assert stages.stage(*place) == stage
            assert stages.route(*place) == route
            assert stages.place(stage, route) == place
            after = stages.after(*place)
            assert after == (places[stage + 1] if stage + 1 < stages.count else None)
            if after:
                assert stages.before(*after) == place
        assert stages.before(*places[0]) is None
    shares = [stages.microbatches(route, m) for route in range(len(stages.routes))]
    assert [j for share in shares for j in share] == list(range(m))
