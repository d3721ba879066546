"""From traces to dependency graphs, once per distinct content.

A million ranks of one trace cost one decode, and reading the files.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from yantra import _core
from yantra.base.at_once import in_order
from yantra.base.errors import ConfigError, TraceError
from yantra.chakra import files, heads
from yantra.chakra.graphs import graph_of, read_graph
from yantra.compile.contents import SMALL, Contents
from yantra.scenario import Templates, Traces, TrainingStep, WorkloadFile
from yantra.scenario.quirks import Quirk
from yantra.scenario.types import ChakraFiles, DeviceOf, Workload

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterator, Mapping, MutableSequence, Sequence

    from yantra.chakra.trace import Trace

_WORTH_A_THREAD = 1 << 18
"""Least bytes to decode in a thread: a fifth of a millisecond."""

_AT_ONCE = 256
"""Small files read between interrupts."""

_WORTH_AN_ARRAY = 1000
"""Ranks from which `array` is faster, import included."""


class Graphs:
    """Every rank's graph: `by_rank[r]` indexes `distinct` and `sources`.

    `groups`: ids and ranks of communicators, ascending. `kernels`: graphs distinguish kernels;
    `launches`: the host's, included as nodes. With several devices, `device_of` has each distinct
    graph's, `device_of_rank` each rank's: 0 for the most common, else 1 + its place. `arriving`:
    jobs that may arrive, by name: ranks and graphs. `begins_ns`: when ranks begin; none: at once.
    `kept`: the share of kernel time of a recording that another machine's model does not know.
    """

    def __init__(
        self,
        groups: Sequence[tuple[int, tuple[int, ...]]] = (),
        *,
        kernels: bool = False,
        launches: _core.Launches | None = None,
    ) -> None:
        self.groups = groups
        self.kernels = kernels
        self.launches = launches
        self.distinct: list[_core.Graph] = []
        self.sources: list[str] = []
        self.by_rank: MutableSequence[int] = []
        self.warnings: list[str] = []
        self.spellings: dict[str, str] = {}
        self.device_of: list[int] = []
        self.device_of_rank: Sequence[int] = []
        self.arriving: dict[str, list[tuple[int, _core.Graph]]] = {}
        self.begins_ns: list[int] = []
        self.kept = 0.0

    def column(self) -> array[int] | memoryview[int]:
        """`by_rank` for the core, 32 bits each."""
        if len(self.by_rank) >= _WORTH_AN_ARRAY:
            from array import array

            return array("I", self.by_rank)
        column = memoryview(bytearray(4 * len(self.by_rank))).cast("I")
        for rank, at in enumerate(self.by_rank):
            column[rank] = at
        return column

    def of(self, rank: int) -> _core.Graph:
        return self.distinct[self.by_rank[rank]]

    def device(self, rank: int) -> int:
        return self.device_of_rank[rank] if self.device_of_rank else 0

    def counted(self, device: int | None = None) -> Iterator[tuple[_core.Graph, int, str]]:
        """Yield distinct graphs, their ranks, and sources; then arriving jobs', per rank.

        `device`: only what its ranks run.
        """
        from collections import Counter

        ranks = Counter(self.by_rank)
        for at, (graph, source) in enumerate(zip(self.distinct, self.sources, strict=True)):
            if device is None or not self.device_of or self.device_of[at] == device:
                yield graph, ranks[at], source
        for name, job in self.arriving.items():
            for rank, graph in job:
                if device is None or self.device(rank) == device:
                    yield graph, 1, arriving_at(name, rank)

    def group_names(self, rank: int) -> Sequence[str]:
        return self.of(rank).pg_names

    def collectives(self) -> list[_core.UsedCollective]:
        """Group and comm_type of collectives in use, each once."""
        return _core.used_collectives(self.with_arriving())

    def with_arriving(self) -> list[_core.Graph]:
        arriving = [graph for job in self.arriving.values() for _, graph in job]
        return [*self.distinct, *arriving]

    def by_device(self, devices: Sequence[DeviceOf]) -> None:
        """Ranks with another device get entries of the same graph objects."""
        if not devices:
            return
        self.device_of_rank = device_of_rank = [0] * len(self.by_rank)
        for at, part in enumerate(devices, 1):
            for rank in part.ranks:
                device_of_rank[rank] = at
        pairs = list(zip(self.by_rank, self.device_of_rank, strict=True))
        places = {pair: at for at, pair in enumerate(dict.fromkeys(pairs))}
        self._take([graph for graph, _ in places])
        self.device_of = [device for _, device in places]
        self.by_rank = [places[pair] for pair in pairs]

    def _take(self, graphs: Sequence[int]) -> None:
        self.distinct = [self.distinct[at] for at in graphs]
        self.sources = [self.sources[at] for at in graphs]

    def add_arriving(
        self, jobs: Mapping[str, Mapping[int, Trace]], ranks: int, quirks: frozenset[Quirk]
    ) -> None:
        merge = Quirk.DUPLICATE_IDS_MERGE in quirks
        for name, traces in jobs.items():
            for rank in traces:
                if not 0 <= rank < ranks:
                    problem = f"rank {rank} is not one of the {ranks} ranks of the cluster"
                    raise ConfigError(f"jobs['{name}']", problem)
            job = [
                (rank, self.made_of(trace, arriving_at(name, rank), merge_duplicates=merge))
                for rank, trace in traces.items()
            ]
            for rank, graph in job:
                self.warnings.extend(check(graph, arriving_at(name, rank), quirks))
            self.arriving[name] = job

    def made_of(
        self, trace: Trace, where: str, *, merge_duplicates: bool, serial: bool = False
    ) -> _core.Graph:
        native = _core.with_collectives_in_order(trace.native) if serial else trace.native
        return graph_of(
            native, where, merge_duplicates, kernels=self.kernels, launches=self.launches
        )

    def add(self, graph: _core.Graph, where: str, quirks: frozenset[Quirk]) -> None:
        self.warnings.extend(check(graph, where, quirks))
        self.distinct.append(graph)
        self.sources.append(where)


def arriving_at(name: str, rank: int) -> str:
    return f"job '{name}', trace of rank {rank}"


def load_graphs(
    workload: Workload,
    ranks: int,
    quirks: frozenset[Quirk],
    *,
    tensors: bool = False,
    kernels: bool = False,
    one_slot: bool = False,
    launches: _core.Launches | None = None,
) -> Graphs:
    """Load a graph per rank.

    `tensors` keeps tensor lists for local memory tracking, `kernels` what compute models need.
    `one_slot`: one communication at a time per rank, which templates, and traces that say so,
    prepare for. `launches` go into each graph.
    """
    if isinstance(workload, WorkloadFile | Templates | TrainingStep):
        from yantra.compile.templates import load_templates

        return load_templates(
            workload,
            ranks,
            quirks,
            tensors=tensors,
            kernels=kernels,
            one_slot=one_slot,
            launches=launches,
        )
    graphs = Graphs(workload.groups, kernels=kernels, launches=launches)
    if isinstance(workload, Traces):
        _of_objects(graphs, workload, ranks, quirks, one_slot=one_slot)
        return graphs
    _of_files(graphs, workload, ranks, quirks, tensors=tensors, one_slot=one_slot)
    return graphs


def _of_files(
    graphs: Graphs,
    workload: ChakraFiles,
    ranks: int,
    quirks: frozenset[Quirk],
    *,
    tensors: bool,
    one_slot: bool,
) -> None:
    kernels, launches = graphs.kernels, graphs.launches
    contents = Contents(files.load)
    ordered = one_slot and is_serial(heads.stated_in(workload.path(0)))  # one job
    usual = kernels if not tensors and launches is None and not ordered else None
    for graph, path in _usual(graphs.by_rank, contents, workload, ranks, usual):
        graphs.distinct.append(graph)  # nothing to warn of
        graphs.sources.append(path)

    def decoded(file: tuple[bytes | _core.Graph, str]) -> tuple[_core.Graph, str]:
        content, path = file
        if isinstance(content, _core.Graph):
            return content, path
        serial = ordered and is_serial(heads.stated(content))
        graph = read(
            content,
            path,
            quirks,
            tensors=tensors,
            kernels=kernels,
            serial=serial,
            launches=launches,
        )
        return graph, path

    def is_large(file: tuple[bytes | _core.Graph, str]) -> bool:
        return isinstance(file[0], bytes) and len(file[0]) > _WORTH_A_THREAD

    distinct = _others(graphs.by_rank, contents, workload, ranks, usual)
    for graph, path in in_order(decoded, distinct, is_large, _core.Stop()):
        graphs.add(graph, path, quirks)


def _usual(
    by_rank: MutableSequence[int],
    contents: Contents,
    workload: ChakraFiles,
    ranks: int,
    kernels: bool | None,
) -> Iterator[tuple[_core.Graph, str]]:
    """Distinct graphs of small usual files, with paths; number all."""
    prefix = os.fsencode(workload.prefix)
    while kernels is not None and len(by_rank) < ranks:
        first = len(by_rank)
        count = min(ranks - first, _AT_ONCE)
        numbers, graphs, of_rank = contents.files.read(prefix, first, count, SMALL, kernels)
        by_rank.extend(numbers)
        for graph, rank in zip(graphs, of_rank, strict=True):
            yield graph, workload.path(rank)
        if len(numbers) < count:
            return


def _others(
    by_rank: MutableSequence[int],
    contents: Contents,
    workload: ChakraFiles,
    ranks: int,
    kernels: bool | None,
) -> Iterator[tuple[bytes | _core.Graph, str]]:
    """Distinct contents of other files, with paths; number all."""
    while len(by_rank) < ranks:
        path = workload.path(len(by_rank))
        content = _load(path, workload, ranks)
        number, is_new = contents.number(content, path)
        by_rank.append(number)
        if is_new:
            yield content, path
        else:
            by_rank.extend([number] * _alike(workload, len(by_rank), ranks, content))
        yield from _usual(by_rank, contents, workload, ranks, kernels)


def _alike(workload: ChakraFiles, first: int, ranks: int, content: bytes) -> int:
    if len(content) > SMALL:
        return 0  # hashing is cheaper than keeping it
    end, some = first, 8
    while end < ranks:
        asked = range(end, min(end + some, ranks))
        paths = [os.fsencode(workload.path(rank)) for rank in asked]
        found = _core.count_alike(paths, content)
        end += found
        if found < len(asked):
            break
        some *= 2
    return end - first


def _load(path: str, workload: ChakraFiles, ranks: int) -> bytes:
    try:
        return files.load(path)
    except TraceError:
        if os.path.exists(path):
            raise
        from yantra.chakra.rank_files import no_such_file

        problem = no_such_file(f"{workload.prefix}.{{rank}}.et", ranks)
        raise TraceError(f"{path}: {problem}") from None


def is_serial(stated: Mapping[str, str]) -> bool:
    """Whether a trace's collectives go one by one on one slot."""
    return stated.get(heads.ORDERING) == "serial"


def _of_objects(
    graphs: Graphs, workload: Traces, ranks: int, quirks: frozenset[Quirk], *, one_slot: bool
) -> None:
    if len(workload.traces) != ranks:
        raise TraceError(
            f"workload: {len(workload.traces)} traces for {ranks} ranks of the cluster"
        )
    traces = workload.traces
    # In tuples identical objects compare fast; others by content.
    shared = not traces or (traces[-1] is traces[0] and traces == traces[:1] * ranks)
    names = list(map(id, traces[:1] if shared else traces))
    places = {name: at for at, name in enumerate(dict.fromkeys(names))}
    merge = Quirk.DUPLICATE_IDS_MERGE in quirks
    for name in places:
        rank = names.index(name)
        where = f"trace of rank {rank}"
        serial = one_slot and is_serial(heads.texts_of(traces[rank].native))
        graph = graphs.made_of(traces[rank], where, merge_duplicates=merge, serial=serial)
        graphs.add(graph, where, quirks)
    from array import array

    one = array("I", [0])
    graphs.by_rank = one * ranks if shared else array("I", [places[name] for name in names])


def read(
    content: bytes,
    where: str,
    quirks: frozenset[Quirk],
    *,
    tensors: bool = False,
    kernels: bool = False,
    serial: bool = False,
    launches: _core.Launches | None = None,
) -> _core.Graph:
    merge = Quirk.DUPLICATE_IDS_MERGE in quirks
    return read_graph(
        content,
        where,
        merge_duplicates=merge,
        tensors=tensors,
        kernels=kernels,
        collectives_in_order=serial,
        launches=launches,
    )


def check(graph: _core.Graph, where: str, quirks: frozenset[Quirk]) -> list[str]:
    found = graph.diagnostics
    if not found:
        return []
    from yantra.chakra.diagnostics import from_native

    warnings = []
    for finding in from_native(found):
        text = f"{where}: {finding.where}: {finding.message}"
        dropped = finding.code == "cycle" and Quirk.UNREACHABLE_NODES_ARE_DROPPED in quirks
        if dropped and any(count == 0 for count in graph.parent_count):
            warnings.append(f"{text}; these nodes never run, as in ASTRA-sim")
        elif finding.severity == "error":
            raise TraceError(text)
        elif finding.code == "duplicate-id":
            warnings.append(text)
    return warnings
