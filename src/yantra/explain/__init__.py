"""Why a run takes as long as it does, and what changed from one run to another.

`what_if` runs a scenario without each cause of time, `explain` puts a result into words, `compare`
and `side_by_side` say how results differ, `advice` ranks changes by gain.
"""

from __future__ import annotations

from yantra.base.callable_module import make_callable
from yantra.explain.advice import Advice, advice
from yantra.explain.ask import explain
from yantra.explain.comparison import Comparison, compare
from yantra.explain.explanation import Explanation
from yantra.explain.side_by_side import SideBySide, side_by_side
from yantra.explain.what_if import WhatIf, what_if

__all__ = [
    "Advice",
    "Comparison",
    "Explanation",
    "SideBySide",
    "WhatIf",
    "advice",
    "compare",
    "explain",
    "side_by_side",
    "what_if",
]

make_callable(__name__)
