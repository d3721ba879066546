"""From linked PyTorch traces to Chakra traces that replay the measured timeline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct, field, structs

from yantra.base.errors import TraceError
from yantra.base.text import count, shortened, table
from yantra.base.units import format_time
from yantra.chakra.schema import CollectiveType, NodeType
from yantra.chakra.trace import Trace
from yantra.tracing.pytorch import soundness, steps
from yantra.tracing.pytorch.balance import Balance, Sum
from yantra.tracing.pytorch.calls import Calls
from yantra.tracing.pytorch.collector import without_collector
from yantra.tracing.pytorch.communication import STAND_INS, Communication
from yantra.tracing.pytorch.communication_names import CommunicationNames
from yantra.tracing.pytorch.communicators import Communicators
from yantra.tracing.pytorch.cpu_collectives import with_cpu_collectives
from yantra.tracing.pytorch.emit import EmitOptions, emit
from yantra.tracing.pytorch.graph import Graph, GraphOptions, columns_of, graph_of
from yantra.tracing.pytorch.host_collectives import with_host_collectives
from yantra.tracing.pytorch.issue_order import keep_issue_order
from yantra.tracing.pytorch.linked import Linked
from yantra.tracing.pytorch.linked_columns import by_id
from yantra.tracing.pytorch.matching import Matches, match
from yantra.tracing.pytorch.node_facts import Facts
from yantra.tracing.pytorch.other_communication import AllFound, Unrecognised, find_all
from yantra.tracing.pytorch.replicate import Gathered, alone_for_all, replicated, scaled
from yantra.tracing.pytorch.work.assign import Works, assigned
from yantra.tracing.pytorch.work.share import Share, share
from yantra.tracing.recorded import ONE_EACH_IN_WORDS, Recorded, recorded

_WIDEST = 60  # characters of a kernel's name
_REPLAY = (
    'run `yantra astra-sim` with `"replay-only": 1` in the system file, which takes collectives as '
    "recorded, too, or `yantra run` with `semantics: yantra`, which simulates them"
)
_NO_COMMUNICATION = (
    "replicate: no communication was recorded, so ranks never wait for each other and nothing is "
    "summed; record a job of at least two ranks"
)
_CONVERTED = {"kernel": "kernels", "gpu_memcpy": "copies", "gpu_memset": "fills", "comm": "others"}
KEPT = 400_000  # operators and device ops held between the two passes


class ConvertOptions(Struct, frozen=True, kw_only=True):
    """What to write.

    `gaps`: delay nodes for unexplained time. `handover`: a thread idle while another worked waits
    for it. `reduce`: drop implied dependencies. `exact_collectives`: reduce, gather, scatter,
    barrier as such, not ASTRA-sim's nearest. `split_all_to_alls`: uneven ones as sends and
    receives. `memory_nodes`: host-device copies as MEM_LOAD and MEM_STORE. `replicate`: ranks one
    stands for, 0: as many as recorded, None: every rank is given. `template`: write it once, as
    rank 0. `gathered`: see `replicate.py`. `step`: convert only this one. `names`: what
    communicates without NCCL, RCCL, gloo.
    """

    gaps: bool = True
    handover: bool = True
    reduce: bool = False
    exact_collectives: bool = False
    split_all_to_alls: bool = False
    memory_nodes: bool = False
    replicate: int | None = None
    template: bool = False
    gathered: Gathered | None = None
    step: int | None = None
    names: CommunicationNames = field(default_factory=CommunicationNames)


class ConvertReport(Struct):
    """What a conversion did.

    `problems`, `remarks`: sentences for the user; `remarks`, on the replay, are no faults.
    `recorded`: ranks whose traces differ. `balance`: by rank. `unrecognised`: what communicates but
    stays computation, by kernel or operator name.
    """

    ranks: int = 0
    nodes: int = 0
    collectives: int = 0
    messages: int = 0
    delays: int = 0
    unknown_kernels: Counter[str] = field(default_factory=Counter)
    stand_ins: Counter[str] = field(default_factory=Counter)
    resized: int = 0
    splittable: int = 0
    unmatched_collectives: int = 0
    unmatched_messages: int = 0
    unrecognised: dict[str, Unrecognised] = field(default_factory=dict)
    recorded: dict[int, Recorded] = field(default_factory=dict)
    balance: dict[int, Balance] = field(default_factory=dict)
    work: Share = field(default_factory=Share)
    problems: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def summary(self) -> str:
        lines = [
            f"{count(self.ranks, 'trace')}, {count(self.nodes, 'node')}, {self.delays} of them "
            "delays",
            f"{count(self.collectives, 'collective')}, {self.messages} sends and receives",
        ]
        if self.resized:
            lines.append(f"{self.resized} collectives take the largest of their ranks' sizes")
        if self.splittable:
            lines.append(
                f"{count(self.splittable, 'uneven all-to-all')} can be split: "
                "--split-all-to-alls writes what each pair exchanges"
            )
        for name, times in sorted(self.stand_ins.items()):
            stand_in = STAND_INS[CollectiveType[name]].name
            lines.append(f"{times} x {name} written as {stand_in}: ASTRA-sim does not run it")
        for name, times in sorted(self.unknown_kernels.items()):
            lines.append(f"{times} x unknown communication, kept as computation: {name}")
        lines += self._delays()
        lines += self.work.lines()
        lines += self._unrecognised()
        return "".join(f"{line}\n" for line in lines)

    def as_dict(self) -> dict[str, Any]:
        form = {name: getattr(self, name) for name in self.__struct_fields__}
        form["balance"] = {rank: one.as_dict() for rank, one in self.balance.items()}
        form["work"] = self.work.as_dict()
        form["recorded"] = {rank: found.as_dict() for rank, found in self.recorded.items()}
        form["unrecognised"] = [
            {"name": name, "kind": found.kind, "count": found.count, "duration_ns": found.ns}
            for name, found in self._by_time()
        ]
        return form

    def _delays(self) -> list[str]:
        worst = max(self.recorded.values(), key=lambda found: found.delay_share, default=None)
        return [worst.delayed()] if worst is not None and worst.delay_us else []

    def _unrecognised(self) -> list[str]:
        if not self.unrecognised:
            return []
        rows = [
            (shortened(name, _WIDEST), found.kind, str(found.count), format_time(found.ns))
            for name, found in self._by_time()
        ]
        return [
            "communication, by its names, of unknown size, members or kind; kept as computation "
            "(--communication-names FILE adds names)",
            *(f"  {line}" for line in table(("name", "kind", "calls", "time"), rows, left=2)),
        ]

    def _by_time(self) -> list[tuple[str, Unrecognised]]:
        return sorted(self.unrecognised.items(), key=lambda item: (-item[1].ns, item[0]))


class Job(Struct):
    """What was converted; `steps`: numbers of the steps taken together, if several."""

    communicators: Communicators
    report: ConvertReport
    steps: list[int] = []


Source = Callable[[], Linked]
Take = Callable[[int, Iterator[bytes]], None]


class Scan(Struct):
    """What a rank's trace says before the ranks are compared."""

    rank: int
    world_size: int
    found: AllFound
    steps: list[steps.Step]
    behind_ns: int  # of a step alone


class Pool(Protocol):
    """Processes that read and write ranks, each its own."""

    def scans(self) -> Iterable[Scan]: ...
    def write(self, ranks: Ranks, communicators: Communicators, report: ConvertReport) -> None: ...


def convert_linked(linked: Linked, options: ConvertOptions | None = None) -> Trace:
    """Convert one rank alone; `convert_job` for ranks that talk to each other."""
    content: list[bytes] = []
    convert_job([lambda: linked], lambda rank, pieces: content.extend(pieces), options)
    return Trace.from_bytes(b"".join(content))


@without_collector
def convert_job(
    sources: Sequence[Source],
    take: Take,
    options: ConvertOptions | None = None,
    pool: Pool | None = None,
) -> Job:
    """Convert a job's ranks; `take(rank, pieces)` gets each .et file's content; a `pool` reads and
    writes in its own processes.

    A source is called once or twice and must return the same trace. Raises TraceError for two
    sources of one rank, or `replicate` with several.
    """
    chosen = options or ConvertOptions()
    ranks = Ranks(chosen.names, chosen.step)
    for scan in map(ranks.scan, sources) if pool is None else pool.scans():
        ranks.add(scan)
    items, world_size = ranks.items(), ranks.world_size
    told: list[str] = []
    if chosen.replicate is not None:
        if len(items) != 1:
            raise TraceError("replicate: one rank stands for all; give the trace of one rank")
        world_size = chosen.replicate or world_size
        items, told = ranks.replicated(world_size, chosen)
    everything = [item for made in items.values() for item in made]
    communicators = Communicators(world_size, everything)
    matches = match(items, communicators, split=chosen.split_all_to_alls)
    if chosen.replicate is not None:
        ranks.settle(next(iter(items.values())))
    report = _report(matches, ranks)
    if chosen.step is not None:
        report.problems += steps.behind(ranks.behind, chosen.step)
    everything = [item for made in items.values() for item in made]
    if pool is None:
        write_ranks(items, ranks, communicators, chosen, report, take)
    else:
        pool.write(ranks, communicators, report)
    _count(report, everything, chosen)
    report.remarks += told
    _remark_on_slots(report)
    if len(ranks.steps) > 1:
        report.remarks.append(steps.remark(ranks.steps))
    if chosen.replicate is not None and not report.collectives and not report.messages:
        report.remarks.append(_NO_COMMUNICATION)
    return Job(communicators, report, [one.number for one in ranks.steps])


def write_ranks(
    items: Mapping[int, list[Communication]],
    ranks: Ranks,
    communicators: Communicators,
    options: ConvertOptions,
    report: ConvertReport,
    take: Take,
) -> None:
    as_one = options.replicate is not None
    once: tuple[Linked, Graph, Facts] | None = None
    for rank, made in items.items():
        if once is None or not as_one:
            once = None
            linked = ranks.linked(rank, as_one=as_one)
            kept = ranks.kept(rank, as_one=as_one)
            linked.report.balance.became = _became(linked, made, kept)
            head = structs.replace(linked, operators=[], device_ops=[], waits=[], flows=[])
            operators = by_id(linked.operators)
            work = assigned(linked.device_ops, operators, Works())
            report.work.add(share(linked, operators, work, made, kept))
            columns = columns_of(linked)
            facts = Facts(linked, columns, made, work, kept, options.memory_nodes)
            del linked, operators, work  # many objects, which the graph needs no more
            how = GraphOptions(gaps=options.gaps, handover=options.handover)
            once = head, graph_of(columns, how, rank), facts
            del columns
            keep_issue_order(once[1], made, communicators)
        once[0].rank = rank
        report.balance[rank] = once[0].report.balance
        take(rank, _rank(once, made, communicators, options, report))


def _became(linked: Linked, items: Sequence[Communication], kept: Mapping[int, str]) -> Sum:
    sizes = {item.op: item.type for item in items if item.type is not NodeType.COMP}
    found = Sum(len(linked.device_ops))
    counts = Counter(
        "collectives"
        if sizes.get(op.id) is NodeType.COMM_COLL
        else "sends and receives"
        if op.id in sizes
        else "communication at its recorded duration"
        if op.id in kept
        else _CONVERTED.get(op.cat, op.cat)
        for op in linked.device_ops
    )
    for name, number in sorted(counts.items()):
        found.add(name, number)
    return found


def _rank(
    once: tuple[Linked, Graph, Facts],
    items: Sequence[Communication],
    communicators: Communicators,
    options: ConvertOptions,
    report: ConvertReport,
) -> Iterator[bytes]:
    linked, graph, facts = once
    how = EmitOptions(
        reduce=options.reduce,
        exact_collectives=options.exact_collectives,
        memory_nodes=options.memory_nodes,
        relative=options.template,
    )
    facts.take(items)
    report.ranks += 1
    if options.replicate is None or not report.recorded:
        report.recorded[linked.rank] = recorded(facts.core.timeline(graph.nodes.core))
    parts = [item.op for item in items if item.type is not NodeType.COMP]
    report.nodes += len(graph.nodes) + len(parts) - len({*parts})
    report.delays += graph.nodes.count_of("delay")
    return emit(linked, graph, facts, items, communicators, how)


class Ranks:
    """The ranks of a job; traces of up to `most` operators and device ops are kept."""

    def __init__(self, names: CommunicationNames, step: int | None, most: int = KEPT) -> None:
        self.found: dict[int, AllFound] = {}
        self.steps: list[steps.Step] = []  # of the rank with most, if all are taken
        self.behind: list[tuple[int, int]] = []  # of a step alone, in ns, and the rank
        self._step = step
        self._names = names
        self.world_size = 0
        self._sources: dict[int, Source] = {}
        self._kept: dict[int, Linked] = {}
        self._size = 0
        self._most = most
        self._shared: dict[Any, Any] = {}

    def items(self) -> dict[int, list[Communication]]:
        return {rank: found.items for rank, found in sorted(self.found.items())}

    def replicated(
        self, world_size: int, options: ConvertOptions
    ) -> tuple[dict[int, list[Communication]], list[str]]:
        ((rank, found),) = self.found.items()
        (linked,) = self._kept.values()
        made, told = scaled(linked, found.items, self.world_size, world_size, options.gathered)
        if options.template:
            alone = alone_for_all(made, rank, self.world_size, world_size)
            return {0: alone}, told
        return replicated(made, rank, self.world_size, world_size), told

    def settle(self, items: list[Communication]) -> None:
        (found,) = self.found.values()
        found.items = items

    def kept(self, rank: int, *, as_one: bool) -> dict[int, str]:
        found = next(iter(self.found.values())) if as_one else self.found[rank]
        return found.kept

    def linked(self, rank: int, *, as_one: bool) -> Linked:
        """Gives away what is kept."""
        if as_one:
            (rank,) = self._kept
        kept = self._kept.pop(rank, None)
        return self._read(self._sources[rank]) if kept is None else kept

    def _read(self, source: Source) -> Linked:
        linked = source()
        soundness.check(linked)
        if self._step is not None:
            linked = steps.only(linked, self._step)
        return with_host_collectives(with_cpu_collectives(linked))

    def scan(self, source: Source) -> Scan:
        linked = self._read(source)
        found = find_all(linked, Calls(linked.operators), self._names)
        self._share(found.items)
        self._sources.setdefault(linked.rank, source)
        self._size += len(linked.operators) + len(linked.device_ops)
        if self._size <= self._most or not self.found:
            self._kept.setdefault(linked.rank, linked)
        made = [] if self._step is not None else steps.steps(linked)
        behind = 0 if self._step is None else steps.behind_ns(linked)
        return Scan(linked.rank, linked.world_size, found, made, behind)

    def _share(self, items: Iterable[Communication]) -> None:
        """Hold equal members and names once: a thousand ranks name groups of a thousand."""
        shared = self._shared
        for item in items:
            item.ranks = shared.setdefault(item.ranks, item.ranks)
            item.name = shared.setdefault(item.name, item.name)
            item.group = shared.setdefault(item.group, item.group)

    def add(self, scan: Scan) -> None:
        if scan.rank in self.found:
            raise TraceError(f"rank {scan.rank}: two of the traces given are of this rank")
        self._share(scan.found.items)
        self.steps = max(self.steps, scan.steps, key=len)
        self.found[scan.rank] = scan.found
        self.behind.append((scan.behind_ns, scan.rank))
        highest = max((r for item in scan.found.items for r in item.ranks), default=0)
        self.world_size = max(self.world_size, scan.world_size, scan.rank + 1, highest + 1)


def _report(matches: Matches, ranks: Ranks) -> ConvertReport:
    report = ConvertReport(
        problems=matches.problems,
        resized=matches.resized,
        splittable=matches.splittable,
        unmatched_collectives=matches.unmatched_collectives,
        unmatched_messages=matches.unmatched_messages,
    )
    for found in ranks.found.values():
        report.unknown_kernels += found.unknown
        found.leave_unsized()
        for name, one in found.unrecognised.items():
            entry = report.unrecognised.setdefault(name, Unrecognised(one.kind))
            entry.count += one.count
            entry.ns += one.ns
    return report


def _remark_on_slots(report: ConvertReport) -> None:
    serialised = {rank: found for rank, found in report.recorded.items() if found.is_serialised}
    if serialised:
        rank, worst = max(serialised.items(), key=lambda item: item[1].times_as_long)
        more = f" and {count(len(serialised) - 1, 'more rank')}" if len(serialised) > 1 else ""
        report.remarks.append(f"rank {rank}{more}: {worst.serialised(ONE_EACH_IN_WORDS, _REPLAY)}")


def _count(report: ConvertReport, items: Iterable[Communication], options: ConvertOptions) -> None:
    for item in items:
        report.collectives += item.type is NodeType.COMM_COLL
        report.messages += item.type in (NodeType.COMM_SEND, NodeType.COMM_RECV)
        stands_in = not options.exact_collectives and item.type is NodeType.COMM_COLL
        if stands_in and item.collective in STAND_INS:
            report.stand_ins[item.collective.name] += 1
