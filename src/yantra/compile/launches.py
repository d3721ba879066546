"""What each rank's host launches and how long it takes, by the scenario's `host`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra import _core

if TYPE_CHECKING:
    from yantra.scenario import Scenario

_OF = {"none": "KERNEL", "pass": "PASS", "job": "JOB"}


def launches_of(scenario: Scenario) -> _core.Launches | None:
    """Launches of a rank; None where they take no time.

    Times default to the stack's, in whole ns.
    """
    if scenario.host is None:
        return None
    ns = scenario.host.launch_ns
    if ns is None:
        ns = round(scenario.stack.launch_ns) if scenario.stack else 0
    return _core.Launches(ns=ns, of=_core.LaunchOf[_OF[scenario.host.graphs]]) if ns else None
