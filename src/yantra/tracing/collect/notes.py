"""Annotations: profiler ranges whose names are JSON, in single quotes while recording, as PyTorch's
observer does not escape names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

COMM = "chakra::comm|"
WAIT = "chakra::wait|"
_NOTE = re.compile(rb"chakra::(?:comm|wait)\|\{[^\"\n]*?\}(?=\")")
_UNSAFE = re.compile(r"""[^ -~]|['"\\]""")  # group names are arbitrary


def name_of(kind: str, facts: Mapping[str, Any]) -> str:
    safe = {k: _UNSAFE.sub("_", v) if isinstance(v, str) else v for k, v in facts.items()}
    return kind + json.dumps(safe, separators=(",", ":")).replace('"', "'")


def facts_of(name: str, kind: str = COMM) -> dict[str, Any] | None:
    """Facts in a range name, None for other kinds."""
    if not name.startswith(kind):
        return None
    text = name[len(kind) :]
    facts = json.loads(text if '"' in text else text.replace("'", '"'))
    return facts if isinstance(facts, dict) else None


def mend(data: bytes) -> bytes:
    return _NOTE.sub(lambda note: note[0].replace(b"'", b'\\"'), data)
