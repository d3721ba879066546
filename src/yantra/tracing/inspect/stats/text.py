"""Statistics as text: a section per question, a line per fact."""

from __future__ import annotations

from collections.abc import Iterator

from yantra.base.text import count, rank_list, shortened, table
from yantra.base.units import format_size, format_time
from yantra.tracing.inspect.columns import KINDS
from yantra.tracing.inspect.stats.job import JobStats
from yantra.tracing.inspect.stats.rank import RankStats

_MOST_RANKS = 16
_NAME_WIDTH = 56
_KIND_NAMES = {
    "cpu": "CPU",
    "gpu_compute": "GPU compute",
    "communication": "communication",
    "memory": "memory",
    "delay": "delays",
    "other": "other",
}


def report(stats: JobStats, top: int = 10) -> str:
    lines: list[str] = []
    for title, section in _sections(stats, top):
        lines += ["", title, *(f"  {line}" for line in section)] if section else []
    return "\n".join(lines[1:]) + "\n"


def _sections(stats: JobStats, top: int) -> Iterator[tuple[str, list[str]]]:
    first = stats.ranks[0][2]
    if len(stats.ranks) == 1:
        yield stats.ranks[0][1], _counts(first)
    else:
        yield f"{len(stats.ranks)} ranks", _ranks(stats)
    yield "recording", _recording(stats)
    yield "time by kind", _kinds(stats)
    yield "collectives", _collectives(stats)
    yield "messages", _messages(stats)
    yield "communication of unknown size or members, at its recorded time", _unsized(stats)
    yield f"operators, the {top} with most time", _operators(stats, top)
    rank, _, slowest = max(stats.ranks, key=lambda entry: (entry[2].span_us, -entry[0]))
    whose = f" of rank {rank}, the longest" if len(stats.ranks) > 1 else ""
    yield f"critical path{whose}", _path(slowest)
    yield "parallelism, as far as the traces say", _parallelism(stats)


def _counts(stats: RankStats) -> list[str]:
    types = ", ".join(f"{number} {name}" for name, number in stats.types.items())
    lines = [
        f"{count(stats.nodes, 'node')}: {types}",
        f"{stats.data_edges} data and {stats.control_edges} control edges, "
        f"{stats.distinct_edges} different ones",
        f"depth {stats.depth}, width {stats.width} nodes",
    ]
    if stats.num_ops or stats.touched_bytes:
        touched = format_size(stats.touched_bytes)
        lines.append(f"{stats.num_ops} operations (num_ops) on {touched} (tensor_size)")
    if stats.kernel_us and stats.num_ops and stats.counted_us < stats.kernel_us:
        share = stats.counted_us / stats.kernel_us
        lines.append(f"operations or bytes are known for {share:.1%} of computation on devices")
    if stats.host_num_ops:
        lines.append(f"{stats.host_num_ops} operations (num_ops) on CPU operators")
    if stats.memory_bytes:
        lines.append(f"{format_size(stats.memory_bytes)} loaded and stored")
    if stats.nodes_in_cycles:
        lines.append(f"{count(stats.nodes_in_cycles, 'node')} in or behind a cycle left out")
    return lines


def _ranks(stats: JobStats) -> list[str]:
    head = ("rank", "nodes", "edges", "work", "span", "work/span", "depth", "width", "ops", "bytes")
    rows = []
    for rank, _, one in stats.ranks[:_MOST_RANKS]:
        moved = sum(row.bytes for row in (*one.collectives, *one.messages))
        rows.append(
            (
                str(rank),
                str(one.nodes),
                str(one.distinct_edges),
                _time(one.work_us),
                _time(one.span_us),
                _ratio(one),
                str(one.depth),
                str(one.width),
                str(one.num_ops),
                format_size(moved),
            )
        )
    lines = table(head, rows, left=0)
    if len(stats.ranks) > _MOST_RANKS:
        lines.append(f"and {len(stats.ranks) - _MOST_RANKS} more ranks")
    return lines


def _recording(stats: JobStats) -> list[str]:
    lines = []
    here = tuple(rank for rank, _, _ in stats.ranks)
    if stats.world_size is not None and stats.world_size > 1:
        are = "ranks are" if len(here) > 1 else "ranks is"
        said = f"{len(here)} of {stats.world_size} {are} here"
        lines.append(said if len(here) == stats.world_size else f"{said}: {rank_list(here)}")
    for rank, balance in list(stats.recordings.items())[:_MOST_RANKS]:
        whose = f"rank {rank}: " if len(stats.ranks) > 1 else ""
        lines += [f"{whose}{line}" for line in balance.lines()]
    more = len(stats.recordings) - _MOST_RANKS
    return lines + ([f"and those of {more} more ranks"] if more > 0 else [])


def _unsized(stats: JobStats) -> list[str]:
    rows = [
        (str(rank), row.what, str(row.calls), _time(row.time_us))
        for rank, _, one in stats.ranks
        for row in one.unsized
    ]
    shown = rows[: 4 * _MOST_RANKS]
    lines = table(("rank", "what", "count", "time"), shown, left=2) if rows else []
    return lines + ([f"and {len(rows) - len(shown)} more"] if len(rows) > len(shown) else [])


def _kinds(stats: JobStats) -> list[str]:
    rows = []
    total = sum(one.work_us for _, _, one in stats.ranks)
    for kind in KINDS:
        times = [one.time_us[kind] for _, _, one in stats.ranks]
        nodes = sum(one.nodes_of_kind[kind] for _, _, one in stats.ranks)
        if nodes:
            share = f"{sum(times) / total:.1%}" if total else "-"
            spread = () if len(times) == 1 else (_time(min(times)), _time(max(times)))
            rows.append((_KIND_NAMES[kind], str(nodes), _time(sum(times)), share, *spread))
    spread = () if len(stats.ranks) == 1 else ("least of a rank", "most")
    return table(("kind", "nodes", "time", "share", *spread), rows)


def _collectives(stats: JobStats) -> list[str]:
    if not stats.groups:
        return []
    rows = [
        (
            row.group,
            "?" if row.ranks is None else rank_list(row.ranks),
            row.collective,
            str(row.calls_per_rank),
            format_size(row.bytes_per_rank),
            format_size(row.bytes),
            _time(row.time_us),
        )
        for row in stats.groups
    ]
    head = ("group", "ranks", "collective", "calls/rank", "bytes/rank", "bytes", "time")
    return table(head, rows, left=3)


def _messages(stats: JobStats) -> list[str]:
    rows = [
        (str(rank), row.what, row.with_whom, str(row.calls), format_size(row.bytes))
        for rank, _, one in stats.ranks
        for row in one.messages
    ]
    shown = rows[: 4 * _MOST_RANKS]
    lines = table(("rank", "way", "peer", "count", "bytes"), shown, left=3) if rows else []
    return lines + ([f"and {len(rows) - len(shown)} more"] if len(rows) > len(shown) else [])


def _operators(stats: JobStats, top: int) -> list[str]:
    total = sum(one.work_us for _, _, one in stats.ranks)
    rows = [
        (
            shortened(operator.name or "(no name)", _NAME_WIDTH),
            _KIND_NAMES[operator.kind],
            str(operator.calls),
            _time(operator.time_us),
            f"{operator.time_us / total:.1%}" if total else "-",
        )
        for operator in stats.operators[:top]
    ]
    return table(("operator", "kind", "calls", "time", "share"), rows, left=2)


def _path(stats: RankStats) -> list[str]:
    if not stats.span_us:
        return [f"no durations are recorded; the longest chain has {count(stats.depth, 'node')}"]
    kinds = ", ".join(
        f"{_time(time)} {_KIND_NAMES[kind]}" for kind, time in stats.span_us_of_kind.items() if time
    )
    lines = [
        f"{_time(stats.span_us)} in {count(stats.path_nodes, 'node')}: {kinds}",
        f"work / span = {_ratio(stats)}",
    ]
    rows = [
        (f"node {node.id}", shortened(node.name, _NAME_WIDTH), _time(node.duration_us))
        for node in stats.path_top
        if node.duration_us
    ]
    return lines + table(("longest on it", "", ""), rows, left=2)


def _parallelism(stats: JobStats) -> list[str]:
    lines = []
    for finding in stats.parallelism.findings:
        degree = "" if finding.degree is None else f" {finding.degree}"
        groups = f" (group {', '.join(finding.groups[:4])}" if finding.groups else ""
        groups += ", ...)" if len(finding.groups) > 4 else ")" if groups else ""
        lines.append(f"{finding.split}{degree}, {finding.confidence}{groups}")
        lines += [f"  {reason}" for reason in finding.evidence]
    if any(one.unsized for _, _, one in stats.ranks):
        lines.append("communication of unknown size or members: how it splits the work is not told")
    lines = lines or ["no communication between ranks"]
    return lines + stats.parallelism.remarks


def _ratio(stats: RankStats) -> str:
    ratio = stats.average_parallelism
    return "-" if ratio is None else f"{ratio:.2f}"


def _time(micros: int) -> str:
    return format_time(micros * 1000)
