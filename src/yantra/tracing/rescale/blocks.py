"""Which nodes are a micro-batch or a layer.

Micro-batches: a backward pass begins with the gradient of its loss (`aten::ones_like`) and ends
with the last function of autograd before the next. Layers: the longest run of equal operators with
equal shapes in the forward pass, at least one of them a product with a parameter. Autograd numbers
operators (`seq_id`), so a layer's backward functions are those of its numbers; its parameters are
those whose gradients are accumulated among them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import prod
from typing import Any, NamedTuple

from yantra.base.errors import UnsupportedError
from yantra.chakra import Node
from yantra.tracing.rescale.model import Shape, flat_shapes, parsed, sizes_of, sums_in
from yantra.tracing.rescale.recording import Recording, value
from yantra.tracing.rescale.repeat import repeated, without_stretch
from yantra.tracing.rescale.sizes import share_out

FUNCTION = "autograd::engine::evaluate_function: "
_ACCUMULATE = f"{FUNCTION}torch::autograd::AccumulateGrad"
LOSS = "aten::ones_like"
_PRODUCTS = ("aten::linear", "aten::addmm", "aten::mm", "aten::matmul", "aten::bmm")
_LISTS = ("aten::_foreach", "aten::_fused")
_MOST_PERIOD = 4000  # operators of a layer


def with_micro_batches(job: Recording, text: str) -> int:
    """Change their number; return the old one."""
    names = job.replicas("micro_batches").names
    old = 0
    for rank in job.ranks:
        nodes = job.nodes[rank]
        parts = _micro_batches(nodes, job.where)
        old, new = len(parts), value("micro_batches", text, len(parts))
        gradients = sums_among(nodes, names)
        if new > old:
            job.nodes[rank] = repeated(nodes, parts[0], new - old, gradients)
        elif new < old:
            gone = set[int]().union(*parts[: old - new])
            if gone & gradients:
                raise UnsupportedError(
                    f"{job.where}: micro_batches: gradients are summed in each of {old}, so what "
                    "fewer would sum is not determined"
                )
            job.nodes[rank] = without_stretch(nodes, gone)
    if not names:
        raise UnsupportedError(f"{job.where}: micro_batches: nothing sums gradients")
    return old


def _micro_batches(nodes: list[Node], where: str) -> list[set[int]]:
    host = [node for node in nodes if node.get("is_cpu_op")]
    tops = _tops(host)
    losses = [at for at, node in enumerate(host) if node.name == LOSS and node.id in tops]
    ends = [at for at, node in enumerate(host) if node.name.startswith(FUNCTION)]
    begin = next(
        (
            at
            for at, node in enumerate(host)
            if node.id in tops and not node.get("part") and not _is_frame(node)
        ),
        None,
    )
    if not losses or not ends or begin is None:
        raise UnsupportedError(
            f"{where}: micro_batches: no backward pass is recorded whole (aten::ones_like, then "
            "autograd's functions), so where a micro-batch ends is not determined"
        )
    parts = []
    for at, loss in enumerate(losses):
        until = losses[at + 1] if at + 1 < len(losses) else len(host)
        inside = [end for end in ends if loss < end < until]
        if not inside:
            raise UnsupportedError(f"{where}: micro_batches: a loss without a backward pass")
        last = end_of(host, inside[-1])
        parts.append({node.id for node in host[begin:last]})
        begin = last
    return [_with_kernels(nodes, part) for part in parts]


def _is_frame(node: Node) -> bool:
    return node.name.startswith(("Optimizer.", "ProfilerStep#", "##", "[pytorch|"))


def _tops(host: list[Node]) -> set[int]:
    """Operators below a root or a step."""
    by_id = {node.id: node for node in host}
    return {
        node.id
        for node in host
        if not node.ctrl_deps
        or (above := by_id.get(node.ctrl_deps[0])) is None
        or above.name.startswith(("[pytorch|", "ProfilerStep#"))
    }


def end_of(host: list[Node], at: int) -> int:
    """Where the operator at this place, or the one that this slice goes on with, ends."""
    inside = {host[at].id, *host[at].ctrl_deps[:1]} if host[at].get("part") else {host[at].id}
    end = at + 1
    for place in range(at + 1, len(host)):
        if any(parent in inside for parent in host[place].ctrl_deps):
            inside.add(host[place].id)
            end = place + 1
        elif place > at + 64 and place > end:
            break
    return end


def _with_kernels(nodes: list[Node], host: set[int]) -> set[int]:
    found = set(host)
    for node in nodes:
        if not node.get("is_cpu_op") and any(parent in host for parent in node.ctrl_deps):
            found.add(node.id)
    return found


def sums_among(nodes: list[Node], names: list[str]) -> set[int]:
    """Collectives of these groups, and the operators that call them."""
    sums = sums_in(nodes, names)
    inside = {parent for node in sums for parent in node.ctrl_deps}
    for node in nodes:
        if any(parent in inside for parent in node.ctrl_deps):
            inside.add(node.id)
    return inside | {node.id for node in sums}


class Layers(NamedTuple):
    """`forward`: nodes of the last layer; `depth`: how many there are; `numbers`: autograd's."""

    forward: list[Node]
    depth: int
    numbers: set[int]


def with_layers(job: Recording, text: str) -> int:
    """Change their number; return the old one."""
    names = job.replicas("layers").names
    old = 0
    for rank in job.ranks:
        nodes = job.nodes[rank]
        total = sum(map(prod, sizes_of(nodes, names, job.where).parameters))
        old = layers_of(nodes, job.where).depth
        new = value("layers", text, old)
        elements = 0
        for _ in range(old - new):
            stretches, elements = _stretches(nodes, total, job.where)
            for stretch in stretches:
                gradients = sums_among(nodes, names)
                nodes = without_stretch(nodes, {node.id for node in stretch} - gradients)
        if new > old:
            stretches, elements = _stretches(nodes, total, job.where)
            for stretch in stretches:
                ids = {node.id for node in stretch}
                nodes = repeated(nodes, ids, new - old, sums_among(nodes, names))
        ratio = 1 + Fraction((new - old) * elements, total)
        _stretch_lists(nodes, total, ratio)
        job.nodes[rank] = nodes
        share_out(nodes, names, ratio)
    return old


def _stretches(nodes: list[Node], total: int, where: str) -> tuple[list[list[Node]], int]:
    """The parts of the last layer, and its parameters' elements."""
    layers = layers_of(nodes, where)
    stretches, elements = stretches_of(nodes, nodes, where)
    if not elements or elements * layers.depth > total:
        raise UnsupportedError(
            f"{where}: layers: the {layers.depth} equal blocks have {elements * layers.depth} "
            f"parameters of {total} that are summed, so what is a layer is not determined"
        )
    return stretches, elements


def stretches_of(nodes: list[Node], others: list[Node], where: str) -> tuple[list[list[Node]], int]:
    """The last layer's passes, its part of what `others` do for each parameter, its elements."""
    layers = layers_of(nodes, where)
    backward, own = _backward(nodes, layers, where)
    parts = [layers.forward, backward, *_of_parameters(others, own)]
    return parts, sum(map(prod, own))


def layers_of(nodes: list[Node], where: str) -> Layers:
    host = [node for node in nodes if node.get("is_cpu_op")]
    children: defaultdict[int, list[int]] = defaultdict(list)
    for at, node in enumerate(host):
        if node.ctrl_deps and not node.get("part"):
            children[node.ctrl_deps[0]].append(at)
    best: tuple[int, int, list[int], int, int] | None = None
    for inside in children.values():
        named = [at for at in inside if not host[at].name.startswith(FUNCTION)]
        signs = [(host[at].name, tuple(flat_shapes(host[at]))) for at in named]
        start, period, count = _run(signs, lambda sign: sign[0] in _PRODUCTS and len(sign[1]) > 1)
        if count > 1 and (best is None or count * period > best[0]):
            best = count * period, period, named, start, count
    if best is None:
        raise UnsupportedError(
            f"{where}: layers: no operators repeat with equal shapes in the forward pass, so what "
            "is a layer is not determined"
        )
    _, period, named, start, count = best
    first, after = start + (count - 1) * period, start + count * period
    end = named[after] if after < len(named) else end_of(host, named[-1])
    forward = host[named[first] : end]
    numbers = {number for node in forward if isinstance(number := node.get("seq_id"), int)}
    return Layers(_all_of(nodes, forward), count, numbers - {-1})


def _run(signs: Sequence[Any], counts: Callable[[Any], bool]) -> tuple[int, int, int]:
    """Begin, period and number of the most equal blocks in a row, the shortest of them."""
    best = (0, 0, 0)
    for period in range(1, min(len(signs) // 2, _MOST_PERIOD) + 1):
        length = 0
        for at in range(len(signs) - period + 1):
            if at + period < len(signs) and signs[at] == signs[at + period]:
                length += 1
                continue
            count = length // period + 1
            start = at - length
            if (
                count > 1
                and count * period > best[1] * best[2]
                and any(map(counts, signs[start : start + period]))
            ):
                best = (start, period, count)
            length = 0
    return best


def _all_of(nodes: list[Node], host: list[Node]) -> list[Node]:
    ids = _with_kernels(nodes, {node.id for node in host})
    return [node for node in nodes if node.id in ids]


def _backward(nodes: list[Node], layers: Layers, where: str) -> tuple[list[Node], list[Shape]]:
    """The backward pass of the last layer, and the shapes of its parameters."""
    host = [node for node in nodes if node.get("is_cpu_op")]
    above = {node.id: node for node in host}
    functions = [
        at for at, node in enumerate(host)
        if node.name.startswith(FUNCTION) and not node.get("part")
    ]  # fmt: skip
    numbers: defaultdict[int, set[object]] = defaultdict(set)
    for node in host:
        parent = above.get(node.ctrl_deps[0]) if node.ctrl_deps else None
        if parent is not None and parent.name.startswith(FUNCTION) and not node.get("part"):
            numbers[parent.id].add(node.get("seq_id"))
    mine = [
        place for place, at in enumerate(functions)
        if not host[at].name.startswith(_ACCUMULATE) and numbers[host[at].id] & layers.numbers
    ]  # fmt: skip
    if not mine:
        raise UnsupportedError(
            f"{where}: layers: no function of autograd has the numbers of a layer's operators, so "
            "its backward pass is not determined"
        )
    last = mine[-1] + 1
    while last < len(functions) and host[functions[last]].name.startswith(_ACCUMULATE):
        last += 1
    end = functions[last] if last < len(functions) else end_of(host, functions[-1])
    between = functions[mine[0] : last]
    others = [at for at in between if not host[at].name.startswith(_ACCUMULATE)]
    if len(others) != len(mine):
        raise UnsupportedError(f"{where}: layers: backward passes of layers are not one by one")
    sums = {host[at].id for at in between if host[at].name.startswith(_ACCUMULATE)}
    own: dict[int, Shape] = {}
    for node in host[functions[mine[0]] : end]:
        parent_id = node.ctrl_deps[0] if node.ctrl_deps else -1
        while parent_id not in sums and parent_id in above and above[parent_id].ctrl_deps:
            parent_id = above[parent_id].ctrl_deps[0]
        shapes = flat_shapes(node)
        if parent_id in sums and shapes:
            own.setdefault(parent_id, shapes[0])
    return _all_of(nodes, host[functions[mine[0]] : end]), list(own.values())


def _of_parameters(nodes: list[Node], own: list[Shape]) -> list[list[Node]]:
    """What is done for each parameter: a layer's part of each row of operators on them."""
    host = [node for node in nodes if node.get("is_cpu_op")]
    rows: defaultdict[tuple[int, str], list[int]] = defaultdict(list)
    for at, node in enumerate(host):
        if node.ctrl_deps and not node.get("part"):
            above = node.ctrl_deps[0]
            rows[above, node.name].append(at)
    by_id = {node.id: node for node in host}
    wanted = sorted(map(prod, own))
    found = []
    updated: set[int] = set()  # several operators are on each parameter: one row has them all
    for (above, name), row in rows.items():
        frame = by_id.get(above)
        is_update = frame is not None and frame.name.startswith("Optimizer.")
        of_ddp = name.startswith("torch.distributed.ddp.reducer::")
        if above in updated or not (is_update or of_ddp):
            continue
        shapes = [(flat_shapes(host[at]) or [()])[0] for at in row]
        for start in range(len(row) - len(own), -1, -1):
            if sorted(map(prod, shapes[start : start + len(own)])) == wanted:
                after = start + len(own)
                last = max(one[-1] for key, one in rows.items() if key[0] == above)
                until = last if is_update else row[-1]
                end = row[after] if after < len(row) else end_of(host, until)
                found.append(_all_of(nodes, host[row[start] : end]))
                updated |= {above} if is_update else set()
                break
    return found


def _stretch_lists(nodes: list[Node], total: int, ratio: Fraction) -> None:
    """Updates of all parameters at once grow with their elements."""
    by_id = {node.id: node for node in nodes}
    for node in nodes:
        above = by_id.get(node.ctrl_deps[0]) if node.ctrl_deps else None
        name = node.name if node.get("is_cpu_op") or above is None else above.name
        if not name.startswith(_LISTS) or node.inputs is None:
            continue
        lists = parsed(node.inputs.shapes)
        first = lists[0] if lists and isinstance(lists[0], list) else []
        if sum(prod(one) for one in first if isinstance(one, list)) == total:
            for item in ("num_ops", "tensor_size"):
                told = node.attribute(item)
                if told is not None and isinstance(told.value, int):
                    node.set(item, round(told.value * ratio), told.kind)
            node.duration_micros = round(node.duration_micros * ratio)
