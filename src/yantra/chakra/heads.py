"""Trace metadata, read and written without the nodes.

Some attributes are Yantra's, from a workload file's (`.yw`) templates: collective order on one
slot, product type, framework, experts per token.
"""

from __future__ import annotations

from yantra import _core

ORDERING = "collective_ordering"
"""`serial`: as in the file, on one slot; `streams`: by dependencies alone."""

DTYPE = "compute_dtype"
"""Type of the products of a job's plan."""

FRAMEWORK = "framework"
"""What trains the model, such as Megatron-LM."""

EXPERTS = "experts_per_token"
"""Experts a token goes to."""

COMPUTE = "compute"
"""`recorded`: calculations have durations and nothing else, on any device."""

_LONGEST = 1 << 20
_VARINT = 10  # bytes at most


def stated(plain: bytes) -> dict[str, str]:
    """Texts in metadata, by name.

    `plain` is unpacked; its beginning suffices.
    """
    head = _decoded(plain)
    return {} if head is None else texts_of(head)


def _decoded(plain: bytes) -> _core.Trace | None:
    end = _end_of_head(plain)
    if end == 0 or end > len(plain):
        return None
    try:
        return _core.decode_trace(plain[:end], "0.0.4")
    except (_core.TraceFault, ValueError):
        return None


def texts_of(native: _core.Trace) -> dict[str, str]:
    return {name: value for name, _, value, _ in native.metadata if isinstance(value, str)}


def stated_in(path: str) -> dict[str, str]:
    head = head_of(path)
    return {} if head is None else texts_of(head)


def head_of(path: str) -> _core.Trace | None:
    """A file's metadata as an empty trace, None if unreadable."""
    from yantra.base.errors import ConfigError
    from yantra.base.regular import open_regular
    from yantra.chakra.files import GZIP

    try:
        with open_regular(path) as file:
            start = file.read(_VARINT)
            if start[:2] == GZIP:
                from yantra.base.unpacking import Unpacked

                file.seek(0)
                return _decoded(Unpacked.of(file, path).read(_LONGEST))
            end = _end_of_head(start)
            return _decoded(start + file.read(end - len(start))) if end <= _LONGEST else None
    except (OSError, ValueError, ConfigError):
        return None


def with_stated(plain: bytes, **texts: str) -> bytes:
    from yantra.chakra.schema import Attribute
    from yantra.chakra.trace import Trace

    end = _end_of_head(plain)
    about = Trace.from_bytes(plain[:end]).metadata
    kept = tuple(item for item in about.attributes if item.name not in texts)
    added = tuple(Attribute(name, text) for name, text in texts.items())
    head = Trace((), about._replace(attributes=(*kept, *added))).to_bytes()
    return head + plain[end:]


def _end_of_head(plain: bytes) -> int:
    length = 0
    for at, byte in enumerate(plain[:_VARINT]):
        length |= (byte & 0x7F) << (7 * at)
        if byte < 0x80:
            return at + 1 + length
    return 0
