"""The link report as lines for a reader."""

from __future__ import annotations

from yantra.base.text import count
from yantra.tracing.pytorch.linked import Linked, LinkReport


def lines(linked: Linked) -> list[str]:
    report = linked.report
    found = [
        f"rank {linked.rank} of {linked.world_size}: {report.operators} operators, "
        f"{report.matched} with times; {report.device_ops} device ops",
        *_nested_lines(report),
        *_device_lines(report),
        *_wait_lines(report),
    ]
    flows = dict.fromkeys(("fwdbwd", "thread"), 0)
    for flow in linked.flows:
        flows[flow.kind] = flows.get(flow.kind, 0) + 1
    if linked.flows:
        found.append(
            f"flows: {flows['fwdbwd']} forward to backward, {flows['thread']} between threads"
        )
    if linked.groups:
        names = [f"'{group.name}' of {len(group.ranks)} ranks" for group in linked.groups]
        found.append(f"process groups: {', '.join(names)}")
    return found


def warnings(report: LinkReport) -> list[str]:
    counts = {
        "operators not in the device trace": report.unmatched,
        "operators with a parent that is not in the host trace": report.missing_parents,
        "operators of the device trace that are not in the host trace": report.unclaimed,
        "device ops with neither a launch call nor an operator": report.orphans,
        "of these, kernels of collectives without a correlation number, which fit no launch call "
        "by their order either": report.unnumbered,
        "blocking calls that do not say what they waited for": report.waits_unexplained,
        "unexplained calls of cudaStreamWaitEvent": report.stream_waits_unexplained,
        "times that contradict the order of causes": report.clock_problems,
    }
    said = [f"{what}: {number}" for what, number in counts.items() if number]
    said += _lost(report)
    unread = [
        f"events of the category '{name}', which is not read: {number}"
        for name, number in sorted(report.unread.items())
    ]
    unread += [
        f"{count(number, 'event')} without a category on '{name}', not read"
        for name, number in sorted(report.uncategorised.items())
    ]
    return [*said, *unread, *report.balance.problems(), *report.problems]


def _lost(report: LinkReport) -> list[str]:
    said = []
    if report.by_order:
        said.append(
            f"kernels of collectives without a correlation number, paired with the launch calls of "
            f"their stream by order: {report.by_order}"
        )
    empty = report.launches_empty + report.copies_empty
    if report.launches_empty:
        shows = "the host alone" if empty == report.launches else "no work of the device for them"
        said.append(
            f"{empty} of {count(report.launches, 'launch call')} have no kernel or copy: the "
            f"device's records of them are missing, and a replay shows {shows}"
        )
    elif empty:
        said.append(
            f"{empty} of {count(report.launches, 'launch call')} copy or fill and have no record "
            "on the device: either there was nothing to move, or the records are missing"
        )
    return said


def _nested_lines(report: LinkReport) -> list[str]:
    if not report.nested:
        return []
    return ["no host trace: operators nest by their times in the device trace"]


def _device_lines(report: LinkReport) -> list[str]:
    if not report.device_ops:
        return []
    paired = f", {report.by_order} by the order of launches" if report.by_order else ""
    paired += f", {report.by_flow} by a flow from the host" if report.by_flow else ""
    return [
        f"device ops: {report.by_correlation} attached by launch call, "
        f"{report.by_external_id} by External id, {report.outside} launched outside operators, "
        f"{report.orphans} orphans{paired}"
    ]


def _wait_lines(report: LinkReport) -> list[str]:
    found = []
    if report.waits:
        found.append(
            f"blocking calls: {report.waits}, {report.waits_explained} explained, "
            f"{report.waits_idle} had nothing to wait for, {report.waits_unexplained} unexplained"
        )
    if report.stream_waits:
        found.append(
            f"waits of streams: {report.stream_waits}, {report.stream_waits_explained} explained, "
            f"{report.stream_waits_idle} had nothing to wait for, "
            f"{report.stream_waits_unexplained} unexplained"
        )
    return found
