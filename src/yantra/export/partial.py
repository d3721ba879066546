"""A partial result as JSON, marked as partial.

The page is apart (`partial_page.py`), as its imports take a third of a second and an interrupted
run should end at once.
"""

from __future__ import annotations

import json

from yantra.result.partial import Partial

FORMAT = "yantra-partial"
VERSION = 1


def as_json(partial: Partial) -> str:
    form = {"format": FORMAT, "version": VERSION, **partial.as_dict()}
    return json.dumps(form, indent=2, allow_nan=False) + "\n"
