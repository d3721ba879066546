"""What the host of each rank launches, and how long that takes: as the scenario's `host` says.

The core adds the launches to each graph as nodes of the host (native/trace/launches.hpp), so all
that looks at a run sees them: slots, folding, timelines, what-if runs. No launches, no nodes.
"""

from __future__ import annotations

from yantra import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yantra.scenario import Scenario

_OF = {"none": "KERNEL", "pass": "PASS", "job": "JOB"}


def launches_of(scenario: Scenario) -> _core.Launches | None:
    """Return the launches of each rank; None where launching takes no time.

    A time that the host does not say is that of the stack, in whole ns.
    """
    if scenario.host is None:
        return None
    ns = scenario.host.launch_ns
    if ns is None:
        ns = round(scenario.stack.launch_ns) if scenario.stack else 0
    return _core.Launches(ns=ns, of=_core.LaunchOf[_OF[scenario.host.graphs]]) if ns else None
