"""The forward pass of each pipeline stage for a batch, by the operator graph."""

from __future__ import annotations

from collections.abc import Callable

from yantra.workloads.operators.adapters import targets_of
from yantra.workloads.operators.graph import Batch, Sequences, Setting
from yantra.workloads.operators.operations import Operation, StageWork, Weight
from yantra.workloads.serving.activations import peak_bytes
from yantra.workloads.serving.kv_cache import LayerCache, layer_caches
from yantra.workloads.serving.plan import InferencePlan
from yantra.workloads.training.stage import Chunk, Parts
from yantra.workloads.training.step.layers import layer_ranges

_KEPT = 16
"""Passes kept for lanes with equal batches."""


class Stages:
    def __init__(self, model: Parts, plan: InferencePlan, prefix: str = "") -> None:
        self.model = model
        self.plan = plan
        self.prefix = prefix
        self.ranges = layer_ranges(len(model.layers), plan.pp, shares=plan.stage_layers)
        self.caches: tuple[tuple[LayerCache, ...], ...] = tuple(
            layer_caches(layer, plan.kv_cache_dtype) for layer in model.layers
        )
        self._passes: dict[tuple[int, Batch], StageWork] = {}

    def caches_of(self, stage: int) -> tuple[LayerCache, ...]:
        first, end = self.ranges[stage]
        return tuple(cache for layer in self.caches[first:end] for cache in layer)

    def stage_of(self, layer: int) -> int:
        return next(at for at, (_, end) in enumerate(self.ranges) if layer < end)

    def of(self, stage: int, batch: Batch) -> StageWork:
        if (stage, batch) not in self._passes:
            if len(self._passes) > _KEPT:
                self._passes.clear()
            chunk = self._chunk(stage, batch, tail=batch.logits > 0)
            self._passes[stage, batch] = self._named(chunk.work())
        return self._passes[stage, batch]

    def peak_bytes(self, stage: int, batch: Batch) -> int:
        """Peak bytes of activations in a forward pass."""
        return peak_bytes(self._chunk(stage, batch, tail=batch.logits > 0).graph)

    def weight_bytes(self, stage: int) -> int:
        return self.chosen_bytes(stage, lambda _: True)

    def weights(self, stage: int, batch: Batch) -> tuple[Weight, ...]:
        """The weights of a stage, as its ranks hold them."""
        return tuple(self._chunk(stage, batch, tail=True).graph.weights)

    def chosen_bytes(self, stage: int, is_chosen: Callable[[str], bool]) -> int:
        """Bytes of the weights whose names are chosen."""
        one = Batch((Sequences(1, 1),), all_logits=False, padding=self.plan.token_multiple - 1)
        weights = self._chunk(stage, one, tail=True).graph.weights
        setting = self.setting(one)
        return sum(
            setting.weight_bytes(weight.elements, packs=weight.packs)
            for weight in weights
            if is_chosen(weight.name)
        )

    def adapter_bytes(self, stage: int) -> int:
        if self.plan.lora_rank is None:
            return 0
        usual = InferencePlan().lora_targets
        plan = self.plan.replace(lora_rank=None, lora_targets=usual)
        without = Stages(self.model, plan, self.prefix)
        return self.weight_bytes(stage) - without.weight_bytes(stage)

    def _chunk(self, stage: int, batch: Batch, *, tail: bool) -> Chunk:
        is_last = stage == self.plan.pp - 1
        return Chunk(
            self.model, self.setting(batch), self.ranges[stage], stage == 0, is_last and tail
        )

    def setting(self, batch: Batch) -> Setting:
        """How the plan splits and computes a batch."""
        plan = self.plan
        return Setting(
            batch=batch,
            axes={"tp": plan.tp, "ep": plan.ep, "etp": plan.etp},
            sequence_parallel=plan.sequence_parallel and plan.tp > 1,
            dtype=plan.dtype,
            cache_dtype=plan.kv_cache_dtype,
            weight_dtype=plan.weight_dtype,
            training=False,
            low_latency=plan.low_latency,
            lora_rank=plan.lora_rank or 0,
            lora_targets=targets_of(plan.lora_targets) if plan.lora_rank else (),
        )

    def _named(self, work: StageWork) -> StageWork:
        if not self.prefix:
            return work
        operations = tuple(map(self._with_prefix, work.forward.operations))
        return work._replace(forward=work.forward._replace(operations=operations))

    def _with_prefix(self, operation: Operation) -> Operation:
        if not operation.group:
            return operation
        return operation._replace(group=f"{self.prefix}{operation.group}")
