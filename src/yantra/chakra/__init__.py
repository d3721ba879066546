"""Chakra execution traces: read, write, build by hand, check.

trace = chakra.read("step.0.et") trace.write("copy.0.et.gz") for finding in
chakra.validate("step.0.et"):
    print(finding)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra.base.late import late

if TYPE_CHECKING:
    from yantra.chakra.builder import TraceBuilder
    from yantra.chakra.diagnostics import Diagnostic, from_native, raise_errors, validate
    from yantra.chakra.feeder import Feeder, State, issue_order
    from yantra.chakra.generator import generate
    from yantra.chakra.json_text import to_json, write_json
    from yantra.chakra.schema import (
        DEFAULT_KINDS,
        Attribute,
        CollectiveType,
        IOInfo,
        Kind,
        Metadata,
        Node,
        NodeType,
    )
    from yantra.chakra.trace import LAYOUTS, Trace, read, upgrade
else:
    __getattr__, __dir__ = late(
        __name__,
        {
            "builder": "TraceBuilder",
            "diagnostics": "Diagnostic from_native raise_errors validate",
            "feeder": "Feeder State issue_order",
            "generator": "generate",
            "json_text": "to_json write_json",
            "schema": "DEFAULT_KINDS Attribute CollectiveType IOInfo Kind Metadata Node NodeType",
            "trace": "LAYOUTS Trace read upgrade",
        },
    )

__all__ = [
    "DEFAULT_KINDS",
    "LAYOUTS",
    "Attribute",
    "CollectiveType",
    "Diagnostic",
    "Feeder",
    "IOInfo",
    "Kind",
    "Metadata",
    "Node",
    "NodeType",
    "State",
    "Trace",
    "TraceBuilder",
    "from_native",
    "generate",
    "issue_order",
    "raise_errors",
    "read",
    "to_json",
    "upgrade",
    "validate",
    "write_json",
]
