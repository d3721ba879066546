"""Step time and memory of many plans at once, by a formula over columns.

Memory is exact for sharded weights, gradients and optimizer state, activations in flight, and the
peak of a backward pass. Time is

    opening + m x slowest device + what it waits for others + closing

It waits for the stages before it and, for the first and the last micro-batch, behind it, as far as
no other passes fill the time (Narayanan et al., SC 2021). Interleaving crosses the pipeline with
1/v of a device's work at a time; every hop has a message. Recomputation and sharded gathers and
reductions overlap with the wait. Opening and closing are weights, gradients and the optimizer
(`replicas.py`).

Trade-off: groups do not wait for each other, and three stages stand for all;
`benchmarks/closed_form_error.py` measures the error.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yantra.chakra import CollectiveType
from yantra.explore.closed_form import layouts
from yantra.explore.closed_form.blocks import WEIGHTS, Block, blocks_of, joined
from yantra.explore.closed_form.devices import Devices
from yantra.explore.closed_form.distinct import distinct, distinct_of
from yantra.explore.closed_form.layouts import Layouts
from yantra.explore.closed_form.memory import Fixed, Sharing, Whole, worst
from yantra.explore.closed_form.passes import Part, Works
from yantra.explore.closed_form.pipeline import hidden_ns, pipeline
from yantra.explore.closed_form.replicas import (
    Costs,
    Domain,
    Each,
    Kernels,
    costs_of,
    groups_of,
    least_of,
    owed_of,
)
from yantra.explore.closed_form.sharded import Passes, Sharers, sharded
from yantra.explore.closed_form.space import GRADIENTS, Columns
from yantra.explore.closed_form.tables import Tables
from yantra.workloads.plan.plan import Plan
from yantra.workloads.plan.precision import for_machine
from yantra.workloads.training.step.optimizer import norm_operation, update_operation
from yantra.workloads.training.step.sharding import sharding_of

if TYPE_CHECKING:
    from yantra.explore.closed_form.machine import Machine
    from yantra.workloads.training.step.sharding import Sharding

_WIDE = 4  # bytes of a wide gradient


class Judged(NamedTuple):
    """Step time in ns and memory of the worst device in bytes, per plan.

    `kernel_j` is what kernels draw above a device's floor, of a device on average. Parts that add
    up: kernels of the slowest device, its exposed communication, the bubble with its
    messages, and what comes before and after the passes.
    """

    time_ns: np.ndarray
    memory_bytes: np.ndarray
    kernels_ns: np.ndarray
    communication_ns: np.ndarray
    bubble_ns: np.ndarray
    behind_ns: np.ndarray
    kernel_j: np.ndarray


class ClosedForm:
    """The closed form of a model on a machine; tables fill as keys and groups occur."""

    def __init__(
        self,
        model: Any,
        machine: Machine,
        sequence: int | None = None,
        works: Works | None = None,
    ) -> None:
        self.model = model
        self.machine = machine
        self._works = works or Works(model, sequence or model.sequence)
        held = self._works.held
        machine.know(model, dispatch=held.dispatch)
        self._hidden = 0.0 if held.overlap_experts == "none" else 1.0 - held.exposed_experts
        self._layouts = Layouts(self._works.kinds, ahead=held.overlap_experts != "none")
        names: Any = GRADIENTS
        usual = for_machine(held.replace(dtype=machine.dtype), any_layout=machine.any_layout)
        plans = [usual.replace(gradient_dtype=name) for name in names]
        self._held = [sharding_of(plan) for plan in plans]
        first = self._held[0]
        self._sent = float(first.weight_bytes if first.narrow is None else first.narrow.sent)
        widths = [int(one.gradient_bytes < _WIDE) for one in self._held]
        self._tables = Tables(self._works, machine, widths)
        self._update = tuple(map(_kernels, plans, self._held))

    def memory(self, columns: Columns, global_batch: int) -> np.ndarray:
        blocks = list(blocks_of(columns))
        self._tables.meet(joined([one.keys.of(one.columns) for one in blocks]))
        return np.concatenate([self._memory(one, global_batch) for one in blocks])

    def judge(self, columns: Columns, global_batch: int, need: np.ndarray | None = None) -> Judged:
        """Return each plan's time and memory, block by block.

        `need` is the memory, if known.
        """
        blocks = list(blocks_of(columns))
        self._tables.learn(joined([one.keyed.of(one.columns) for one in blocks]))
        if need is None:
            need = np.concatenate([self._memory(one, global_batch) for one in blocks])
        times = [self._times(one, global_batch) for one in blocks]
        kernels, communication, bubble, passes, behind, drawn = map(
            np.concatenate, zip(*times, strict=True)
        )
        return Judged(passes + behind, need, kernels, communication, bubble, behind, drawn)

    def forward(self, columns: Columns, global_batch: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the time of each plan's forward passes alone, and of one on its slowest device.

        In ns. Micro-batches follow each other through the stages, and nothing comes back.
        """
        blocks = list(blocks_of(columns))
        self._tables.learn(joined([one.keyed.of(one.columns) for one in blocks]))
        times = [self._forward(one, global_batch) for one in blocks]
        whole, slowest = map(np.concatenate, zip(*times, strict=True))
        return whole, slowest

    def _forward(self, block: Block, global_batch: int) -> tuple[np.ndarray, np.ndarray]:
        paths = block.paths
        sizes, message, of_path = self._sizes(block)
        stages, m = of_path["pp"], _micro_batches(of_path, global_batch)
        first, middle, last = sizes.forward
        slowest = np.maximum(np.maximum(first, last), np.where(stages > 2, middle, 0.0))
        filling = sizes.whole_forward - slowest + (stages - 1) * message
        return (m * slowest + filling)[paths.back], slowest[paths.back]

    def _memory(self, block: Block, global_batch: int) -> np.ndarray:
        columns, shapes = block.columns, block.shapes
        c = shapes.of(columns)
        m = _micro_batches(c, global_batch)
        pipelines = np.stack([c[name] for name in layouts.KEY], axis=1)
        holders = self._layouts.holders(pipelines, m)
        parts = self._tables.bytes_of(block.keys.of(columns), block.keys.back[shapes.first])
        copies = c["dp"] * c["cp"]
        sharers = copies, copies * c["tp"] / (c["ep"] * c["etp"])
        ways, way = self._ways(columns)
        sharing = Sharing(ways, way, least_of(copies), sharers[1] > 1)
        fixed = self._fixed(columns, [of[shapes.back] for of in sharers])
        return worst(parts, holders, shapes.back, fixed, sharing)

    def _fixed(self, columns: Columns, sharers: list[np.ndarray]) -> Fixed:
        each, zero = self._held[0], columns["zero"]
        weight, gradients = float(each.weight_bytes), self._gradients(columns)
        sizes = ((1, each.state_bytes), (2, gradients), (WEIGHTS, weight))
        dense, expert = (
            reduce(np.add, (size / np.where(zero >= level, n, 1.0) for level, size in sizes))
            for n in sharers
        )
        if each.narrow is None:
            kept = sharded = 0.0
        else:
            kept, sharded = each.narrow.kept - weight, each.narrow.sharded - weight
        narrow, narrow_expert = (np.where(zero >= WEIGHTS, sharded / n, kept) for n in sharers)
        unused = np.where(zero >= WEIGHTS, 0.0, weight)
        return Fixed(dense, expert, weight, narrow, narrow_expert, kept, unused)

    def _ways(self, columns: Columns) -> tuple[list[Whole | None], np.ndarray]:
        zero, sharded = columns["zero"], columns["zero"] > 1
        fields = (np.where(sharded, columns[name], 0) for name in ("gradient_dtype", "overlap"))
        first, way = distinct_of([np.where(sharded, zero, 0), *fields])
        wide, narrow = float(self._held[0].weight_bytes), self._held[0].narrow
        weight = wide if narrow is None else narrow.gathered
        ways: list[Whole | None] = []
        for at in first.tolist():
            gradients = float(self._held[columns["gradient_dtype"][at]].gradient_bytes)
            hides = bool(columns["overlap"][at])
            whole = {2: (gradients, 0.0, 0.0, 0.0), WEIGHTS: (0.0, gradients, weight, wide)}
            of = whole.get(int(zero[at]))
            ways.append(None if of is None else Whole(*of, hides))
        return ways, way

    def _sizes(self, block: Block) -> tuple[Devices, np.ndarray, Columns]:
        columns, paths = block.columns, block.paths
        of_path = paths.of(columns)
        c = _floats(of_path)
        keyed = block.keyed.back[paths.first]
        parts = self._tables.times_of(block.keyed.of(columns), keyed)
        passes = self._with_weights(parts, of_path)
        pipelines = np.stack([of_path[name] for name in layouts.KEY], axis=1)
        sizes = Devices(passes, self._layouts.layers(pipelines), c["pp"], c["vpp"])
        stride = of_path["tp"] * of_path["cp"] * of_path["dp"]
        return sizes, self._messages(stride, of_path["pp"], sizes.border), of_path

    def _times(self, block: Block, global_batch: int) -> tuple[np.ndarray, ...]:
        paths = block.paths
        sizes, message, of_path = self._sizes(block)
        c, m = _floats(of_path), _micro_batches(of_path, global_batch)
        late = np.maximum(message - sizes.before, 0.0)
        worked, slowest = pipeline(sizes, c, m.astype(float), message)
        work = m * slowest
        if self._hidden:
            hidden = self._hidden * hidden_ns(sizes, c, m.astype(float), slowest)
            worked, work = worked - hidden, work - hidden
        kernels = np.minimum(m * np.max(sizes.kernels, axis=0), work)
        bubble = worked - work
        behind, updates = self._around(block, sizes, of_path, late, m, worked)
        of_passes = (kernels, work - kernels, bubble, worked)
        drawn = (m * sizes.drawn / c["pp"])[paths.back]
        if (law := self.machine.power) is not None:
            drawn = drawn + (law.working_w - law.idle_w) * updates / 1e9
        return *(one[paths.back] for one in of_passes), behind, drawn

    def _with_weights(self, parts: list[Part], columns: Columns) -> Passes:
        rows = np.flatnonzero(columns["zero"] == WEIGHTS)
        if not len(rows):
            none = np.zeros(len(columns["zero"]))
            return Passes(parts, none, none, none, none)
        columns = {name: of[rows] for name, of in columns.items()}
        copies, hides = columns["dp"] * columns["cp"], columns["overlap"] > 0
        inside = columns["ep"] * columns["etp"]
        size = copies * columns["tp"] // inside
        groups = groups_of(copies, columns["tp"]), groups_of(size, inside)
        tp, cp = columns["tp"] > 1, columns["cp"] > 1
        own = np.where(tp, columns["tp"], np.where(cp, columns["cp"], columns["ep"]))
        stride = np.where(tp, 1, np.where(cp, columns["tp"], columns["etp"]))
        sharers = Sharers(copies, groups[0], size, groups[1], groups_of(own, stride))
        weight, gradients = self._sent, self._gradients(columns)
        layers = len(self._works.kinds) / (columns["pp"] * columns["vpp"])
        return sharded(self.machine, parts, rows, hides, layers, sharers, weight, gradients)

    def _gradients(self, columns: Columns) -> np.ndarray:
        each = np.array([float(one.gradient_bytes) for one in self._held])
        return each[columns["gradient_dtype"]]

    def _messages(
        self, stride: np.ndarray, stages: np.ndarray, size_bytes: np.ndarray
    ) -> np.ndarray:
        pairs = np.stack([stride, stages], axis=1)
        first, back = distinct(pairs)
        lines = np.array(
            [
                self.machine.hop_line(*map(int, pairs[at])) if pairs[at][1] > 1 else (0.0, 0.0)
                for at in first
            ]
        )
        result: np.ndarray = lines[back, 0] + lines[back, 1] * size_bytes
        return result

    def _around(
        self,
        block: Block,
        sizes: Devices,
        of_path: Columns,
        message: np.ndarray,
        m: np.ndarray,
        worked: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return what precedes and follows the passes: weights, gradients, optimizer; by path.

        Then the optimizer's kernels, of a device on average.
        """
        columns, paths, payers = block.columns, block.paths, block.payers()
        of_payer, path_of = payers.of(columns), paths.back[payers.first]
        owners = block.owners(of_payer)
        of_owner = owners.of(of_payer)
        domains = self._domains(sizes, of_owner, path_of[owners.first])
        c, overlaps = _floats(of_path), columns["overlap"] > 0
        opening = closing = last = updates = np.zeros(len(overlaps))
        between = (c["pp"] - 1) * message
        late = np.maximum(message - sizes.lead, 0.0)
        arrival = (sizes.whole_forward - sizes.forward[2]) / c["vpp"] + between
        drain = (sizes.whole_backward - sizes.backward[2]) / c["vpp"] + between
        each = Each(
            self._sent,
            self._gradients(of_owner),
            of_owner["gradient_dtype"],
            self._update,
        )
        taken, exposed = self.machine.taken, self._works.held.exposed_gradients
        for device in (0, 1):
            passes = sizes.forward[2 * device], sizes.backward[2 * device]
            both = passes[0][path_of], passes[1][path_of]
            owed = owed_of(self.machine, domains, of_owner, device, each).at(owners.back)
            costs = costs_of(owed, of_payer, device, both, late[path_of], taken, exposed)
            costs = Costs(*(one[payers.back] for one in costs))
            updates = updates + (costs.norm + costs.update) / 2
            waits = (m, _begins(passes, c, m, device), worked)
            before, own, after = _exposed(costs, columns, len(domains), waits, paths.back, taken)
            if device:
                before, own = before - arrival[paths.back], own - drain[paths.back]
                there = columns["pp"] > 1
                before, own, after = (np.where(there, one, 0.0) for one in (before, own, after))
            opening = np.maximum(opening, np.where(overlaps, before, 0.0))
            closing = np.maximum(closing, own)
            last = np.maximum(last, after)
        # All ranks sum their norms, a number each wrote, before any updates.
        wrote, ranks = float(self._update[0].norm(1).bytes_written), self.machine.ranks
        norm = self.machine.collective_ns(CollectiveType.ALL_REDUCE, ranks, 1, wrote)
        result: np.ndarray = opening + closing + norm + last
        if sizes.tied.any():
            whole = self._gradients(of_path) * sizes.tied
            kept = columns["zero"] > 1
            result = result + np.where(kept, 0.0, self._tied(whole, of_path)[paths.back])
            if kept.any():
                shard = whole / (of_path["dp"] * of_path["cp"])
                result = result + np.where(kept, self._tied(shard, of_path)[paths.back], 0.0)
        return result, updates

    def _domains(self, sizes: Devices, columns: Columns, path_of: np.ndarray) -> list[Domain]:
        copies = columns["dp"] * columns["cp"]
        groups = groups_of(copies, columns["tp"])
        domains = [Domain(sizes.held(path_of, expert=False), copies, groups)]
        if sizes.expert[0].any() or sizes.expert[2].any():
            inside = columns["ep"] * columns["etp"]
            size = copies * columns["tp"] // inside
            held = sizes.held(path_of, expert=True)
            domains.append(Domain(held, size, groups_of(size, inside)))
        return domains

    def _tied(self, sizes: np.ndarray, columns: Columns) -> np.ndarray:
        """`sizes` are its bytes."""
        far = columns["tp"] * columns["cp"] * columns["dp"] * (columns["pp"] - 1)
        first = self.machine.timed(CollectiveType.ALL_REDUCE, 2, 1)
        if first is not None:
            return self._tied_as_measured(sizes, far)
        two = np.minimum(columns["pp"], 2)
        # Each of two ranks sends the other a half, then its sum of the other half.
        half = sizes / 2
        return np.where(far > 0, 2.0 * self._messages(far, two, half), 0.0)

    def _tied_as_measured(self, sizes: np.ndarray, far: np.ndarray) -> np.ndarray:
        result = np.zeros(len(far))
        for stride in np.unique(far[far > 0]):
            rows = np.flatnonzero(far == stride)
            kind = CollectiveType.ALL_REDUCE
            result[rows] = self.machine.collective_ns(kind, 2, int(stride), sizes[rows])
        return result


def _kernels(plan: Plan, held: Sharding) -> Kernels:
    return Kernels(
        lambda count: norm_operation(count, held),
        lambda count: update_operation(count, "", plan, held),
    )


def _begins(
    passes: tuple[np.ndarray, np.ndarray], c: dict[str, np.ndarray], m: np.ndarray, device: int
) -> np.ndarray:
    p, v = c["pp"], c["vpp"]
    ahead = (v - 1) * p + (1 - device) * np.where(v > 1, 2, 1) * (p - 1) + 1
    whole = np.where((v > 1) | (device > 0), passes[1], 0.0)
    begins: np.ndarray = (np.minimum(ahead, m * v) * passes[0] + whole) / v
    return begins


def _exposed(
    costs: Costs,
    columns: Columns,
    domains: int,
    passes: tuple[np.ndarray, np.ndarray, np.ndarray],
    path: np.ndarray,
    taken: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return exposed gathers, reductions with the norm, and updates.

    Sharded gradients are reduced every micro-batch and take the share `taken` from the passes;
    sharded weights are in the passes.
    """
    level, overlaps = columns["zero"], columns["overlap"] > 0
    gathers = np.where(level == WEIGHTS, 0.0, costs.gathers)  # in the passes
    # Without overlap weights are gathered after the optimizer, which waits for all ranks.
    both = gathers, costs.update
    exposed = np.minimum(*both) / (columns["vpp"] * domains)
    after = np.where(overlaps, costs.update, np.maximum(*both) + exposed)
    own = costs.reductions
    if (level > 1).any():
        m, begins, worked = (one[path] for one in passes)
        beyond = begins + m * costs.reduced - worked
        longer = own + taken * (m - 1) * costs.reduced
        each = np.where(overlaps, np.maximum(longer, beyond), m * costs.reduced)
        own = np.where(level == WEIGHTS, 0.0, np.where(level > 1, each, own))
    return gathers, own + costs.norm, after


def _floats(columns: Columns) -> dict[str, np.ndarray]:
    return {name: columns[name].astype(np.float64) for name in ("pp", "vpp")}


def _micro_batches(columns: Columns, global_batch: int) -> np.ndarray:
    count: np.ndarray = global_batch // (columns["micro_batch"] * columns["dp"])
    return count
