"""How property tests draw their examples.

They judge results, never the clock: a busy machine must not fail them. By default they draw the
same examples on every run, so that a commit passes or fails for good. `make explore` draws fresh
ones; what it finds becomes an `@example` beside the law.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

_UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", _UNTIMED, derandomize=True)
settings.register_profile("fresh", _UNTIMED)
settings.load_profile("repeatable")
