"""Obfuscates a job's files and compares runs of both forms: the makespan may differ by 1 % at
levels 1 and 2, 5 % at 3 and 4.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from yantra.base.errors import ConfigError, YantraError
from yantra.base.output import write_text
from yantra.base.regular import read_regular
from yantra.base.text import count
from yantra.base.units import format_time
from yantra.run.trial import Trial, try_out
from yantra.tracing.inspect.groups import Groups
from yantra.tracing.inspect.rank_traces import RankTrace, rank_path
from yantra.tracing.obfuscate import Obfuscated, obfuscate

if TYPE_CHECKING:
    from yantra.scenario import Scenario

ACCEPTED = {1: 0.01, 2: 0.01, 3: 0.05, 4: 0.05}
_PLACE = "{rank}"
_GRID_NS = 1000


class Targets(NamedTuple):
    """Paths of traces (a `{rank}` pattern), group file and report."""

    traces: str
    groups: str | None = None
    report: str | None = None

    def group_file(self) -> str:
        if self.groups is not None:
            return self.groups
        folder, name = os.path.split(self.traces)
        stem = name.removesuffix(".gz").removesuffix(".et").replace(_PLACE, "").rstrip(".")
        return os.path.join(folder, f"{stem}.groups.json" if stem else "groups.json")


class Difference(NamedTuple):
    """Both forms on one cluster; `share`: relative change of the makespan."""

    before: Trial
    after: Trial
    share: float
    limit: float

    @property
    def accepted(self) -> bool:
        """Whether the makespan changed within the level's limit, or 1 us, the traces' grid."""
        change = abs(self.after.makespan_ns - self.before.makespan_ns)
        return abs(self.share) <= self.limit or change <= _GRID_NS

    def as_dict(self) -> dict[str, Any]:
        return {
            "cluster": self.before.cluster,
            "makespan_before_ns": self.before.makespan_ns,
            "makespan_after_ns": self.after.makespan_ns,
            "makespan_change": self.share,
            "limit": self.limit,
            "accepted": self.accepted,
            "group_bytes_before": self.before.group_bytes,
            "group_bytes_after": self.after.group_bytes,
            "network_bytes_before": self.before.network_bytes,
            "network_bytes_after": self.after.network_bytes,
        }


class ObfuscatedJob(NamedTuple):
    """What was hidden and written; `difference` None: it could not be run."""

    level: int
    hidden: Obfuscated
    difference: Difference | None
    not_run: str
    files: list[str]
    warnings: list[str]

    def as_dict(self) -> dict[str, Any]:
        difference = self.difference
        return {
            "level": self.level,
            "files": self.files,
            "leaks": [leak._asdict() for leak in self.hidden.leaks],
            "simulated": None if difference is None else difference.as_dict(),
            "not_simulated_because": self.not_run or None,
            "remarks": self.hidden.remarks,
        }

    def text(self) -> str:
        lines = [f"level {self.level}: {count(len(self.hidden.traces), 'trace')} written"]
        lines += [f"  {file}" for file in self.files[:4]]
        lines += [f"  and {len(self.files) - 4} more"] if len(self.files) > 4 else []
        lines.append("what still shows")
        for leak in self.hidden.leaks:
            lines.append(f"  {leak.what}: {leak.shows}")
            lines += [f"    {evidence}" for evidence in leak.evidence if evidence]
        return "\n".join([*lines, *self._simulated()]) + "\n"

    def _simulated(self) -> list[str]:
        if self.difference is None:
            return [f"simulated difference: not known: {self.not_run}"]
        found = self.difference
        before, after = (format_time(run.makespan_ns) for run in (found.before, found.after))
        verdict = "accepted" if found.accepted else "more than accepted"
        return [
            f"simulated difference: makespan {before} -> {after} ({found.share:+.2%}, {verdict}: "
            f"at most {found.limit:.0%})",
            f"  cluster: {found.before.cluster}",
            f"  bytes over the network: {sum(found.before.network_bytes)} -> "
            f"{sum(found.after.network_bytes)}",
        ]


def obfuscate_job(
    job: Sequence[RankTrace],
    targets: Targets,
    *,
    level: int,
    key: str,
    epsilon: float | None = None,
    groups: Groups | None = None,
    scenario: Scenario | None = None,
) -> ObfuscatedJob:
    """Obfuscate a job, write its files, run both forms, report.

    `key`: path of a file with the secret, else the secret.
    """
    if _PLACE not in targets.traces and len(job) > 1:
        raise ConfigError("--output", f"expected a pattern with {_PLACE} for {len(job)} traces")
    hidden = obfuscate(job, level=level, key=secret(key), groups=groups, epsilon=epsilon)
    files = _write(hidden, targets)
    difference, not_run = _compare(hidden, scenario, ACCEPTED[level])
    warnings = list(hidden.remarks)
    if difference is not None and not difference.accepted:
        warnings.append(
            f"the makespan changed by {difference.share:+.2%}, more than the accepted "
            f"{difference.limit:.0%}"
        )
    result = ObfuscatedJob(level, hidden, difference, not_run, files, warnings)
    if targets.report is not None:
        import json

        form = json.dumps(result.as_dict(), ensure_ascii=False, indent=1)
        write_text(targets.report, form + "\n")
    return result


def secret(key: str) -> bytes:
    """Content of the file `key`, else the text."""
    if not os.path.isfile(key):
        return key.encode()
    try:
        held = read_regular(key)
    except OSError as error:
        raise ConfigError("--key", f"{key}: cannot be read: {error.strerror}") from None
    if not held:
        raise ConfigError("--key", f"{key}: is empty; expected a secret in it")
    return held


def _write(hidden: Obfuscated, targets: Targets) -> list[str]:
    files = []
    for rank, trace in hidden.traces.items():
        files.append(rank_path(targets.traces, rank))
        trace.write(files[-1])
    if hidden.groups:
        import json

        rows = ",\n".join(
            f" {json.dumps(name)}: {json.dumps(list(ranks))}"
            for name, ranks in hidden.groups.items()
        )
        files.append(targets.group_file())
        write_text(files[-1], f"{{\n{rows}\n}}\n")
    return files


def _compare(
    hidden: Obfuscated, scenario: Scenario | None, limit: float
) -> tuple[Difference | None, str]:
    ranks = sorted(hidden.traces)
    if len(ranks) > 1 and ranks != list(range(len(ranks))):
        return None, "the job's other ranks are not here"
    sides = (hidden.originals, hidden.old_groups), (hidden.traces, hidden.groups)
    try:
        before, after = (
            try_out([traces[rank] for rank in ranks], groups, scenario) for traces, groups in sides
        )
    except YantraError as error:
        return None, str(error).splitlines()[0]
    change = after.makespan_ns / before.makespan_ns - 1 if before.makespan_ns else 0.0
    return Difference(before, after, change, limit), ""
