"""From profiles of XLA to the Chakra traces of their devices, one rank a device.

Every operation that contains no other becomes a node (a permute a send and a receive); it waits for
what ran before it on its stream and for the results that it takes. Nothing waits against the clock.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field

from yantra.base.errors import TraceError
from yantra.base.text import count
from yantra.chakra.schema import CollectiveType, NodeType
from yantra.tracing.pytorch.communication import Communication, collective_of
from yantra.tracing.pytorch.communicators import Communicators
from yantra.tracing.sources import xla
from yantra.tracing.sources.hlo import Collective, Instruction, Program
from yantra.tracing.sources.hlo_edges import Edges
from yantra.tracing.sources.report import ProfileReport
from yantra.tracing.sources.work import Part, Work, Writing
from yantra.tracing.sources.xla import Device, DeviceOp, Profile

_KINDS = {
    "all-reduce": CollectiveType.ALL_REDUCE,
    "all-gather": CollectiveType.ALL_GATHER,
    "reduce-scatter": CollectiveType.REDUCE_SCATTER,
    "all-to-all": CollectiveType.ALL_TO_ALL,
    "ragged-all-to-all": CollectiveType.ALL_TO_ALL,
    "collective-broadcast": CollectiveType.BROADCAST,
}
_PERMUTE = "collective-permute"
_COPIED = "copy-done"  # no other work of a profile has the time of a copy beside others

Take = Callable[[int, Writing], None]
_Meeting = tuple[int, int, str, int]  # program, run, instruction, time


class _Comm(Struct):
    """A collective that a rank entered: the place of its work, and who else is in it.

    `ranks` of a permute are the ends of the rank's own pairs, one after the other.
    """

    place: int
    meeting: _Meeting
    said: Collective
    ranks: tuple[int, ...]

    @property
    def members(self) -> tuple[int, ...]:
        return () if self.said.kind == _PERMUTE else self.ranks


class _Rank(Struct):
    profile: Profile
    device: Device
    id: int  # of the device, over all hosts
    number: int = 0
    works: list[Work] = field(default_factory=list)
    comms: list[_Comm] = field(default_factory=list)


class XlaJob:
    """The devices of profiles of one job, hosts in the order given. Raises TraceError."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.report = ProfileReport(source="profile of XLA")
        self.ranks: list[_Rank] = []
        profiles = [xla.read(path) for path in paths]
        before = 0
        for profile in profiles:
            for device in profile.devices:
                self.ranks.append(_Rank(profile, device, before + device.number))
            before += len(profile.devices) + profile.idle
            self._count(profile)
        try:
            self._number()
            for rank in self.ranks:
                _Works(self, rank).make()
        except ValueError as error:
            where = " and ".join(paths)
            raise TraceError(f"{where}: a program in it is damaged: {error}") from None
        self._settle()

    def convert(self, take: Take, *, gaps: bool = True) -> ProfileReport:
        """Pass every rank's trace to `take`; return the report."""
        report = self.report
        origin = min(work.start_ps for rank in self.ranks for work in rank.works)
        report.span_ns = max(w.end_ps for r in self.ranks for w in r.works) // 1000 - origin // 1000
        for rank in self.ranks:
            about = {
                "schema": "1.1.1-chakra.0.0.4",
                "rank": rank.number,
                "world_size": self.world_size,
                "origin_ns": origin // 1000,
                "source": f"xplane {rank.device.name}",
            }
            made = Writing(rank.works, origin, about, gaps=gaps)
            take(rank.number, made)
            report.ranks_of[rank.number] = f"{rank.profile.where} {rank.device.name}"
            report.ranks += 1
            report.nodes += made.nodes
            report.delays += made.delays
            report.idle_ns = max(report.idle_ns, made.idle_ns)
        return report

    def groups(self) -> str:
        """The groups of communicators, for a file beside the traces; "" if there are none."""
        return self.communicators.json() if self.communicators.members else ""

    def _count(self, profile: Profile) -> None:
        report = self.report
        report.launches += profile.launches
        report.launched += profile.launched
        for name, number in profile.left_out.items():
            report.left_out[name] = report.left_out.get(name, 0) + number
        ops = [op for device in profile.devices for op in device.ops]
        report.containers += sum(op.container for op in ops)
        report.joined += sum(profile.instruction(op) is not None for op in ops)
        named = {op.program for op in ops if op.program >= 0}
        if missing := sorted(named - profile.programs.keys()):
            report.problems.append(
                f"{profile.where}: {count(len(missing), 'program')} of its operations not in it "
                f"(first: {missing[0]}), so sizes, groups, FLOPs and data dependencies are "
                "unknown; leave the profiler's option for the HLO proto on, or put the "
                "*.hlo_proto.pb of the program beside the profile"
            )
        if profile.unmarked:
            lost = count(profile.unmarked, "operation")
            report.remarks.append(f"{lost} without an end marker: taken to end with their event")

    def _number(self) -> None:
        ids = {rank.id for rank in self.ranks}
        for rank in self.ranks:
            for name, program in {(op.name, op.program) for op in rank.device.ops}:
                made = rank.profile.programs.get(program)
                one = made and made.by_name.get(name)
                said = made.collective(one) if made and one else None
                if made and said:
                    ids |= {_device(made, i) for group in said.groups for i in group}
                    ids |= {_device(made, i) for pair in said.pairs for i in pair}
        self.places = {id: place for place, id in enumerate(sorted(ids))}
        self.world_size = len(self.places)
        for rank in self.ranks:
            rank.number = self.places[rank.id]
        self.ranks.sort(key=lambda rank: rank.number)
        if lacking := self.world_size - len(self.ranks):
            present = {rank.number for rank in self.ranks}
            first = min(set(range(self.world_size)) - present)
            self.report.problems.append(
                f"{count(lacking, 'rank')} of {self.world_size} without a profile (first: {first});"
                " give the profiles of all hosts, one file each, in their order"
            )

    def ranks_of(self, program: Program, group: Sequence[int]) -> tuple[int, ...]:
        return tuple(self.places[_device(program, id)] for id in group)

    def _settle(self) -> None:
        """Leave only collectives that all their ranks with a profile entered."""
        present = {rank.number for rank in self.ranks}
        met: defaultdict[tuple[_Meeting, tuple[int, ...]], set[int]] = defaultdict(set)
        for rank in self.ranks:
            for comm in rank.comms:
                met[comm.meeting, comm.members].add(rank.number)
        lonely = 0
        for rank in self.ranks:
            kept = []
            for comm in rank.comms:
                if met[comm.meeting, comm.members] >= present & {*comm.ranks}:
                    kept.append(comm)
                else:
                    lonely += 1
                    rank.works[comm.place].communicates = comm.said.kind
                    self.report.unknown[comm.said.kind] += 1
            rank.comms = kept
        if lonely:
            self.report.problems.append(
                f"{count(lonely, 'collective')} not recorded on every rank; kept as computations "
                "of the recorded duration"
            )
        self._assign(self._in_one_order())

    def _in_one_order(self) -> bool:
        """Whether the ranks of every group enter its collectives in one order."""
        first: dict[tuple[int, ...], list[_Meeting]] = {}
        orders: defaultdict[tuple[tuple[int, ...], int], list[_Meeting]] = defaultdict(list)
        for rank in self.ranks:
            for comm in rank.comms:
                if comm.said.kind != _PERMUTE:
                    orders[comm.ranks, rank.number].append(comm.meeting)
        return all(first.setdefault(ranks, order) == order for (ranks, _), order in orders.items())

    def _assign(self, in_one_order: bool) -> None:
        tags: dict[_Meeting, int] = {}
        items: list[tuple[_Rank, _Comm, Communication]] = []
        for rank in self.ranks:
            for comm in rank.comms:
                group = "" if in_one_order else f"{comm.meeting[0]} {comm.meeting[2]}"
                kind = _KINDS.get(comm.said.kind)
                permutes = comm.said.kind == _PERMUTE
                item = Communication(
                    op=comm.place,
                    type=NodeType.COMM_SEND if permutes else NodeType.COMM_COLL,
                    collective=kind,
                    name=comm.said.kind,
                    group="" if permutes else group,
                    ranks=() if permutes else comm.ranks,
                    bytes=comm.said.bytes,
                )
                items.append((rank, comm, item))
        self.communicators = Communicators(self.world_size, [item for *_, item in items])
        for rank, comm, item in items:
            tag = tags.setdefault(comm.meeting, len(tags))
            work = rank.works[comm.place]
            work.parts = self._parts(rank, comm, self.communicators.id(item), tag)
            if comm.said.kind == _PERMUTE:
                self.report.permutes += 1
            else:
                self.report.collectives[comm.said.kind] += 1

    def _parts(self, rank: _Rank, comm: _Comm, communicator: int, tag: int) -> tuple[Part, ...]:
        said = comm.said
        kind = _KINDS.get(said.kind)
        if kind is not None:
            # A Chakra all-gather has the share that each rank gives.
            return (Part(NodeType.COMM_COLL, said.operand_bytes, communicator, kind),)
        found = []
        for source, target in zip(comm.ranks[::2], comm.ranks[1::2], strict=True):
            if source == target:
                continue
            if source == rank.number:
                found.append(Part(NodeType.COMM_SEND, said.bytes, communicator, None, target, tag))
                self.report.sends += 1
            if target == rank.number:
                found.append(Part(NodeType.COMM_RECV, said.bytes, communicator, None, source, tag))
                self.report.receives += 1
        return tuple(sorted(found, key=lambda part: part.type))


def _device(program: Program, id: int) -> int:
    return program.devices[id] if id < len(program.devices) else id


class _Works:
    """The works of a rank: kernels, their dependencies and communication."""

    def __init__(self, job: XlaJob, rank: _Rank) -> None:
        self.job = job
        self.report = job.report
        self.rank = rank
        self.profile = rank.profile
        self.ops = [op for op in rank.device.ops if not op.container]
        self.ended: dict[int, int] = {}  # the last work that had ended, by stream
        self.running: defaultdict[int, list[int]] = defaultdict(list)
        self.latest: defaultdict[tuple[int, str], list[int]] = defaultdict(list)
        self.times: Counter[tuple[int, int, str]] = Counter()
        self.attributes: dict[tuple[int, str, str], Mapping[str, str | int]] = {}
        self.counted: dict[str, tuple[int, bool, int | None, int | None]] = {}
        ran: defaultdict[int, set[str]] = defaultdict(set)
        for op in self.ops:
            ran[op.program].add(op.name)
        programs = self.profile.programs
        self.edges = {id: Edges(programs[id], names) for id, names in ran.items() if id in programs}

    def make(self) -> None:
        mains = _main_kernels(self.ops)
        self.rank.device.ops = []  # each goes when its work is made
        ops = deque(self.ops)
        self.ops = []
        for place, is_main in enumerate(mains):
            self._make(ops.popleft(), place, bool(is_main))

    def _make(self, op: DeviceOp, place: int, is_main: bool) -> None:
        work = self._work(op, is_main)
        self.rank.works.append(work)
        work.deps = self._deps(op, place)
        self.report.kernel_ps += op.until_ps - op.start_ps
        one = self.profile.instruction(op)
        if one is not None:
            self.latest[op.program, op.name].append(place)
            if is_main:
                self._communicate(op, one, place)
        self._name(op, work)
        self._count(op)

    def _count(self, op: DeviceOp) -> None:
        if op.category == "gpu_memcpy":
            self.report.copies += 1
        elif op.category == "gpu_memset":
            self.report.fills += 1
        else:
            self.report.kernels += 1

    def _stream(self, op: DeviceOp) -> int:
        return 0 if self.profile.kind == "CPU" else op.stream

    def _work(self, op: DeviceOp, is_main: bool) -> Work:
        one = self.profile.instruction(op)
        device = self.rank.device.number
        work = Work(op.name, op.start_ps, op.until_ps, self._stream(op), device)
        work.attributes = self._attributes(op, one)
        if one is None:
            work.flops = op.flops if op.category == "kernel" else 0
            work.bytes = op.bytes
            return work
        waits = one.opcode.endswith("-done") and one.opcode != _COPIED
        work.timed = not (self.profile.kind == "TPU" and waits)
        if not is_main:
            work.flops, work.bytes = 0, 0
            return work
        known = self.counted.get(one.name)
        if known is None or known[0] != op.program:
            program = self.profile.programs[op.program]
            moves = program.collective(one) is None
            counts = (program.flops(one), program.bytes(one)) if moves else (None, None)
            known = self.counted[one.name] = op.program, moves, *counts
        _, moves, work.flops, work.bytes = known
        self.report.flops += work.flops or 0
        if moves and work.flops is None:
            self.report.uncounted[one.target or one.opcode] += 1
        return work

    def _attributes(self, op: DeviceOp, one: Instruction | None) -> Mapping[str, str | int]:
        key = op.program, op.name, op.kernel
        found = self.attributes.get(key)
        if found is None:
            said: dict[str, str | int] = {} if op.kernel == op.name else {"kernel": op.kernel}
            if one is not None:
                said |= {"opcode": one.opcode, "program_id": op.program}
            found = self.attributes[key] = said
        return found

    def _deps(self, op: DeviceOp, place: int) -> tuple[int, ...]:
        stream = self._stream(op)
        works, still = self.rank.works, []
        for other in self.running[stream]:
            if works[other].end_ps > op.start_ps:
                still.append(other)
            elif stream not in self.ended or _ends(works, other) > _ends(works, self.ended[stream]):
                self.ended[stream] = other
        self.running[stream] = [*still, place]
        deps = [self.ended[stream]] if stream in self.ended else []
        one = self.profile.instruction(op)
        edges = self.edges.get(op.program)
        for name in edges.producers(one) if edges and one else ():
            made = self.latest.get((op.program, name), ())
            last = next((p for p in reversed(made) if works[p].end_ps <= op.start_ps), None)
            if last is None or last in deps:
                continue
            if works[last].stream != stream or still:
                deps.append(last)
        return tuple(deps)

    def _communicate(self, op: DeviceOp, one: Instruction, place: int) -> None:
        program = self.profile.programs[op.program]
        said = program.collective(one)
        if said is None:
            return
        key = op.program, op.run, op.name
        meeting = (*key, self.times[key])
        self.times[key] += 1
        work, me = self.rank.works[place], self.rank.number
        more: dict[str, str | int] = {"collective_bytes": said.bytes}
        if said.kind == _PERMUTE:
            ends = [self.job.ranks_of(program, pair) for pair in said.pairs]
            pairs = [pair for pair in ends if me in pair]
            ranks = tuple(rank for pair in pairs for rank in pair)
        else:
            groups = (self.job.ranks_of(program, group) for group in said.groups)
            ranks = next((group for group in groups if me in group), ())
        if said.bytes and (ranks or said.kind == _PERMUTE):
            if said.kind == "collective-broadcast":
                more["root"] = ranks[0]
            self.rank.comms.append(_Comm(place, meeting, said, ranks))
        else:
            work.communicates = said.kind
            self.report.unknown[said.kind] += 1
        work.attributes = {**work.attributes, **more}

    def _name(self, op: DeviceOp, work: Work) -> None:
        """Of unknown programs, only names tell what communicates."""
        if self.profile.instruction(op) is not None:
            return
        said = next((kind for kind in (*_KINDS, _PERMUTE) if op.name.startswith(kind)), "")
        if not said and op.kernel.startswith(("nccl", "rccl")):
            found = collective_of(op.kernel)
            said = found.name.lower() if found is not None else _PERMUTE
        if said and not op.name.rpartition(".")[0].endswith("-done"):
            work.communicates = said
            self.report.unknown[said] += 1


def _ends(works: Sequence[Work], place: int) -> tuple[int, int]:
    return works[place].end_ps, place


def _main_kernels(ops: Sequence[DeviceOp]) -> bytearray:
    """By place, 1 for the longest of the kernels that one execution of an instruction launched."""
    found = bytearray(len(ops))
    runs: dict[int, tuple[DeviceOp, set[str], int]] = {}  # by stream: first, names, longest
    for place, op in enumerate(ops):
        last = runs.get(op.stream)
        same = last is not None and (last[0].program, last[0].name) == (op.program, op.name)
        if last is not None and same and op.program >= 0 and op.kernel not in last[1]:
            longest = last[2]
            if op.end_ps - op.start_ps > ops[longest].end_ps - ops[longest].start_ps:
                longest = place
            runs[op.stream] = last[0], last[1] | {op.kernel}, longest
            continue
        if last is not None:
            found[last[2]] = 1
        runs[op.stream] = op, {op.kernel}, place
    for *_, longest in runs.values():
        found[longest] = 1
    return found
