"""How long iterations take, for the loop: measured tables of a predictor, as the core has them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yantra import _core
from yantra.serving.iteration.energy import joules

if TYPE_CHECKING:
    from collections.abc import Callable

    from yantra.serving.iteration import Tables


class Measured(NamedTuple):
    tables: Tables
    interval: float
    rests_on: str
    power_w: float | None = None
    """Of a device; None where its cluster states none."""

    def core(self, factor: float = 1.0) -> Any:
        of = self.tables
        others = (
            of.host_ns_per_iteration * factor,
            of.host_ns_per_sequence * factor,
            of.host_ns_per_token * factor,
            of.prefill_ns_per_iteration * factor,
        )
        return _core.table_cost(
            tokens=_flat(of.dense_tokens),
            sequences=_flat(of.decode_n),
            context=_flat(of.decode_context),
            prompt_tokens=_flat(of.prefill_tokens),
            before=_flat(of.prefill_past),
            emitted=_flat(of.emit_n),
            ns=_four(lambda name: getattr(of, f"{name}_ns") * factor),
            operations=_four(lambda name: getattr(of, f"{name}_flops")),
            heavy_ns=_four(lambda name: _heavy(of, name) * factor),
            others_ns=others,
        )

    def with_experts(self, factor: float) -> Measured:
        of = self.tables
        more = of.dense_parts[of.parts.index("experts")] * (factor - 1)
        return self._replace(tables=replace(of, dense_ns=of.dense_ns + more))

    def with_layers(self, share: float) -> Measured:
        of = self.tables
        more = {name: getattr(of, name) * (1 + share) for name in ("dense_ns", "decode_ns")}
        return self._replace(tables=replace(of, **more))

    def with_adapters(self, most: int, size: int, rate: float) -> Measured:
        of = self.tables
        more = (np.minimum(of.dense_tokens, most) - 1) * (size / rate * 1e9)
        return self._replace(tables=replace(of, dense_ns=of.dense_ns + more))

    def joules(self, operations: float, heavy_ns: float, seconds: float) -> float:
        return joules(self.power_w or 0.0, seconds, heavy_ns / 1e9, operations)


def _heavy(of: Tables, name: str) -> np.ndarray:
    parts = getattr(of, f"{name}_parts")
    rows = [of.parts.index(part) for part in ("products", "attention", "experts")]
    return np.asarray(parts[rows].sum(axis=0))


def _four(table: Callable[[str], np.ndarray]) -> tuple[Any, Any, Any, Any]:
    dense, decode, prefill, emit = map(table, ("dense", "decode", "prefill", "emit"))
    return _flat(dense), _flat(decode), _flat(prefill), _flat(emit)


def _flat(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values, np.float64).reshape(-1)
