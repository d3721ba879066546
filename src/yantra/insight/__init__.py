"""Why a run takes as long as it does, and what changed from one run to another.

`what_if` runs a scenario without each cause of time; `explain` puts a result into words; `compare`
tells two results apart. All say what the engine says, and none estimates.
"""

from __future__ import annotations

from yantra.insight.ask import explain
from yantra.insight.comparison import Comparison, compare
from yantra.insight.explanation import Explanation
from yantra.insight.what_if import WhatIf, what_if

__all__ = ["Comparison", "Explanation", "WhatIf", "compare", "explain", "what_if"]
