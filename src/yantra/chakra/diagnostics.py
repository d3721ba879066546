"""All that is wrong with a trace, not just the first error."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Literal, NamedTuple

from yantra import _core
from yantra.base.errors import TraceError
from yantra.chakra import files
from yantra.chakra.trace import Trace, decode


class Diagnostic(NamedTuple):
    """One finding."""

    severity: Literal["error", "warning"]
    """A run refuses errors, not warnings."""
    code: str
    """Kind of finding, the same in all versions."""
    node_id: int | None
    """Node id; None for the whole file."""
    name: str
    """Node name."""
    byte_offset: int | None
    """Node's begin in the unpacked file, in bytes, or None."""
    message: str
    """What is wrong."""

    @property
    def where(self) -> str:
        """Node and place in the file, as far as known."""
        node = "trace" if self.node_id is None else f"node {self.node_id} {self.name!r}"
        return node if self.byte_offset is None else f"{node} (byte {self.byte_offset})"

    def __str__(self) -> str:
        return f"{self.severity}: {self.where}: {self.message} [{self.code}]"


def validate(source: Trace | str | os.PathLike[str] | bytes) -> list[Diagnostic]:
    """All that is wrong with a trace, structure first.

    Independent of a run: a missing `comm_size` is an error though replaying recorded durations does
    not need it. Lists 20 findings of a kind; the last counts the rest. Raises TraceError only if
    the file is unreadable.
    """
    if isinstance(source, Trace):
        return _findings(source.native)
    data = files.unpack(source, "trace") if isinstance(source, bytes) else files.load(source)
    if files.is_json(data):
        return _findings(decode(data, "trace" if isinstance(source, bytes) else os.fspath(source)))
    try:
        native = _core.decode_trace(data)
    except _core.TraceFault as fault:
        place, _, problem = str(fault).partition(": ")
        offset = int(place.removeprefix("byte "))
        return [Diagnostic("error", "malformed", None, "", offset, problem)]
    return _findings(native)


def from_native(findings: Iterable[_core.Diagnostic]) -> list[Diagnostic]:
    """The core's findings, such as `Graph.diagnostics`, as `Diagnostic`."""
    return [_convert(finding) for finding in findings]


def raise_errors(findings: Iterable[Diagnostic], where: str) -> None:
    """TraceError for the first error, with the number of others."""
    errors = [finding for finding in findings if finding.severity == "error"]
    if not errors:
        return
    from yantra.base.text import count

    others = f" (and {count(len(errors) - 1, 'more error')})" if len(errors) > 1 else ""
    raise TraceError(f"{where}: {errors[0].where}: {errors[0].message}{others}")


def _findings(native: _core.Trace) -> list[Diagnostic]:
    graph = native.graph()
    return from_native([*graph.diagnostics, *native.check(graph)])


def _convert(finding: _core.Diagnostic) -> Diagnostic:
    more = f" (and {finding.left_out} more of this kind)" if finding.left_out else ""
    return Diagnostic(
        severity="error" if finding.is_error else "warning",
        code=finding.code,
        node_id=finding.node_id if finding.about_node else None,
        name=finding.name,
        byte_offset=finding.byte_offset or None,
        message=finding.text + more,
    )
