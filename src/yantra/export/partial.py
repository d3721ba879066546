"""A partial result as JSON, which says that it is partial.

The page is apart (`partial_page.py`): what it needs takes a third of a second to import, and who
told a run to end waits for that.
"""

from __future__ import annotations

import json

from yantra.result.partial import Partial

FORMAT = "yantra-partial"
VERSION = 1


def as_json(partial: Partial) -> str:
    """Return the JSON form as text."""
    form = {"format": FORMAT, "version": VERSION, **partial.as_dict()}
    return json.dumps(form, indent=2, allow_nan=False) + "\n"
