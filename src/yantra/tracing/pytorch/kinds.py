"""What a recording of PyTorch is, from its beginning: host, linked, or of the profiler (Kineto)."""

from __future__ import annotations

import re
from typing import Literal

from yantra.base.errors import ConfigError
from yantra.base.regular import open_regular
from yantra.base.unpacking import Unpacked
from yantra.chakra import files
from yantra.tracing.pytorch import kineto

Kind = Literal["host", "linked", "device", ""]

_BEGIN = 1 << 16
_SCHEMA = re.compile(rb'\A(?:\xef\xbb\xbf)?\s*\{\s*"schema"\s*:\s*"')
_JOINED = b'"host_id"'
"""A field of linked traces only, from the first node on."""


def kind_of(path: str) -> Kind:
    """The kind of a file, "" for none of these."""
    begin = beginning(path)
    if _SCHEMA.match(begin):
        return "linked" if _JOINED in begin else "host"
    return "device" if kineto.is_one(path) else ""


def is_recording(path: str) -> bool:
    """Whether a file is one of these."""
    return kind_of(path) != ""


def beginning(path: str) -> bytes:
    """The first 64 KiB, unpacked; nothing of a file that cannot be read."""
    try:
        with open_regular(path) as raw:
            packed = raw.read(2) == files.GZIP
            raw.seek(0)
            begin: bytes = (Unpacked.of(raw, path) if packed else raw).read(_BEGIN)
    except (OSError, EOFError, ConfigError):
        return b""
    return begin
