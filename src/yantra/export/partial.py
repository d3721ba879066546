"""A partial result as JSON, marked as partial."""

from __future__ import annotations

import json

from yantra.result.partial import Partial

FORMAT = "yantra-partial"
VERSION = 1


def as_json(partial: Partial) -> str:
    form = {"format": FORMAT, "version": VERSION, **partial.as_dict()}
    return json.dumps(form, indent=2, allow_nan=False) + "\n"
