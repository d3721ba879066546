"""How much of kernels' time has operations or bytes, and why the rest has none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, field

from yantra.chakra.schema import NodeType
from yantra.tracing.pytorch.communication import Communication
from yantra.tracing.pytorch.linked import Linked, Operator
from yantra.tracing.pytorch.tensors import decoded
from yantra.tracing.pytorch.work.law import Work

_WHY = {
    "none": "of kernels whose operator was not recorded (launched before the recording)",
    "graph": "of kernels under ranges and graphs, not operators",
    "shapes": "of operators recorded without shapes (record_shapes=True)",
    "rule": "of operators whose shapes do not tell the work",
}
_LAUNCHES_GRAPH = ("GraphLaunch",)


class Share(Struct):
    """Times in ns of kernels that do not communicate; `missing` by reason."""

    kernels: int = 0
    kernel_ns: int = 0
    counted_ns: int = 0
    missing: Counter[str] = field(default_factory=Counter)

    @property
    def share(self) -> float:
        return self.counted_ns / self.kernel_ns if self.kernel_ns else 0.0

    def add(self, other: Share) -> None:
        self.kernels += other.kernels
        self.kernel_ns += other.kernel_ns
        self.counted_ns += other.counted_ns
        self.missing += other.missing

    def lines(self) -> list[str]:
        """One line for a summary; none without kernels."""
        if not self.kernel_ns:
            return []
        line = f"operations or bytes are known for {self._percent(self.counted_ns)} of kernel time"
        if self.missing:
            (reason, ns), *_ = self.missing.most_common(1)
            line += f"; {self._percent(ns)} is {_WHY[reason]}"
        return [line]

    def as_dict(self) -> dict[str, Any]:
        return {
            "kernels": self.kernels,
            "kernel_ns": self.kernel_ns,
            "counted_ns": self.counted_ns,
            "share": self.share,
            "missing_ns": dict(self.missing),
        }

    def _percent(self, ns: int) -> str:
        share = ns / self.kernel_ns
        return f"{share:.1%}" if 0.9995 > share >= 0.0005 else "all" if share > 0.5 else "< 0.1%"


def share(
    linked: Linked,
    operators: Mapping[int, Operator],
    work: Mapping[int, Work],
    items: Iterable[Communication],
    kept: Mapping[int, str],
) -> Share:
    """The share of one rank; `items` and `kept`: device ops that communicate."""
    communicating = {item.op for item in items if item.type is not NodeType.COMP} | set(kept)
    made = Share()
    shaped: dict[int, bool] = {}
    for op in linked.device_ops:
        if op.cat != "kernel" or op.id in communicating:
            continue
        made.kernels += 1
        made.kernel_ns += op.dur_ns
        found = work.get(op.id)
        if found is not None and (found.flops or found.bytes):
            made.counted_ns += op.dur_ns
            continue
        operator = None if op.parent is None else operators.get(op.parent)
        made.missing[_why(operator, op.launch_name, shaped)] += op.dur_ns
    return made


def _why(operator: Operator | None, launch: str, shaped: dict[int, bool]) -> str:
    if operator is None:
        return "none"
    if launch.endswith(_LAUNCHES_GRAPH) or operator.attr("scope") == _USER_SCOPE:
        return "graph"
    if operator.id not in shaped:
        shaped[operator.id] = bool(decoded(operator.inputs).types)
    return "rule" if shaped[operator.id] else "shapes"


_USER_SCOPE = 7
