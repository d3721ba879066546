"""What a trace says of itself as a whole, read and written without its nodes.

A file begins with a record of metadata. Some attributes of it are Yantra's: in which order the
collectives of a rank go where it has one slot for communication, the type of its products, the
framework of the model and the experts of its tokens. They are what a workload file (`.yw`) says of
its templates, so that its traces run as it does. Other readers ignore them.
"""

from __future__ import annotations

from yantra import _core

ORDERING = "collective_ordering"
"""`serial`: as in the file, where a rank has one slot; `streams`: as its dependencies say alone."""

DTYPE = "compute_dtype"
"""The type of the products of a job's plan."""

FRAMEWORK = "framework"
"""What trains or trained the model, such as Megatron-LM."""

EXPERTS = "experts_per_token"
"""To how many experts the model sends a token."""

_LONGEST = 1 << 20
_VARINT = 10  # bytes at most


def stated(plain: bytes) -> dict[str, str]:
    """Return the texts that the metadata of a file's content state, by name; none if there is none.

    `plain` is not packed; its beginning is enough.
    """
    head = _decoded(plain)
    return {} if head is None else texts_of(head)


def _decoded(plain: bytes) -> _core.Trace | None:
    """Return the metadata as a trace without nodes; what is wrong with it says who reads it all."""
    end = _end_of_head(plain)
    if end == 0 or end > len(plain):
        return None
    try:
        return _core.decode_trace(plain[:end], "0.0.4")
    except (_core.TraceFault, ValueError):
        return None


def texts_of(native: _core.Trace) -> dict[str, str]:
    """Return the texts that the metadata of a trace in memory state, by name."""
    return {name: value for name, _, value, _ in native.metadata if isinstance(value, str)}


def stated_in(path: str) -> dict[str, str]:
    """Return the same of a file; none of one that cannot be read, which others report."""
    head = head_of(path)
    return {} if head is None else texts_of(head)


def head_of(path: str) -> _core.Trace | None:
    """Return the metadata of a file as a trace without nodes, None where it cannot be read."""
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
    """Return the content of a file whose metadata state these texts, too."""
    from yantra.chakra.schema import Attribute
    from yantra.chakra.trace import Trace

    end = _end_of_head(plain)
    about = Trace.from_bytes(plain[:end]).metadata
    kept = tuple(item for item in about.attributes if item.name not in texts)
    added = tuple(Attribute(name, text) for name, text in texts.items())
    head = Trace((), about._replace(attributes=(*kept, *added))).to_bytes()
    return head + plain[end:]


def _end_of_head(plain: bytes) -> int:
    """Return where the first record ends, 0 where none begins."""
    length = 0
    for at, byte in enumerate(plain[:_VARINT]):
        length |= (byte & 0x7F) << (7 * at)
        if byte < 0x80:
            return at + 1 + length
    return 0
