"""`Predictor(model, cluster, plan)`: how long an iteration of a serving engine takes.

Trade-off: between knots it is a line.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from math import exp, hypot
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yantra.base.errors import ConfigError, expected_got
from yantra.compile.slowdown import Slowdown
from yantra.explore.closed_form.scale import Scale
from yantra.fabric import clusters
from yantra.fabric.clusters.ownership import power_of
from yantra.fabric.stacks.choice import DEFAULT
from yantra.serving import engines
from yantra.serving.engines import Host
from yantra.serving.iteration.batch import Batch
from yantra.serving.iteration.closed_form import ClosedForm
from yantra.serving.iteration.energy import HEAVY, SAMPLED, width_of
from yantra.serving.iteration.speeds import Speeds
from yantra.serving.iteration.tables import Tables, tables_of
from yantra.serving.iteration.walk import PARTS
from yantra.serving.iteration.works import Works
from yantra.workloads.serving.legality import check_plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from yantra.workloads.serving.plan import InferencePlan

MAX_TOKENS, MAX_SEQUENCES, MAX_CONTEXT = 16_384, 2_048, 131_072
"""The largest iteration by default: new tokens, sequences that decode, cached tokens of each."""

_Row = tuple[float, ...]


class Iteration(NamedTuple):
    """Seconds; 90 % of iterations are within `low` to `high`. `parts` sum to `seconds`.

    `joules` are one device's, within `joules_low` to `joules_high` likewise; None where its cluster
    states no power.
    """

    seconds: float
    low: float
    high: float
    parts: dict[str, float]
    joules: float | None
    joules_low: float | None = None
    joules_high: float | None = None


class Predictor:
    """Times of iterations of a model on one replica of a plan on a cluster.

    `engine` names an engine or its file: its kernels, and what its host takes. `stack` says at
    which speeds, as `yantra run` has it; without both it is that of `yantra run`, without a host.
    `host` replaces the engine's; `scale` multiplies the device's peak and memory, as logs of the
    user's own engine say.

    Raises ConfigError for an unknown name, or a plan that the model or the cluster cannot have.
    """

    def __init__(
        self,
        model: Any,
        cluster: Any,
        plan: InferencePlan,
        *,
        stack: str | None = None,
        engine: str | None = None,
        host: Host | None = None,
        scale: Scale | None = None,
        max_tokens: int = MAX_TOKENS,
        max_sequences: int = MAX_SEQUENCES,
        max_context: int = MAX_CONTEXT,
    ) -> None:
        if isinstance(model, str):
            from yantra.workloads.models.catalogue import find

            model = find(model)
        check_plan(plan, model, 1)
        self.plan = plan
        self.engine = None if engine is None else engines.load(engine)
        self.host = host or (Host() if self.engine is None else self.engine.host)
        self._most = max_tokens, max_sequences, max_context
        factors = Slowdown() if self.engine is not None and stack is None else None
        kernels = None if self.engine is None else self.engine.kernels or None
        machine = clusters.load(cluster) if isinstance(cluster, str) else cluster
        self.power = power_of(machine)
        self._speeds = Speeds(
            cluster, plan, model, stack or DEFAULT, factors, kernels, scale or Scale()
        )
        self.form = ClosedForm(Works(model, plan), self._speeds)

    def to_others(self, devices: int) -> Callable[[Any], Any]:
        return self._speeds.to_others(devices)

    @cached_property
    def interval(self) -> float:
        """The half-width of 90 % of iterations, as a logarithm; 0 if nobody states one.

        An engine's holds for measured kernels; it is wider where they are another device's, unless
        it is the user's own.
        """
        if self.engine is None or not self._speeds.tables:
            return self._speeds.interval
        stated = self.engine.interval
        return stated.value if stated.basis == "yours" else hypot(stated.value, self.form.transfer)

    @property
    def rests_on(self) -> str:
        """Which kernels and collectives the times come from, as far as they were asked."""
        return self._speeds.rests_on

    def tables(
        self, max_tokens: int, max_sequences: int, max_context: int, stage: int | None = None
    ) -> Tables:
        stages = range(self.form.stages) if stage is None else (stage,)
        most = max_tokens, max_sequences, max_context
        for name, value in zip(("max_tokens", "max_sequences", "max_context"), most, strict=True):
            if value < 2:
                raise ConfigError(name, expected_got("at least 2", value))
        made = tables_of(self.form, self.host, *most, stages)
        if self.engine is None or self.engine.factors == (1.0, 1.0):
            return made
        return made.scaled(*self.engine.factors)

    def iteration(self, batch: Batch | Iterable[tuple[int, int]]) -> Iteration:
        """Raises ConfigError for a batch beyond the largest that the predictor was made for."""
        if not isinstance(batch, Batch):
            batch = Batch.of(batch)
        tables = self._tables
        ns = [0.0] * (len(PARTS) + 1)
        if batch.tokens:
            tables.dense.add(ns, batch.tokens)
        if batch.decodes:
            tables.decode.add(ns, batch.decodes, batch.context / batch.decodes)
        for new, past in batch.chunks:
            tables.prompt.add(ns, new, past)
        if batch.chunks:
            ns[1] += tables.launch
        if batch.emitted:
            tables.emit.add(ns, batch.emitted)
        host = self.host.ns_per_sequence * batch.sequences + self.host.ns_per_token * batch.tokens
        host += self.host.ns_per_iteration if batch.tokens else 0.0
        operations = ns.pop()
        seconds = (sum(ns) + host) / 1e9
        width = self._width
        parts = {name: one / 1e9 for name, one in zip(PARTS, ns, strict=True)}
        parts["host"] = host / 1e9
        found = Iteration(seconds, seconds / width, seconds * width, parts, None)
        if self.power is None:
            return found
        working = sum(parts[name] for name in HEAVY)
        working += SAMPLED * self.host.ns_per_sequence * batch.sequences / 1e9
        spent = float(self.power.joules(seconds, min(working, seconds), operations))
        wide = exp(width_of(self.interval))
        return found._replace(joules=spent, joules_low=spent / wide, joules_high=spent * wide)

    @cached_property
    def _width(self) -> float:
        return exp(self.interval)

    @cached_property
    def _tables(self) -> _Lists:
        return _Lists(self.tables(*self._most))


class _Line:
    def __init__(self, name: str, knots: Any, parts: Any, operations: Any) -> None:
        self._name, self._knots = name, knots.tolist()
        rows = np.concatenate([parts, operations[None]])
        self._rows: list[_Row] = [tuple(one) for one in rows.T.tolist()]

    def add(self, ns: list[float], at: float) -> None:
        left, share = _place(self._name, self._knots, at)
        low, high = self._rows[left], self._rows[left + 1]
        for part, (one, two) in enumerate(zip(low, high, strict=True)):
            ns[part] += one + (two - one) * share


class _Plane:
    """A grid as lists."""

    def __init__(
        self, names: tuple[str, str], knots: tuple[Any, Any], parts: Any, operations: Any
    ) -> None:
        self._names, (self._first, self._second) = names, (one.tolist() for one in knots)
        rows = np.concatenate([parts, operations[None]])
        self._rows: list[list[_Row]] = [
            [tuple(one) for one in row] for row in rows.transpose(1, 2, 0).tolist()
        ]

    def add(self, ns: list[float], one: float, two: float) -> None:
        i, f = _place(self._names[0], self._first, one)
        j, g = _place(self._names[1], self._second, two)
        corners = *self._rows[i][j : j + 2], *self._rows[i + 1][j : j + 2]
        for part, (a, b, c, d) in enumerate(zip(*corners, strict=True)):
            low, high = a + (c - a) * f, b + (d - b) * f
            ns[part] += low + (high - low) * g


class _Lists:
    """Tables as lists."""

    def __init__(self, of: Tables) -> None:
        self.dense = _Line("max_tokens", of.dense_tokens, of.dense_parts, of.dense_ran)
        self.emit = _Line("max_sequences", of.emit_n, of.emit_parts, of.emit_flops)
        names, knots = ("max_sequences", "max_context"), (of.decode_n, of.decode_context)
        self.decode = _Plane(names, knots, of.decode_parts, of.decode_flops)
        names, knots = ("max_tokens", "max_context"), (of.prefill_tokens, of.prefill_past)
        self.prompt = _Plane(names, knots, of.prefill_parts, of.prefill_flops)
        self.launch = of.prefill_ns_per_iteration


def _place(name: str, knots: Sequence[int], at: float) -> tuple[int, float]:
    if at > knots[-1]:
        problem = f"expected an iteration of at most {knots[-1]}, got {at:g}"
        raise ConfigError(name, f"{problem}; make the Predictor with a larger one")
    left = min(max(bisect_right(knots, at) - 1, 0), len(knots) - 2)
    return left, (at - knots[left]) / (knots[left + 1] - knots[left])
