"""Serving: requests that arrive, engines that batch them, and what their users wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra.base.late import late

if TYPE_CHECKING:
    from yantra.serving.answer import Served
    from yantra.serving.fleet import Linear
    from yantra.serving.measures import Objective, Spread
else:
    __getattr__, __dir__ = late(
        __name__,
        {
            "answer": "Served",
            "fleet": "Linear",
            "measures": "Objective Spread",
        },
    )

__all__ = ["Linear", "Objective", "Served", "Spread"]
