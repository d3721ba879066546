"""The texts of annotations: names of profiler ranges that carry JSON.

PyTorch's observer writes the names of ranges into its JSON without escaping them, so that a name
must not hold a double quote or a backslash. While recording, single quotes stand for double ones;
`mend` turns the finished file's annotations into JSON strings that hold JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

COMM = "chakra::comm|"
WAIT = "chakra::wait|"
_NOTE = re.compile(rb"chakra::(?:comm|wait)\|\{[^\"\n]*?\}(?=\")")
_UNSAFE = re.compile(r"""[^ -~]|['"\\]""")  # a group may have any name


def name_of(kind: str, facts: Mapping[str, Any]) -> str:
    """Return the name of a range that says `facts`, safe to record."""
    safe = {k: _UNSAFE.sub("_", v) if isinstance(v, str) else v for k, v in facts.items()}
    return kind + json.dumps(safe, separators=(",", ":")).replace('"', "'")


def facts_of(name: str, kind: str = COMM) -> dict[str, Any] | None:
    """Return what the name of a range says, or None if it is no annotation of this kind."""
    if not name.startswith(kind):
        return None
    text = name[len(kind) :]
    facts = json.loads(text if '"' in text else text.replace("'", '"'))
    return facts if isinstance(facts, dict) else None


def mend(data: bytes) -> bytes:
    """Return a trace file with the annotations' single quotes turned into escaped double ones."""
    return _NOTE.sub(lambda note: note[0].replace(b"'", b'\\"'), data)
