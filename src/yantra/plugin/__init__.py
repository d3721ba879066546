"""What plug-ins import: `yantra.plugin.collective` for a collective algorithm, and so on by kind.

These names are kept: what is here goes, or changes what it takes or returns, only with a new
`VERSION`. All other modules of Yantra may move at any time.
"""

from __future__ import annotations

VERSION = 1
"""Counts changes after which a plug-in may have to be changed, too."""
