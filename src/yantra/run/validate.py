"""Checks a scenario or ASTRA-sim's inputs.

Jobs of up to MOST_EVENTS events are run to see whether they end; larger ones are played without
time and limits (`freest.py`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from yantra import chakra
from yantra.astra_sim.flags import NETWORKS, Flags
from yantra.astra_sim.groups import read_groups
from yantra.astra_sim.memory import read_memory
from yantra.astra_sim.network import read_network
from yantra.astra_sim.places import in_files
from yantra.astra_sim.system import SystemOptions, read_system
from yantra.base.documents import Path
from yantra.base.errors import CapacityError, ConfigError, DeadlockError, YantraError
from yantra.base.regular import read_regular
from yantra.base.text import rank_list
from yantra.compile import Model, compile
from yantra.run.freest import stuck
from yantra.run.unmatched import unmatched
from yantra.run.work import Work, check_work
from yantra.scenario import Case, ChakraFiles, Scenario
from yantra.scenario.text import placed

MOST_EVENTS = 2_000_000
"""Jobs of up to so many events and packets are run: a second or two."""

_PACKET_BYTES = 1024
_ENOUGH = 100_000  # missing traces


class Finding(NamedTuple):
    """A line of a report."""

    severity: Literal["error", "warning"]
    """With an error a run would not start, or not end."""
    text: str
    """What was found, and where."""


class Report:
    """What was found; `ranks`, `nodes`: looked at, 0 if unreadable.

    `work`: a run's cost, for valid inputs; `tried`: whether it was run.
    """

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        """What was found."""
        self.ranks = 0
        """Ranks looked at."""
        self.nodes = 0
        """Nodes looked at."""
        self.work: Work | None = None
        """A run's cost; None for invalid inputs."""
        self.tried = False
        """Whether the job was run to its end, or its obstacle."""
        self.exit_code = 0
        """Exit status of `yantra validate`."""

    @property
    def valid(self) -> bool:
        """Whether a run would start and, as far as known, end."""
        return self.exit_code == 0

    def warn(self, texts: list[str]) -> None:
        """Add warnings."""
        self.findings += [Finding("warning", text) for text in texts]

    def fail(self, error: YantraError) -> None:
        """Add an error by lines; wrong input outweighs unsupported."""
        self.findings += [Finding("error", line) for line in str(error).splitlines()]
        self.exit_code = 2 if self.exit_code == 2 else error.exit_code

    def attempt(self, read: Callable[[], Any]) -> Any:
        """What `read` returns; None, with a finding, for an error."""
        try:
            return read()
        except YantraError as error:
            self.fail(error)
            return None


def check_scenario_file(given: Path | Case) -> Report:
    """Check a scenario file, a workload on a cluster, or a list of jobs."""
    from yantra.scenario import load
    from yantra.scenario.recognise import recognise

    path, cluster, settings = given if isinstance(given, Case) else Case(given)
    report = Report()
    kind = report.attempt(lambda: recognise(path).kind)
    if kind == "jobs" and cluster is None:
        _check_jobs(report, path, settings)
    elif kind is not None:
        scenario = report.attempt(lambda: load(path, cluster=cluster, settings=settings))
        if scenario is not None:
            _check_workload(report, scenario, lambda error: placed(error, os.fspath(path)))
    return report


def _check_jobs(report: Report, path: Path, settings: Mapping[str, Any] | None) -> None:
    from yantra.run.together import compiled, simulate
    from yantra.scenario.jobs import load as load_jobs

    jobs = report.attempt(lambda: load_jobs(path, settings))
    model = None if jobs is None else report.attempt(lambda: compiled(jobs))
    if model is None:
        return
    report.warn([*jobs.warnings, *model.warnings])
    report.ranks = model.ranks
    report.nodes = sum(map(len, model.graphs.with_arriving()))
    if report.nodes * model.ranks <= MOST_EVENTS:
        report.tried = True
        report.attempt(lambda: simulate(jobs))


def check_astra_sim(flags: Flags, read: Callable[[Flags], tuple[Scenario, list[str]]]) -> Report:
    """Check an ASTRA-sim command line; `read` makes its scenario."""
    report = Report()
    try:
        scenario, warnings = read(flags)
    except YantraError as error:
        _check_each_file(report, flags)
        if report.valid:
            report.fail(error)
        return report
    report.warn(warnings)
    files = {"network": flags.network, "system": flags.system, "memory": flags.memory}
    _check_workload(report, scenario, lambda error: in_files(error, files))
    return report


def _check_each_file(report: Report, flags: Flags) -> None:
    # Most files need the size of the network.
    network = NETWORKS[flags.network_backend]
    read = report.attempt(lambda: read_network(flags.network, network))
    if read is None:
        return
    topology = read[0]
    options = SystemOptions(
        dimensions=len(topology.dimensions),
        num_queues_per_dim=flags.num_queues_per_dim,
        injection_scale=flags.injection_scale,
        scheduling_keys=flags.scheduling_keys,
    )
    readers: list[Callable[[], Any]] = [
        lambda: read_system(flags.system, options),
        lambda: read_memory(flags.memory, topology.ranks),
    ]
    if "empty" not in flags.groups:
        readers.append(lambda: read_groups(flags.groups, topology.ranks))
    for reader in readers:
        found = report.attempt(reader)
        report.warn(found[1] if found else [])
    errors = _check_traces(report, ChakraFiles(prefix=flags.workload), topology.ranks)
    report.findings += [Finding("error", text) for text in errors]


def _check_workload(
    report: Report,
    scenario: Scenario,
    named: Callable[[ConfigError], ConfigError] = lambda error: error,
) -> None:
    report.ranks = scenario.topology.ranks
    errors: list[str] = []
    if isinstance(scenario.workload, ChakraFiles):
        errors = _check_traces(report, scenario.workload, report.ranks)
    try:
        model = compile(scenario)
    except YantraError as error:
        if errors:
            report.findings += [Finding("error", text) for text in errors]
            report.exit_code = error.exit_code
        else:
            report.fail(named(error) if isinstance(error, ConfigError) else error)
        return
    lack = f"workload: {model.lacks_memory}"  # a run refuses it
    report.warn([text for text in model.warnings if text != lack])
    report.warn([f"{text} (this scenario does not need it)" for text in errors])
    report.nodes = sum(len(model.graphs.of(rank)) for rank in range(model.ranks))
    if model.lacks_memory:
        report.fail(CapacityError("workload", model.lacks_memory))
        return
    report.work = report.attempt(lambda: check_work(model))
    if report.work is not None:
        _try(report, model, report.work)


def _try(report: Report, model: Model, work: Work) -> None:
    from yantra.run.simulate import run

    level = model.level
    by_packet = level.has("has_headers") or level.model is not None or not level.runs_by_name
    packets = work.bytes_moved // _PACKET_BYTES if by_packet else 0
    if work.events + packets <= MOST_EVENTS:
        report.tried = True
        result = report.attempt(lambda: run(model))
        report.warn(list(result.run_warnings) if result is not None else [])
        return
    errors, warnings = unmatched(model)
    report.warn(warnings)
    errors = errors or stuck(model)
    if errors:
        report.fail(DeadlockError("\n".join(errors)))


def _check_traces(report: Report, workload: ChakraFiles, ranks: int) -> list[str]:
    errors = []
    missing: list[int] = []
    seen = set()
    for rank in range(ranks):
        path = workload.path(rank)
        try:
            content = read_regular(path)
            if content in seen:
                continue
            seen.add(content)
            findings = chakra.validate(content)
        except FileNotFoundError:
            missing.append(rank)
            if len(missing) == _ENOUGH:  # a cluster may have any number of ranks
                break
            continue
        except OSError as error:
            errors.append(f"{path}: cannot be read: {error.strerror}")
            continue
        except YantraError as error:
            errors.append(f"{path}: {error}")
            continue
        for finding in findings:
            text = f"{path}: {finding.where}: {finding.message}"
            if finding.severity == "error":
                errors.append(text)
            else:
                report.warn([text])
    if missing:
        errors.append(_missing(workload, missing, ranks))
    return errors


def _missing(workload: ChakraFiles, missing: list[int], ranks: int) -> str:
    from yantra.chakra.rank_files import no_such_file, only_some

    pattern = f"{workload.prefix}.{{rank}}.et"
    if len(missing) == 1 or only_some(pattern):
        return f"{workload.path(missing[0])}: {no_such_file(pattern, ranks)}"
    whose = "any" if len(missing) == ranks else f"ranks {rank_list(missing)}"
    if len(missing) == _ENOUGH < ranks:
        whose = f"rank {missing[0]} and {_ENOUGH - 1} or more others"
    return (
        f"{workload.prefix}.{{rank}}.et: no such file for {whose} of the {ranks} ranks of the "
        "cluster"
    )
