"""What a stack is: terms by machine, each a number with its source.

Trade-off: factors of whole classes of time hold for jobs like those they were fitted to; the
interval says how well for others.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from yantra.base import units
from yantra.base.records import Record
from yantra.fabric.clusters.types import Number
from yantra.fabric.stacks.choice import UNKNOWN

ANY = "any"
"""The machine whose terms hold where a stack has none of the one that is asked for."""

NOTHING = Number(value=0.0, unit="", written="0", source="none known")
"""The number of a term that a stack does not state."""

EIGHT_BITS = ("fp8", "int8", "fp4")

FACTORS = ("products", "attention", "rest")
GIVEN = ("older_attention", "training_products", "launch", "straggling", "taken")
OTHERS = ("communication", *GIVEN, "interval", "apart", "attention_apart")
"""The terms that a stack must state on every machine, those not fitted, and all that it may."""

DENSE, MOE = "dense", "moe"
"""Kinds of models: without experts, and mixtures of experts."""

INFERENCE = "inference"
"""What `graphs` may name."""

SHAPE = ("tp", "micro_batch")
"""What a plan's interval is chosen by."""


class PlanInterval(Record):
    """The interval of plans of some tensor parallelism, and micro-batch if that is not None."""

    tp: int
    micro_batch: int | None
    interval: Number


class Terms(Record):
    """The terms of a stack on a machine; what they mean, `yantra.scenario.types.Stack` says.

    `rows` is how many measured steps they rest on, `models` of how many models. They were fitted
    beside the kernels of `profile`, by its name or path, or beside tables alone. What is not fitted
    but known of the framework is where a fit starts: `launch`, `straggling`, `taken`, the share of
    a device that its collectives take from kernels beside them, `older_attention`, how much longer
    attention takes with the kernels of its year than with those of the tables, and
    `training_products`, how much longer products are in training than where graphs are replayed.
    `attention` and `products` have those in them. `apart` is how far another model's step is from
    those measured, whose plans have a `measured_tp`: a standard deviation of a logarithm.
    `attention_apart` is that of `attention` where nobody knows of which year its kernels are.
    """

    products: Number
    attention: Number
    rest: Number
    interval: Number
    apart: Number
    attention_apart: Number
    launch: Number
    communication: Number
    older_attention: Number
    training_products: Number
    straggling: Number
    taken: Number
    rows: int
    models: int
    profile: str = ""
    plans: tuple[PlanInterval, ...] = ()
    measured_tp: tuple[int, ...] = ()

    def numbers(self) -> Iterator[tuple[str, Number]]:
        for key in (*FACTORS, *OTHERS):
            yield key, getattr(self, key)
        for one in self.plans:
            beside = "" if one.micro_batch is None else f" micro_batch {one.micro_batch}"
            yield f"interval, tp {one.tp}{beside}", one.interval


class Graphs(Record):
    """The jobs whose engines replay the kernels of the tables as CUDA graphs.

    So no launch counts in them, and no `older_attention`. `interval` is theirs, where it is not
    that of steps.
    """

    jobs: str
    source: str
    interval: Number | None = None

    @property
    def line(self) -> str:
        parts = [f"jobs: {self.jobs}", f"source: {json.dumps(self.source)}"]
        if (own := self.interval) is not None:
            about = f"basis: {own.basis}, source: {json.dumps(own.source)}"
            parts.append(f"interval: {{value: {own.written}, {about}}}")
        return f"graphs: {{{', '.join(parts)}}}"


class Memory(Record):
    """Bytes that a framework takes beside a job's tensors.

    `communicator` for each that a rank is in, `workspaces` of products, `gaps` of the allocator.
    """

    communicator: Number
    workspaces: Number
    gaps: Number

    def numbers(self) -> Iterator[tuple[str, Number]]:
        for key in self.field_names:
            yield f"memory.{key}", getattr(self, key)

    @property
    def lines(self) -> list[str]:
        """The lines of its stack's file."""
        found = ["memory:"]
        for key in self.field_names:
            one = getattr(self, key)
            basis = "" if one.basis == "published" else f", basis: {one.basis}"
            about = f"{one.written}{basis}, source: {json.dumps(one.source)}"
            found.append(f"  {key}: {{value: {about}}}")
        return found


class Stack(Record):
    """A framework and its generation: terms by machine (`hgx-h100`, `hgx-h100 fp8`, `any`).

    `copies` are the experts of a token that it sends to a node once, 0 those that the job's model
    has; see the selection `measured`. `graphs` names jobs without launches,
    `host_waits` is the source of that a host never launches ahead.
    Generations of one software have one `framework`; without it a stack is its own. `names` are
    what jobs call this one, `year` is that of its steps, `release`
    the framework's, where they say it, `kind` that of their models: `dense`, or
    `moe`, mixtures of experts. `chosen_by` says why it was chosen where nobody named it.
    `kernels` (a profile) and `collectives` (a file) were measured on the user's own machine;
    `attention_library` is what attention runs with there, in place of `older_attention`.
    """

    name: str
    title: str
    sources: tuple[tuple[str, str], ...]
    machines: tuple[tuple[str, Terms], ...]
    copies: Number | None = None
    graphs: Graphs | None = None
    host_waits: str | None = None
    memory: Memory | None = None
    framework: str = ""
    names: tuple[str, ...] = ()
    year: int | None = None
    release: str = ""
    kind: str = DENSE
    chosen_by: str = ""
    kernels: str = ""
    collectives: str = ""
    attention_library: str = ""

    @property
    def generation(self) -> str:
        """Return the name without the release."""
        return self.name.removesuffix(f"-{self.release}") if self.release else self.name

    def terms(self, cluster: str | None = None, dtype: str | None = None) -> tuple[str, Terms]:
        """Return the terms of a machine and the key they stand at: its own, or those of `any`.

        Those of products in 8 bits and fewer stand at `<cluster> fp8` where they differ, or at
        `any fp8`, and those in 4 at `<cluster> fp4`.
        """
        known = dict(self.machines)
        keys = [f"{cluster} fp4"] if dtype == "fp4" else []
        keys += [f"{cluster} fp8", f"{ANY} fp8"] if dtype in EIGHT_BITS else []
        for key in (*keys, cluster or ANY):
            if key in known:
                return key, known[key]
        return ANY, known[ANY]

    def profile(self, cluster: str | None = None, dtype: str | None = None) -> str | None:
        """Return the profile of the machine that the terms go with, None where there is none."""
        return self.kernels or self.terms(cluster, dtype)[1].profile or None

    def lines(self) -> list[str]:
        """Return the lines of its file that say what its host, engines and memory do."""
        waits = (
            []
            if self.host_waits is None
            else [f"host_waits: {{source: {json.dumps(self.host_waits)}}}", ""]
        )
        kept = [] if self.memory is None else [*self.memory.lines, ""]
        return waits + ([] if self.graphs is None else [self.graphs.line, ""]) + kept

    def _engines(self, terms: Terms) -> dict[str, Any]:
        if self.graphs is None:
            return {}
        older = 0.0 if self.attention_library else terms.older_attention.value
        own = self.graphs.interval
        return (
            {"graphs": self.graphs.jobs}
            | ({"older_attention": older} if older else {})
            | ({"training_products": longer} if (longer := terms.training_products.value) else {})
            | ({"graphs_interval": own.value} if own else {})
        )

    def scenario_part(self, cluster: str | None = None, dtype: str | None = None) -> dict[str, Any]:
        """Return the mapping `stack` of a scenario file."""
        key, terms = self.terms(cluster, dtype)
        older = terms.older_attention.value if self.attention_library else 0.0
        is_other = key == ANY and cluster is not None and self.framework != UNKNOWN
        # Terms of `any` alone are somebody's own for all machines.
        longer = _balanced(cluster, dtype) if is_other and len(self.machines) > 1 else 1.0
        plans = [
            {"tp": one.tp, "interval": one.interval.value}
            | ({} if one.micro_batch is None else {"micro_batch": one.micro_batch})
            for one in terms.plans
        ]
        return ({"plans": plans} if plans else {}) | {
            "name": self.name
            + (" (of other machines)" if is_other else "")
            + (f" ({self.chosen_by})" if self.chosen_by else ""),
            "products": terms.products.value * longer,
            "attention": terms.attention.value / (older or 1.0),
            "rest": terms.rest.value,
            "launch": units.exact(terms.launch.value, "ns"),
            **self._engines(terms),
            **({} if self.host_waits is None else {"host_waits": True}),
            "straggling": terms.straggling.value,
            **({"taken": terms.taken.value} if terms.taken.value else {}),
            "communication": terms.communication.value or 1.0,
            "interval": terms.interval.value,
            **({"apart": terms.apart.value} if terms.apart.value else {}),
            **(
                {"attention_apart": terms.attention_apart.value}
                if terms.attention_apart.value and not self.attention_library
                else {}
            ),
            **({"measured_tp": list(terms.measured_tp)} if terms.measured_tp else {}),
        }


def _balanced(cluster: str | None, dtype: str | None) -> float:
    """Return how much longer products are on a machine that a stack was not measured on."""
    from yantra.fabric.stacks.balance import PRIOR, products_on

    return products_on(cluster) / PRIOR if cluster and dtype not in EIGHT_BITS else 1.0
