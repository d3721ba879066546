"""What plug-ins import: `yantra.plugin.collective` for a collective algorithm, and so on by kind.

    from yantra.plugin.scheduler import Scheduler

These names are kept: what is here goes, or changes what it takes or returns, only with a new
`VERSION`. All other modules of Yantra may move at any time. A module for each kind, as two kinds
have a `Schedule`, and so that a plug-in loads nothing of the others.
"""

from __future__ import annotations

VERSION = 1
"""Counts changes after which a plug-in may have to be changed, too."""
