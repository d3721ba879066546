"""Serving: requests that arrive, engines that batch them, and what their users wait for.

    said = yantra.serve("llama3-70b", "hgx-h100", "azure-conversation.csv.gz", tp=4, replicas=2)
    said.ttft.at(99.0), said.goodput([yantra.serving.Objective("ttft", 99.0, 0.5)])

Trade-off: an engine is its scheduler and its blocks of KV, with times for whole iterations.
"""

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
