"""`yantra.collect`: short for `yantra.tracing.collect`."""

from __future__ import annotations

from yantra.base.callable_module import make_callable
from yantra.tracing.collect import Collector, collect, step

__all__ = ["Collector", "collect", "step"]

make_callable(__name__)

if __name__ == "__main__":
    from yantra.tracing.collect.__main__ import leave, status

    leave(status())
