"""Post-training by reinforcement: rollouts and training on one clock, and refits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra.base.late import late

if TYPE_CHECKING:
    from yantra.rl.groups import Groups
    from yantra.rl.job import Job
    from yantra.rl.laws import Curve, Law, Ticks
    from yantra.rl.loop import run
    from yantra.rl.schedule import Schedule
else:
    __getattr__, __dir__ = late(
        __name__,
        {
            "groups": "Groups",
            "job": "Job",
            "laws": "Curve Law Ticks",
            "loop": "run",
            "schedule": "Schedule",
        },
    )

__all__ = ["Curve", "Groups", "Job", "Law", "Schedule", "Ticks", "run"]
