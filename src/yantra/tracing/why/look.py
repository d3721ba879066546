"""What a recording is, and what it can answer."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from yantra.base.text import count
from yantra.base.units import format_time
from yantra.chakra.other_formats import found_in
from yantra.chakra.schema import NodeType
from yantra.chakra.trace import Trace, read
from yantra.tracing.inspect.columns import Columns
from yantra.tracing.inspect.groups import Groups
from yantra.tracing.inspect.rank_traces import RankTrace, find_traces
from yantra.tracing.inspect.stats.parallelism import find_parallelism
from yantra.tracing.pytorch import kineto
from yantra.tracing.pytorch.balance import ATTRIBUTE, from_text
from yantra.tracing.pytorch.in_memory import are_recordings, kept_of_each
from yantra.tracing.pytorch.kinds import beginning
from yantra.tracing.pytorch.ranks import given
from yantra.tracing.rescale.asked import why_not
from yantra.tracing.why.accounts import IDLE, account
from yantra.tracing.why.rank import Rank, ranks_of

TITLES = {
    "kernels": "kernels",
    "communication": "communication",
    "memory": "copies",
    "host": "host work",
    "unexplained_device": "unexplained, device side",
    "unexplained_host": "unexplained, host side",
    IDLE: "idle",
}
_KINETO = "PyTorch profiler trace (Kineto)"
_NAME = re.compile(rb'"name"\s*:\s*"([^"\\]+)"')

_WIDEST = 60  # of names that are repeated


class Answer(NamedTuple):
    """Whether a question can be asked, and how, or what is missing."""

    question: str
    can: bool
    how: str


class Look(NamedTuple):
    """What files of one job hold. `parts_ns` is of the first rank."""

    kind: str
    device: str
    ranks: list[int]
    world_size: int
    window_ns: int
    parts_ns: dict[str, int]
    steps: list[int]
    holds: dict[str, int]
    gaps: list[str]
    answers: list[Answer]

    def as_dict(self) -> dict[str, Any]:
        form = self._asdict()
        return form | {"answers": [one._asdict() for one in self.answers]}

    def text(self) -> str:
        return "".join(f"{name:<14}{told}\n" for name, told in self._lines())

    def _lines(self) -> Iterator[tuple[str, str]]:
        yield "kind", self.kind
        yield "device", self.device or "not said"
        shown = ", ".join(map(str, self.ranks[:8])) + (", ..." if len(self.ranks) > 8 else "")
        yield "ranks", f"{shown} of {self.world_size}"
        yield "window", format_time(self.window_ns)
        parts = [
            f"{TITLES[part]} {100 * ns / self.window_ns:.1f} %"
            for part, ns in self.parts_ns.items()
            if ns and self.window_ns
        ]
        yield "time", ", ".join(parts)
        ends = f" (#{self.steps[0]} to #{self.steps[-1]})" if self.steps else ""
        yield "steps", f"{len(self.steps)}{ends}" if self.steps else "none marked"
        yield "holds", ", ".join(f"{name} {number}" for name, number in self.holds.items())
        for gap in self.gaps or ["none found"]:
            yield "gap", gap
        for answer in self.answers:
            yield ("can ask" if answer.can else "cannot ask"), f"{answer.question}: {answer.how}"


def look(
    arguments: Sequence[str], gpu_of: Callable[[str], str] = lambda device: ""
) -> tuple[Look, list[str]]:
    """Look at the files of one job; also return warnings. `gpu_of`: our name of a device, or "".

    Raises TraceError or ConfigError for what is no recording.
    """
    recorded = are_recordings(arguments)
    trace, ranks, members, warnings = (_first_recorded if recorded else _first)(arguments)
    first = Columns(trace.trace)
    rank = next(ranks_of([trace]))
    kind = _KINETO if recorded and kineto.is_one(trace.path) else "linked or host trace"
    kind = kind if recorded else "Chakra trace (.et)"
    profiler = found_in(trace.path) if recorded else None
    kind = kind if profiler is None else profiler.name
    device = recorded_device([trace.path]) if kind == _KINETO else ""
    gpu = gpu_of(device).replace("_", "-")
    holds = _holds(first, rank)
    worlds = max(rank.world_size, ranks[-1] + 1)
    return Look(
        kind,
        device,
        ranks,
        worlds,
        rank.end_ns - rank.begin_ns,
        account(rank),
        [step.number for step in rank.steps],
        holds,
        list(_gaps(trace, first, rank, holds)),
        list(
            _answers(
                _typed(arguments),
                rank,
                len(ranks),
                worlds,
                holds,
                _setting(first, rank, members),
                gpu,
            )
        ),
    ), warnings


def _first_recorded(arguments: Sequence[str]) -> tuple[RankTrace, list[int], Groups, list[str]]:
    """The trace of the first rank, all ranks, groups, what to say; others are not kept."""
    lowest: list[int] = []

    def keep(rank: int, pieces: Iterable[bytes]) -> bytes | None:
        if lowest and lowest[0] < rank:
            return None
        lowest[:] = [rank]
        return b"".join(pieces)

    found, made = kept_of_each(arguments, keep)
    (rank, content), *_ = found.items()
    trace = RankTrace(rank, made.paths[rank], Trace.from_bytes(content or b""))
    return trace, list(found), made.members, made.problems


def _first(arguments: Sequence[str]) -> tuple[RankTrace, list[int], Groups, list[str]]:
    files = find_traces(arguments)
    return RankTrace(*files[0], read(files[0].path)), [file.rank for file in files], {}, []


def recorded_device(arguments: Sequence[str]) -> str:
    """The GPUs that PyTorch's recordings name in their beginning, "" if none does."""
    if any(argument.endswith((".et", ".et.gz", ".yw")) for argument in arguments):
        return ""
    for one in given(arguments):
        head, _, _ = beginning(one.path).partition(b'"traceEvents"')
        _, here, devices = head.partition(b'"deviceProperties"')
        names = _NAME.findall(devices)
        if here and names:
            return ", ".join(sorted({name.decode("utf-8", "replace") for name in names}))
    return ""


def _holds(columns: Columns, rank: Rank) -> dict[str, int]:
    extra = columns.extra
    ops = zip(columns.kind, extra.has(extra.part, wanted="slice").tolist(), strict=True)
    work = columns.integers("num_ops")
    on_device = [kind == "gpu_compute" for kind in columns.kind]
    return {
        "operators": sum(kind == "cpu" and not is_slice for kind, is_slice in ops),
        "device ops": sum(on_device),
        "with FLOPs": sum(bool(value) for value, here in zip(work, on_device, strict=True) if here),
        "collectives": len(rank.calls),
        "groups": len({call.group for call in rank.calls}),
        "messages": sum(type in (NodeType.COMM_SEND, NodeType.COMM_RECV) for type in columns.type),
    }


def _gaps(trace: RankTrace, columns: Columns, rank: Rank, holds: dict[str, int]) -> Iterator[str]:
    about = {one.name: one.value for one in trace.trace.metadata.attributes}
    balance = from_text(about.get(ATTRIBUTE))
    if balance is not None:
        for name, one in balance.sums().items():
            left = ", ".join(f"{rule} {number}" for rule, number in one.left_out.items())
            if left:
                yield f"{name} left out: {left}"
    parts = account(rank)
    unexplained = parts["unexplained_device"] + parts["unexplained_host"]
    window = rank.end_ns - rank.begin_ns
    if window and unexplained > window // 10:
        yield f"nothing recorded explains {100 * unexplained / window:.0f} % of the window"
    talks = columns.extra.has(columns.extra.communication).tolist()
    types = columns.type
    unsized = sum(one and type == NodeType.COMP for one, type in zip(talks, types, strict=True))
    if unsized:
        yield f"{count(unsized, 'kernel')} of communication of unknown size or members"
    if holds["device ops"] and not holds["with FLOPs"]:
        yield "no kernel has FLOPs: record with record_shapes=True"
    if not holds["device ops"]:
        yield "no device op: host work alone"


def _typed(arguments: Sequence[str]) -> str:
    """The files as a shell takes them, of many the first."""
    words = shlex.join(arguments)
    several = len(arguments) > 1 and len(words) > _WIDEST
    return f"{shlex.quote(arguments[0])} ..." if several else words


_SETTINGS = {"tensor": "tp=x2", "pipeline": "pp=x2"}


def _setting(columns: Columns, rank: Rank, members: Groups) -> tuple[str, str]:
    """A plan to ask for, by how the work seems split; else why there is none."""
    problem = why_not(columns, rank.rank, members)
    if not problem:
        return "dp=x2", ""
    found = find_parallelism({rank.rank: columns}, rank.groups).findings
    known = (_SETTINGS.get(one.split.split()[0]) for one in found)
    return next(filter(None, known), ""), problem if found else _ALONE


_ALONE = "no rank talks to another, so what others would run is not recorded"


def _answers(
    name: str,
    rank: Rank,
    here: int,
    world: int,
    holds: dict[str, int],
    setting: tuple[str, str],
    gpu: str,
) -> Iterator[Answer]:
    yield Answer("where the time goes", True, f"yantra trace why {name}")
    if here == 1 or not rank.calls:
        missing = f"give the traces of all {world} ranks" if rank.calls else "it has no collective"
        missing = "its job has one rank" if world == 1 else missing
        yield Answer("who is late", False, missing)
        yield Answer("is the network slow", False, missing)
    else:
        yield Answer("who is late", True, f"yantra trace why {name}")
        sized = any(call.bytes for call in rank.calls)
        how = f"yantra trace why {name} --cluster NAME"
        yield Answer("is the network slow", sized, how if sized else "collectives have no sizes")
    how = f"yantra run {name} --cluster NAME"
    alone = "" if here == world else f", where it stands for all {world} ranks"
    some = f"give the traces of all {world} ranks, or one alone, which stands for all"
    can = here in (1, world)
    yield Answer("another network or cluster", can, how + alone if can else some)
    other = f"{how} --from {gpu or 'GPU, the recorded one'}" if can else some
    other = other if holds["device ops"] else "no kernel is recorded"
    yield Answer("another GPU", can and bool(holds["device ops"]), other)
    step = " --step N" if len(rank.steps) > 1 else ""
    plan, missing = setting
    how = f"yantra trace rescale {name}{step} --set {plan} -o PREFIX" if can else some
    yield Answer("another plan", can and bool(plan), how if plan else missing)
    yield Answer("may it be shared", True, f"yantra trace share {name} -o FOLDER")
