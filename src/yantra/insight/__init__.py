"""Why a run takes as long as it does, and what changed from one run to another.

`what_if` runs a scenario without each cause of time; `compare` tells two results apart. Both say
what the engine says, and none estimates.
"""

from __future__ import annotations

from yantra.insight.comparison import Comparison, compare
from yantra.insight.what_if import WhatIf, what_if

__all__ = ["Comparison", "WhatIf", "compare", "what_if"]
