"""The self-check names workloads that could not end."""

from __future__ import annotations

import pytest

from yantra.base.errors import InternalError
from yantra.workloads.serving import InferencePlan
from yantra.workloads.serving.check import check_events
from yantra.workloads.serving.timeline import Event
from yantra.workloads.templates.grid import Group

GRID = InferencePlan(tp=2, pp=2).grid()
GROUPS = {"tp": Group("dense", ["tp"], grid="infer")}
SUM = Event("all_reduce", 8, group="tp")
SEND, RECEIVE = Event("send", 8, peer="pp+1", tag=3), Event("recv", 8, peer="pp-1", tag=3)


def check(*events: list[Event]) -> None:
    check_events([GRID], GROUPS, dict(enumerate(events)))


def test_what_ends_is_let_through() -> None:
    check([SUM, SEND], [SUM], [RECEIVE, SUM], [SUM])


@pytest.mark.parametrize(
    "events, problem",
    [
        (([SEND], [], [], []), "do not match"),
        (([SEND], [], [RECEIVE._replace(size_bytes=9)], []), "do not match"),
        (([SEND], [], [RECEIVE._replace(tag=4)], []), "do not match"),
        (([SEND, SEND], [], [RECEIVE], []), "look alike"),
        (([SUM], [], [], []), "different collectives"),
        (([SUM], [SUM._replace(size_bytes=9)], [], []), "different collectives"),
        (([RECEIVE, SEND], [], [RECEIVE, SEND], []), "waits for ever"),
        (
            ([SUM, RECEIVE, SEND], [RECEIVE, SUM, SEND], [RECEIVE, SEND], [RECEIVE, SEND]),
            "waits for ever",
        ),
    ],
)
def test_what_cannot_end_is_named(events: tuple[list[Event], ...], problem: str) -> None:
    with pytest.raises(InternalError, match=problem):
        check(*events)
