"""How long iterations take, for the loop: measured tables of a predictor, as the core has them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yantra import _core
from yantra.serving.iteration.energy import HEAVY, SAMPLED, width_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from yantra.compute.power import Power
    from yantra.serving.iteration import Tables


class Measured(NamedTuple):
    tables: Tables
    interval: float
    rests_on: str
    power: Power | None = None
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
            operations=_four(lambda name: of.dense_ran if name == "dense" else _flops(of, name)),
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

    @property
    def joules_width(self) -> float:
        return width_of(self.interval)

    def joules(self, operations: float, heavy_ns: float, seconds: float) -> float:
        if self.power is None:
            return 0.0
        return float(self.power.joules(seconds, min(heavy_ns / 1e9, seconds), operations))


def _flops(of: Tables, name: str) -> np.ndarray:
    flops: np.ndarray = getattr(of, f"{name}_flops")
    return flops


def _heavy(of: Tables, name: str) -> np.ndarray:
    parts = getattr(of, f"{name}_parts")
    working = np.asarray(parts[[of.parts.index(part) for part in HEAVY]].sum(axis=0))
    return working + SAMPLED * of.host_ns_per_sequence * of.emit_n if name == "emit" else working


def _four(table: Callable[[str], np.ndarray]) -> tuple[Any, Any, Any, Any]:
    dense, decode, prefill, emit = map(table, ("dense", "decode", "prefill", "emit"))
    return _flat(dense), _flat(decode), _flat(prefill), _flat(emit)


def _flat(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values, np.float64).reshape(-1)
