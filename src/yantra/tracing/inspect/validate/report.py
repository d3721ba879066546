"""`Report`: findings on a job, with a stable code and advice each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from yantra.tracing.inspect.groups import Groups

if TYPE_CHECKING:
    from yantra.chakra.trace import Trace

Severity = Literal["error", "warning"]

_KEPT = 20
_SHOWN = 5

ADVICE = {
    "unreadable": "give a Chakra trace, plain or packed with gzip",
    "malformed": "the file is damaged or no Chakra trace; write it again",
    "no-nodes": "give the rank something to do, or leave it out of the job",
    "unknown-field": "convert the trace to today's layout with yantra chakra rewrite",
    "duplicate-id": "give every node an id of its own",
    "dangling-dependency": "write the missing node, or remove the dependency",
    "cycle": "remove one of the dependencies of the cycle",
    "unknown-node-type": "use a node type of the schema, 0 to 7",
    "missing-attribute": "write the attribute; simulators cannot guess it",
    "unknown-collective": "use a collective of the schema, 0 to 9",
    "communication-on-cpu": "set is_cpu_op to false, or make the node a COMP node",
    "negative-size": "write sizes and operations as whole numbers of at least 0",
    "attribute-type": "write the attribute with the type of the schema",
    "attribute-value": "write a value of the schema",
    "rank-missing": "give the traces of ranks 0 to n-1, one each",
    "groups-not-given": "give the group file with --groups, so that membership can be checked",
    "unknown-group": "define the group in the group file, or correct pg_name",
    "rank-not-in-group": "add the rank to the group, or correct pg_name",
    "group-out-of-range": "remove the ranks that the job does not have from the group",
    "groups-disagree": "name different groups differently; simulators know one list of groups",
    "groups-differ-from-file": "write the group file again from these traces",
    "collective-mismatch": "let all ranks of a group enter the same collectives in the same order",
    "collective-size-mismatch": "let all ranks of a collective give the same comm_size",
    "collective-missing": "add the collective to the rank, or remove it from the others",
    "receive-without-send": "add the send, or remove the receive, which could never end",
    "send-without-receive": "add the receive, or remove the send",
    "message-size-mismatch": "give both ends of the message the same comm_size",
    "message-tag-mismatch": "give both ends of the message the same comm_tag",
    "message-size-order": "order sends and receives alike, or use different tags",
    "self-message": "remove the message, or correct its peer",
    "peer-out-of-range": "correct the peer, or give the traces of all ranks",
    "wrong-own-rank": "set the trace's own end to its rank, or leave it out",
    "deadlock": "order the communications of these ranks alike",
    "deadlock-under-rendezvous": "let one of the ranks receive before it sends",
    "order-left-to-timing": "add dependencies, so that all ranks keep one order at any speed",
    "deadlock-in-trial": "order the communications of these ranks alike",
    "skipped-node-has-children": "remove the node and let its children wait for its parents",
    "absurd-duration": "correct the duration; it counts microseconds",
    "durations-differ": "write the same time in both; simulators take one or the other",
    "absurd-start": "correct the start; it counts microseconds",
    "starts-before-dependency-ends": "correct the times, or remove the dependency",
    "starts-before-dependency-starts": "correct the times, or remove the dependency",
    "clock-skew": "shift the rank's times by the difference before comparing ranks",
    "absurd-bandwidth": "check comm_size (bytes per rank) and the duration (us)",
    "unsupported-collective": "replace it by ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER or ALL_TO_ALL",
    "upstream-refuses-node": "remove or replace it if upstream ASTRA-sim is to run the trace",
    "upstream-refuses-collective": "replace it if upstream ASTRA-sim is to run the trace",
    "upstream-refuses-file": "keep the trace from upstream ASTRA-sim, or correct it",
    "group-name-not-a-number": "name groups by positive whole numbers",
    "involved-dim-empty": "set at least one entry of involved_dim",
    "packed-for-astra-sim": "unpack it; ASTRA-sim reads <prefix>.<rank>.et, not packed",
    "needs-remote-memory": "give the cluster remote memory (memory configuration)",
    "nothing-to-time": "record durations, or run it with a roofline (num_ops, tensor_size)",
}
"""What to do about each finding; the keys are all codes."""


class Finding(NamedTuple):
    """`rank` and `node_id` are None when not about one."""

    severity: Severity
    code: str
    section: str
    rank: int | None
    node_id: int | None
    name: str
    text: str
    left_out: int = 0

    @property
    def advice(self) -> str:
        return ADVICE[self.code]

    def as_dict(self) -> dict[str, Any]:
        return self._asdict() | {"advice": self.advice}

    def __str__(self) -> str:
        where = "" if self.rank is None else f"rank {self.rank}: "
        where += "" if self.node_id is None else f"node {self.node_id} {_short(self.name)!r}: "
        return f"{self.severity}: {where}{self.text} [{self.code}]"


class Report:
    """Findings in check order; `remarks`: assumptions and what was not checked.

    `load` reads the traces by rank if the job is whole; `groups`: members used.
    """

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.remarks: list[str] = []
        self.ranks = 0
        self.nodes = 0
        self.load: Callable[[], list[Trace]] | None = None
        self.groups: Groups = {}
        self._tally: Counter[str] = Counter()
        self._last: dict[str, int] = {}

    @property
    def valid(self) -> bool:
        return not any(finding.severity == "error" for finding in self.findings)

    @property
    def left_to_timing(self) -> bool:
        return bool(self.codes & {"order-left-to-timing", "skipped-node-has-children"})

    @property
    def exit_code(self) -> int:
        return 0 if self.valid else 2

    @property
    def codes(self) -> set[str]:
        return {finding.code for finding in self.findings}

    def add(self, finding: Finding) -> None:
        self._tally[finding.code] += 1
        if self._tally[finding.code] <= _KEPT:
            self._last[finding.code] = len(self.findings)
            self.findings.append(finding)
            return
        place = self._last[finding.code]
        last = self.findings[place]
        self.findings[place] = last._replace(left_out=last.left_out + 1)

    def take(self, findings: Iterable[Finding]) -> None:
        """Add the findings of a report on a part."""
        for finding in findings:
            self.add(finding._replace(left_out=0))
            if finding.left_out:
                place = self._last[finding.code]
                last = self.findings[place]
                self.findings[place] = last._replace(left_out=last.left_out + finding.left_out)
                self._tally[finding.code] += finding.left_out

    def remark(self, text: str) -> None:
        if text not in self.remarks:
            self.remarks.append(text)

    def as_dict(self) -> dict[str, Any]:
        return {
            "valid": self.valid,
            "exit_code": self.exit_code,
            "ranks": self.ranks,
            "nodes": self.nodes,
            "findings": [finding.as_dict() for finding in self.findings],
            "remarks": self.remarks,
        }

    def text(self) -> str:
        from yantra.base.text import count

        by_code: dict[tuple[bool, str], list[Finding]] = {}
        for finding in self.findings:
            by_code.setdefault((finding.severity != "error", finding.code), []).append(finding)
        lines = []
        for key in sorted(by_code, key=lambda key: key[0]):
            found = by_code[key]
            lines += [str(finding) for finding in found[:_SHOWN]]
            more = len(found) - _SHOWN + found[-1].left_out
            if len(found) > _SHOWN:
                lines[-1] += f" (and {more} more of this kind)"
            lines.append(f"  what to do: {found[0].advice}")
        lines += [f"note: {remark}" for remark in self.remarks]
        errors = sum(finding.severity == "error" for finding in self.findings)
        counts = count(len(self.findings) - errors, "warning")
        if errors:
            lines.append(f"{count(errors, 'error')}, {counts}")
        else:
            lines.append(f"valid: {count(self.ranks, 'rank')}, {self.nodes} nodes; {counts}")
        return "\n".join(lines) + "\n"


def _short(name: str) -> str:
    return name if len(name) <= 60 else name[:57] + "..."
