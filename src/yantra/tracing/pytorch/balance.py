"""What became of a recording's events, launches and device ops; `unaccounted` is what neither
reading nor a named rule explains.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec
from msgspec import Struct, field

ATTRIBUTE = "recording"
"""The metadata attribute with the balance, as JSON."""

NODES = "nodes of the host trace"


class Sum(Struct):
    """A whole and its parts by name; `left_out` go no further."""

    total: int = 0
    parts: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)

    @property
    def unaccounted(self) -> int:
        return self.total - sum(self.parts.values()) - sum(self.left_out.values())

    def add(self, part: str, number: int) -> None:
        if number:
            self.parts[part] = self.parts.get(part, 0) + number

    def leave_out(self, rule: str, number: int) -> None:
        if number:
            self.left_out[rule] = self.left_out.get(rule, 0) + number


class Balance(Struct):
    """`events` parts the file, `nodes` the host trace, `launches` the calls that launch,
    `device_ops` how each found its launch, `became` what each was converted to.
    """

    events: Sum = field(default_factory=Sum)
    nodes: Sum = field(default_factory=Sum)
    launches: Sum = field(default_factory=Sum)
    device_ops: Sum = field(default_factory=Sum)
    became: Sum = field(default_factory=Sum)

    def sums(self) -> dict[str, Sum]:
        named = {
            "events": self.events,
            NODES: self.nodes,
            "launch calls": self.launches,
            "device ops": self.device_ops,
            "device ops as converted": self.became,
        }
        return {name: one for name, one in named.items() if one.total or one.unaccounted}

    @property
    def unaccounted(self) -> dict[str, int]:
        return {name: one.unaccounted for name, one in self.sums().items() if one.unaccounted}

    def lines(self) -> list[str]:
        return [_line(name, one) for name, one in self.sums().items()]

    def problems(self) -> list[str]:
        return [
            f"{number} of the {self.sums()[name].total} {name} are not accounted for: a defect of "
            "the reader; please report the file"
            for name, number in self.unaccounted.items()
        ]

    def as_dict(self) -> dict[str, Any]:
        form: dict[str, Any] = msgspec.to_builtins(self)
        return form


def from_text(text: object) -> Balance | None:
    if not isinstance(text, str):
        return None
    try:
        return msgspec.json.decode(text.encode(), type=Balance)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def to_text(balance: Balance) -> str:
    return json.dumps(balance.as_dict(), ensure_ascii=False, separators=(",", ":"))


def _line(name: str, one: Sum) -> str:
    said = ", ".join(f"{part} {number}" for part, number in one.parts.items())
    out = ", ".join(f"{rule} {number}" for rule, number in one.left_out.items())
    lost = f"; {one.unaccounted} not accounted for" if one.unaccounted else ""
    left = f"; left out: {out}" if out else ""
    return f"{one.total} {name}: {said or 'none read'}{left}{lost}"
