"""Draws a job's traces anew (`tracing.share`), and says how both forms run and what still shows.

The number of calls that stand for a run of calls is the first of `CALLS` with which three clusters
are within `ACCEPTED` of the original, else the best one.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from yantra.base.errors import ConfigError, TraceError
from yantra.base.output import make_folder, write_text
from yantra.base.text import count
from yantra.base.units import format_time
from yantra.base.whole_numbers import whole
from yantra.chakra.files import save
from yantra.chakra.trace import Trace
from yantra.run.share_attack import PARALLELISM, attacked
from yantra.run.trial import numbered, stated_scenario
from yantra.scenario import Dimension, Resources, Scenario, Topology, Traces
from yantra.tracing.inspect.columns import Columns
from yantra.tracing.inspect.groups import WORLD, Groups
from yantra.tracing.inspect.rank_traces import RankTrace
from yantra.tracing.inspect.stats.job import communicators
from yantra.tracing.obfuscate import obfuscate
from yantra.tracing.obfuscate.keyed import Keyed
from yantra.tracing.obfuscate.leaks import Leak, find_leaks
from yantra.tracing.share.calls import Rank, Times
from yantra.tracing.share.fingerprint import ASPECTS, alike, fingerprint
from yantra.tracing.share.redraw import redraw

CALLS = (16, 32, 24, 64, 8)
ACCEPTED = 0.03
"""The largest change of a makespan, or of exposed communication over it, that ends the search."""

LIMIT = 0.05
"""The largest one without a warning."""

CLUSTERS = (("ring", 10.0, 2000.0), ("switch", 50.0, 500.0), ("switch", 400.0, 300.0))
"""Kind of network, bytes per ns and ns of latency of a link, each for all ranks."""


class OnCluster(NamedTuple):
    """A job on a cluster; exposed communication is the mean of ranks, bytes are by group."""

    makespan_ns: float
    exposed_ns: float
    group_bytes: dict[str, int]

    def renamed(self, names: Mapping[str, str]) -> OnCluster:
        """The same with groups by other names."""
        sums = {names.get(name, name): size for name, size in self.group_bytes.items()}
        return self._replace(group_bytes=sums)


class Cluster(NamedTuple):
    """Both forms on a cluster."""

    name: str
    before: OnCluster
    after: OnCluster

    @property
    def makespan(self) -> float:
        """The relative change of the makespan."""
        return _ratio(self.after.makespan_ns - self.before.makespan_ns, self.before.makespan_ns)

    @property
    def exposed(self) -> float:
        """The change of exposed communication, over the makespan."""
        return _ratio(self.after.exposed_ns - self.before.exposed_ns, self.before.makespan_ns)

    @property
    def group_bytes(self) -> float:
        """The largest relative change of a group's bytes."""
        before, after = self.before.group_bytes, self.after.group_bytes
        names = {*before, *after}
        pairs = ((before.get(name, 0), after.get(name, 0)) for name in names)
        return max((abs(new - old) / max(old, 1) for old, new in pairs), default=0.0)

    @property
    def worst(self) -> float:
        """The largest of the changes."""
        return max(abs(self.makespan), abs(self.exposed), self.group_bytes)

    def as_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "cluster": self.name,
            "makespan_before_ns": self.before.makespan_ns,
            "makespan_after_ns": self.after.makespan_ns,
            "makespan_change": self.makespan,
            "exposed_communication_change": self.exposed,
            "group_bytes_change": self.group_bytes,
        }


class Late(NamedTuple):
    """What a late rank costs the others, in ns, in both forms."""

    rank: int
    before_ns: float
    after_ns: float


class Shared(NamedTuple):
    """A job drawn anew: traces and groups by new names, what shows, how it runs.

    `alike`: how much of the original's fingerprint is left, by aspect; `calls`: of `CALLS`. `late`:
    of recordings of several ranks, the most costly first; `lateness`: their largest change, over
    all the others' time.
    """

    traces: dict[int, Trace]
    groups: Groups
    leaks: list[Leak]
    alike: dict[str, float]
    clusters: list[Cluster]
    calls: int
    late: list[Late]
    lateness: float

    @property
    def accepted(self) -> bool:
        """Whether the job behaves as before, within `LIMIT`."""
        return all(cluster.worst <= LIMIT for cluster in self.clusters) and self.lateness <= LIMIT

    @property
    def same_winner(self) -> bool:
        """Whether the fastest cluster stays the fastest, ties within a thousandth."""
        first = min(self.clusters, key=lambda one: one.before.makespan_ns)
        least = min(one.after.makespan_ns for one in self.clusters)
        return first.after.makespan_ns <= least * 1.001


def share_job(
    job: Sequence[RankTrace],
    key: bytes,
    groups: Groups | None = None,
    as_read: Callable[[Mapping[int, Trace], Groups], Mapping[int, Trace]] | None = None,
    calls: Sequence[int] = CALLS,
) -> Shared:
    """Draw a job anew. `groups`: members that the traces do not list; `as_read`: what becomes of a
    recording's traces when they are written and read; `calls`: as `CALLS`.

    Raises TraceError where the job cannot run, as ranks of a group that make different calls.
    """
    keyed = Keyed(key)
    given = {rank: trace for rank, _, trace in job}
    columns = {rank: Columns(trace) for rank, trace in given.items()}
    members = communicators(columns, groups)
    if any(whole(name) is None for name in {*members} - {"", WORLD}):  # only numbers run
        plain = obfuscate(job, level=1, key=key, groups=groups)
        given, members = plain.traces, plain.groups
        columns = {rank: Columns(trace) for rank, trace in given.items()}
    ranks = _run_alone(columns, members)
    names = keyed.permuted("group", {*members} - {"", WORLD}, first=1)
    new = {name: str(number) for name, number in names.items()}
    renamed = {new.get(name, name): of for name, of in members.items()}
    before = [_on(cluster, given, members) for cluster in CLUSTERS]
    before = [run.renamed(new) for run in before]
    communicates = any(run.group_bytes for run in before)
    costs = _late(given) if as_read else {}
    others_ns = max(before[1].makespan_ns * (len(given) - 1), 1.0)
    best: tuple[float, Shared] | None = None
    for most in calls if communicates else calls[:1]:
        traces = redraw(ranks, keyed, new, most)
        read = as_read(traces, renamed) if as_read else traces
        found = [
            Cluster(_called(cluster), old, _on(cluster, read, renamed))
            for cluster, old in zip(CLUSTERS, before, strict=True)
        ]
        late = _compared(costs, _late(read) if as_read else {})
        lateness = max((abs(one.after_ns - one.before_ns) for one in late), default=0.0) / others_ns
        worst = max(lateness, *(one.worst for one in found))
        if best is None or worst < best[0]:
            best = worst, Shared(traces, renamed, [], {}, found, most, late, lateness)
        if worst <= ACCEPTED:
            break
    if best is None:
        raise TraceError("nothing to share: the job has no trace")
    made = best[1]
    leaks = _leaks(columns, members, made.traces, renamed)
    return made._replace(leaks=leaks, alike=_left(given, made.traces))


def _late(traces: Mapping[int, Trace]) -> dict[int, float]:
    from yantra.tracing.why.late import late_ranks
    from yantra.tracing.why.rank import ranks_of
    from yantra.tracing.why.summary import summarise

    job = [RankTrace(rank, f"rank {rank}", trace) for rank, trace in sorted(traces.items())]
    return late_ranks([summarise(one) for one in ranks_of(job)]) if len(job) > 1 else {}


def _compared(before: Mapping[int, float], after: Mapping[int, float]) -> list[Late]:
    found = [Late(at, before.get(at, 0.0), after.get(at, 0.0)) for at in {*before, *after}]
    return sorted(found, key=lambda one: (-max(one[1:]), one.rank))


def share_files(
    arguments: Sequence[str], output: str, key: str | None, groups: str | None
) -> tuple[list[str], Shared, list[str]]:
    """Share recordings as PyTorch's, and as Chakra traces those that record no launches, as streams
    of one order would make ranks wait for each other; `key` as in `secret`, None: any.

    Returns what must be said of the input, the job and the paths written.
    """
    from yantra.run.obfuscate import secret
    from yantra.tracing.inspect.groups import read_group_file
    from yantra.tracing.inspect.rank_traces import load_job
    from yantra.tracing.pytorch.in_memory import are_recordings, converted_job
    from yantra.tracing.sources import are_profiles, have_launches

    drawn = os.urandom(32) if key is None else secret(key)
    members: Groups | None = None
    said: list[str] = []
    if groups is not None:
        members, said = read_group_file(groups)
    if not are_recordings(arguments):
        shared = share_job(load_job(arguments), drawn, members)
        return said, shared, write_shared(shared, output)
    made = converted_job(arguments)
    world = made.world_size

    def as_read(traces: Mapping[int, Trace], groups: Groups) -> dict[int, Trace]:
        with TemporaryDirectory() as folder:
            names = _recordings(folder, traces, world, groups)
            return {rank: trace for rank, _, trace in converted_job(names).traces}

    known = {**made.groups, **(members or {})}
    if are_profiles(arguments) and not have_launches(arguments):
        shared = share_job(made.traces, drawn, known)
        return [*said, *made.problems], shared, write_shared(shared, output)
    shared = share_job(made.traces, drawn, known, as_read)
    files = write_shared(shared, output, made.world_size)
    return [*said, *made.problems], shared, files


def write_shared(shared: Shared, output: str, kineto_of: int | None = None) -> list[str]:
    """Write the traces and the groups into the folder `output`; return the paths.

    `kineto_of`: the ranks of the job, to write device traces (JSON) in place of .et.
    """
    if os.path.exists(output) and not os.path.isdir(output):
        raise ConfigError("-o", f"expected a folder, got the file {output}")
    make_folder(output)
    if kineto_of is not None:
        return _recordings(output, shared.traces, kineto_of, shared.groups)
    files = []
    for rank, trace in shared.traces.items():
        files.append(os.path.join(output, f"job.{rank}.et"))
        trace.write(files[-1])
    if shared.groups:
        files.append(os.path.join(output, "job.groups.json"))
        rows = {name: list(ranks) for name, ranks in shared.groups.items()}
        write_text(files[-1], json.dumps(rows, indent=1) + "\n")
    return files


def _recordings(
    folder: str, traces: Mapping[int, Trace], world_size: int, groups: Groups
) -> list[str]:
    from yantra.tracing.share.kineto import kineto

    paths = []
    for rank, form in kineto(traces, world_size, groups):
        paths.append(os.path.join(folder, f"rank{rank}.json.gz"))
        save(json.dumps(form, separators=(",", ":")).encode(), paths[-1])
    return paths


def report(shared: Shared, files: Sequence[str]) -> str:
    """What was written, what an attacker finds, and how both forms run."""
    lines = [f"{count(len(shared.traces), 'trace')} drawn anew"]
    lines += [f"  {file}" for file in files[:4]]
    lines += [f"  and {len(files) - 4} more"] if len(files) > 4 else []
    lines.append("what an attacker finds")
    for leak in shared.leaks:
        lines.append(f"  {leak.what}: {leak.shows}")
        lines += [f"    {evidence}" for evidence in leak.evidence if evidence]
    left = ", ".join(f"{aspect} {value:.0%}" for aspect, value in shared.alike.items())
    lines.append(f"  fingerprint, as far as like the original's: {left}")
    lines.append("how both forms run: makespan, exposed communication over it, bytes of groups")
    for one in shared.clusters:
        lines.append(
            f"  {one.name}: {format_time(one.before.makespan_ns)} -> "
            f"{format_time(one.after.makespan_ns)} ({one.makespan:+.1%}), {one.exposed:+.1%}, "
            f"{one.group_bytes:+.1%}"
        )
    if shared.late:
        lines.append("who is late, and what that costs the others")
        lines += [
            f"  rank {one.rank}: {format_time(one.before_ns)} -> {format_time(one.after_ns)}"
            for one in shared.late[:3]
        ]
    return "\n".join(lines) + "\n"


def as_dict(shared: Shared, files: Sequence[str]) -> dict[str, Any]:
    """The report as JSON."""
    return {
        "files": list(files),
        "leaks": [leak._asdict() for leak in shared.leaks],
        "fingerprint_alike": shared.alike,
        "clusters": [one.as_dict() for one in shared.clusters],
        "late": [one._asdict() for one in shared.late],
        "same_winner": shared.same_winner,
        "accepted": shared.accepted,
        "calls_of_a_run": shared.calls,
    }


def warnings(shared: Shared) -> list[str]:
    """What must be said on standard error."""
    found = []
    if shared.lateness > LIMIT:
        found.append(
            f"what late ranks cost the others changed by {shared.lateness:.1%} of their time, more "
            f"than {LIMIT:.0%}; ask `yantra trace why` of the original"
        )
    if any(one.worst > LIMIT for one in shared.clusters):
        worst = max(shared.clusters, key=lambda one: one.worst)
        found.append(
            f"{worst.name}: changed by {worst.worst:.1%}, more than {LIMIT:.0%}; compare "
            "plans and clusters with the original"
        )
    return found


def _run_alone(columns: Mapping[int, Columns], groups: Groups) -> dict[int, Rank]:
    """The times of every node in a run on the second of `CLUSTERS`."""
    from yantra.run.simulate import simulate

    traces = {rank: one.trace for rank, one in columns.items()}
    order = sorted(columns)
    table = simulate(_scenario(CLUSTERS[1], traces, groups).replace(fold="off")).nodes
    times = {rank: Times([0.0] * one.count, [0.0] * one.count) for rank, one in columns.items()}
    place = {rank: {id: at for at, id in enumerate(one.id)} for rank, one in columns.items()}
    names = ("rank", "id", "start_ns", "end_ns")
    for rank, id, start, end in zip(*(table.values(name) for name in names), strict=True):
        if rank < len(order):
            mine = order[rank]
            at = place[mine][id]
            times[mine].start[at], times[mine].end[at] = start, end
    return {rank: Rank(columns[rank], times[rank]) for rank in order}


def _scenario(
    cluster: tuple[str, float, float], traces: Mapping[int, Trace], groups: Groups
) -> Scenario:
    kind, bytes_per_ns, latency_ns = cluster
    given = [traces[rank] for rank in sorted(traces)]
    members = groups
    if len(given) == 1:  # two alike form every group
        given, members = given * 2, dict.fromkeys(groups, (0, 1))
    elif sorted(traces) != list(range(len(given))):
        raise TraceError(
            f"ranks 0 to {max(traces)}: only {count(len(given), 'trace')} here; share all ranks of "
            "a job, or one alone"
        )
    workload = Traces(traces=tuple(given), groups=numbered(members))
    network = Dimension(
        kind=kind, size=len(given), bytes_per_ns=bytes_per_ns, latency_ns=latency_ns
    )
    return stated_scenario(given, workload).replace(
        semantics="yantra",
        resources=Resources(),
        topology=Topology(dimensions=(network,)),
    )


def _on(
    cluster: tuple[str, float, float], traces: Mapping[int, Trace], groups: Groups
) -> OnCluster:
    from yantra.run.simulate import simulate

    result = simulate(_scenario(cluster, traces, groups))
    exposed = result.ranks.values("exposed_communication_ns")
    sums: Counter[str] = Counter()
    table = result.collectives
    for group, size in zip(table.values("group"), table.values("size_bytes"), strict=True):
        sums[group or "0"] += size
    return OnCluster(result.makespan_ns, sum(exposed) / len(exposed), dict(sums))


def _called(cluster: tuple[str, float, float]) -> str:
    kind, bytes_per_ns, latency_ns = cluster
    return f"{kind} of {bytes_per_ns:g} GB/s, {latency_ns:g} ns"


def _leaks(
    old: Mapping[int, Columns], members: Groups, after: Mapping[int, Trace], groups: Groups
) -> list[Leak]:
    new = {rank: Columns(trace) for rank, trace in after.items()}
    found = [one for one in find_leaks(old, new, groups, level=4) if one.what != PARALLELISM]
    return [*found, *attacked(old, members, new, groups)]


def _left(before: Mapping[int, Trace], after: Mapping[int, Trace]) -> dict[str, float]:
    rank = min(after)
    old, new = fingerprint(before[rank]), fingerprint(after[rank])
    return {aspect: alike(old, new, aspect) for aspect in ASPECTS}


def _ratio(change: float, of: float) -> float:
    return change / of if of else 0.0
