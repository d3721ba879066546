"""A model as its blocks, its weights and its costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from yantra.base.errors import ConfigError, expected_got
from yantra.base.records import Record
from yantra.workloads.models.blocks import Block
from yantra.workloads.operators.graph import Batch, Graph, Setting
from yantra.workloads.operators.graph.batch import Causality
from yantra.workloads.operators.graph.formats import WIDTHS


class Model(Record):
    """What a job trains or serves: a block in front, layers a pipeline may cut between, a tail.

    `sequence` is its usual tokens, the only ones if `fixed_sequence`.
    """

    name: str
    """The name by which it is asked for."""
    hidden: int
    """Width between layers, in elements."""
    front: Block
    """Before the layers, such as an embedding."""
    layers: tuple[Block, ...]
    """The layers, between which a pipeline may cut."""
    tail: Block
    """After them, such as a head and the loss."""
    sequence: int
    """Usual tokens of a sequence, or image."""
    source: str
    """Origin of the sizes."""
    fixed_sequence: bool = False
    """Whether there is no other length."""
    notes: tuple[str, ...] = ()
    """What to know of its description."""

    def parameters(self) -> int:
        """Number of trained weights."""
        return sum(
            times * weight.elements
            for graph, times in self._graphs(Batch.of(1, self.sequence))
            for weight in graph.weights
        )

    def active_parameters(self) -> int:
        """Weights that one token meets; a vocabulary counts whole, as is usual."""
        total = 0
        for graph, times in self._graphs(Batch.of(1, self.sequence)):
            total += times * sum(w.elements for w in graph.weights if w.domain == "dense")
            names = {w.name.rpartition(".")[0] for w in graph.weights if w.domain != "dense"}
            met = sum(
                operation.tensor_flops // 2 or operation.bytes_read // graph.setting.width
                for operator in graph.operators
                if operator.name in names
                for operation in operator.program
            )
            total += times * met // self.sequence
        return total

    def flops(
        self, sequence: int | None = None, batch: int = 1, causal: Causality = "exact"
    ) -> int:
        """Operations of matrix products in a forward pass, two per product.

        `sequence` is in tokens, None for the usual; `batch` counts sequences. `causal` counts pairs
        under a mask as `exact`, `full` (no mask) or as `megatron` reports: half of them, no router,
        and a product for each element that latent attention's norms see.
        """
        return sum(
            times * _products(graph, reported=causal == "megatron")
            for graph, times in self._graphs(self._batch(sequence, batch, causal))
        )

    def kv_bytes_per_token(self, dtype: str = "bf16") -> int:
        """Bytes that one token leaves in the cache, over all layers."""
        return self._kept(dtype, per_sequence=False)

    def state_bytes_per_sequence(self) -> int:
        """Bytes that a sequence keeps whatever its length, such as scans' states."""
        return self._kept("bf16", per_sequence=True)

    def _kept(self, dtype: str, *, per_sequence: bool) -> int:
        if dtype not in WIDTHS:
            raise ConfigError("dtype", expected_got(f"one of {', '.join(WIDTHS)}", dtype))
        return sum(
            cache.heads * cache.head_bytes(WIDTHS[dtype])
            for layer in self.layers
            for cache in layer.caches() or ()
            if cache.per_sequence is per_sequence
        )

    def _batch(self, sequence: int | None, batch: int, causal: Causality) -> Batch:
        length = self.sequence if sequence is None else sequence
        if length < 1 or batch < 1:
            raise ConfigError("sequence" if length < 1 else "batch", "expected at least 1")
        if self.fixed_sequence and length != self.sequence:
            raise ConfigError(
                "sequence", f"{self.name} has one length, {self.sequence}; got {length}"
            )
        return Batch.of(batch, length, causal)

    def _graphs(self, batch: Batch) -> Iterator[tuple[Graph, int]]:
        ends = Graph(Setting(batch))
        with ends.unit("embedding"):
            self.front.build(ends, None)
        with ends.unit("head"):
            self.tail.build(ends, ends.tensor("input", self.tail.input_sizes(ends), ends.tokens()))
        yield ends, 1
        for layer, times in Counter(self.layers).items():
            graph = Graph(Setting(batch))
            with graph.unit("layers.0"):
                layer.build(graph, graph.tensor("input", layer.input_sizes(graph), graph.tokens()))
            yield graph, times


def _products(graph: Graph, reported: bool) -> int:
    total = 0
    latent = any(operator.name.endswith(".kv_norm") for operator in graph.operators)
    for operator in graph.operators:
        if reported and operator.name.endswith(".router"):
            continue
        total += sum(operation.tensor_flops for operation in operator.program)
        if reported and latent and operator.name.endswith((".kv_norm", ".q_norm")):
            total += sum(2 * graph.local(tensor) for tensor in operator.outputs)
    return total
