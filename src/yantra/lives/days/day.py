"""`yantra day`: a trace's jobs on a cluster: who waits, what is used, and what is useful.

With a job file, jobs of more than one host train it, and those that cross pods take the step of
`yantra run` with their share of the outermost bandwidth. Trade-off: between all of it and what
oversubscription leaves, steps are taken to be linear in its inverse. The job's step says what GPUs
draw that jobs hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from yantra.base.errors import ConfigError, YantraError, did_you_mean, expected_got, hint
from yantra.lives.days.energy import Drawn, drawn, usd_of
from yantra.lives.days.hosts import Hosts
from yantra.lives.days.play import Day, Ran, Rules, play
from yantra.lives.days.traces import Trace, read

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from yantra.asked import Prediction
    from yantra.base.documents import Path
    from yantra.workloads.job_file import Request

__all__ = ["Answer", "day"]

POLICIES = ("fifo", "backfill", "shortest")
_MOST_GPUS = 1 << 20
_SHOWN = 8  # owners


class Answer(NamedTuple):
    """A day, and what it was made from."""

    cluster: str
    """Its name."""
    trace: Trace
    """What was read."""
    day: Day
    """What jobs did."""
    rules: Rules
    """By which."""
    too_large: int
    """Jobs of more GPUs than there are, which are left out."""
    slowdowns: dict[int, float] | None
    """By GPUs, steps with the least share of the bandwidth over steps alone."""
    drawn: Drawn | None
    """Its energy; None if the cluster states no power."""
    usd: float | None
    """Of all GPUs; None if it states no price."""

    @property
    def utilisation(self) -> float:
        """Share of GPU time that jobs held."""
        return self.day.busy / (self.day.gpus * self.day.window)

    @property
    def goodput(self) -> float:
        """Share of GPU time that was useful: not redone, restarted or slowed."""
        held = sum(one.held * one.job.gpus for one in self.day.ran)
        work = sum(one.job.work * one.job.gpus for one in self.day.ran)
        return self.utilisation * (work / held if held else 1.0)

    @property
    def fragmented(self) -> float:
        """Share of GPU time that was free though the first job wanted no more."""
        return self.day.fragmented / (self.day.gpus * self.day.window)


def day(
    trace: Path,
    *,
    cluster: str,
    gpus: int,
    policy: str = "backfill",
    job: Path | None = None,
    quotas: Mapping[str, int] | None = None,
    hours: float = 24.0,
    after: float = 0.0,
    host_gpus: int = 8,
    pod: int = 0,
    oversubscription: float = 1.0,
    checkpoint: float = 1800.0,
    restart: float = 600.0,
) -> Answer:
    """Run jobs of some hours of a trace; `pod` in hosts, times in s. Raises ConfigError."""
    from yantra.fabric.clusters import load

    machine = load(cluster)
    if policy not in POLICIES:
        expected = expected_got(f"one of {', '.join(POLICIES)}", policy)
        raise ConfigError("--policy", expected + hint(policy, POLICIES))
    _check("--set hours", hours, 1e-3, 1e5)
    _check("--set after", after, 0.0, 1e6)
    _check("--set oversubscription", oversubscription, 1.0, 1e3)
    _check("--set checkpoint", checkpoint, 1.0, 1e9)
    _check("--set restart", restart, 0.0, 1e9)
    _check("--set host_gpus", host_gpus, 1, 1024)
    _check("--set pod", pod, 0, _MOST_GPUS)
    if not host_gpus <= gpus <= _MOST_GPUS or gpus % host_gpus:
        raise ConfigError("--gpus", expected_got(f"whole hosts of {host_gpus} GPUs", gpus))
    if oversubscription > 1.0 and not pod:
        raise ConfigError("--set oversubscription", "is of pods; give --set pod=32 hosts")
    found = read(trace, hours, after)
    _check_quotas(quotas or {}, {one.owner for one in found.jobs}, gpus)
    fits = [one for one in found.jobs if one.gpus <= gpus]
    if not fits:
        raise ConfigError("--gpus", f"every job of {trace} needs more than {gpus}")
    slowdowns: dict[int, float] | None = None
    sizes = sorted({one.gpus for one in fits})
    if job is not None and oversubscription > 1.0:
        several = [size for size in sizes if size > host_gpus]
        slowdowns = slowdowns_of(job, cluster, several, oversubscription)
    rules = Rules(policy, dict(quotas or {}), checkpoint, restart, oversubscription)  # type: ignore[arg-type]

    def slowdown(of: int, share: float) -> float:
        worst = (slowdowns or {}).get(of, 1.0)
        return 1.0 + (worst - 1.0) * (1.0 / share - 1.0) / (oversubscription - 1.0)

    hosts = Hosts(gpus // host_gpus, host_gpus, int(pod))
    ran = play(fits, hosts, rules, hours * 3600.0, slowdown)
    held_w = None if job is None else _held_w(job, cluster, sizes)
    left, told = len(found.jobs) - len(fits), drawn(ran, machine, held_w)
    return Answer(
        machine.name, found, ran, rules, left, slowdowns, told, usd_of(ran, machine)
    )  # fmt: skip


def slowdowns_of(
    job: Path, cluster: str, sizes: list[int], oversubscription: float
) -> dict[int, float]:
    """Steps of a job with 1/oversubscription of the outermost bandwidth, over those with all.

    Sizes that the job's plan cannot have are left out.
    """
    from yantra.workloads import job_file

    request = job_file.read(job)
    found = {}
    for size in sizes:
        try:
            alone = _step(request, cluster, size, 1.0).time_s
        except ConfigError:
            continue
        slow = _step(request, cluster, size, oversubscription).time_s
        found[size] = max(slow / alone, 1.0)
    if sizes and not found:
        raise _of_none(job, sizes)
    return found


def _of_none(job: Path, sizes: list[int]) -> ConfigError:
    listed = ", ".join(map(str, sizes))
    return ConfigError("--job", f"{job} can be of none of the trace's sizes: {listed} GPUs")


def _held_w(job: Path, cluster: str, sizes: list[int]) -> float | None:
    """What a GPU draws in the job's steps, at the largest size that it can have."""
    from yantra.workloads import job_file

    request = job_file.read(job)
    for size in reversed(sizes):
        try:
            said = _step(request, cluster, size, 1.0)
        except YantraError:
            continue
        of = said.result.energy
        return None if of is None else of.device_j / of.seconds / of.devices
    raise _of_none(job, sizes)


def _step(request: Request, cluster: str, gpus: int, oversubscription: float) -> Prediction:
    from yantra.asked import Prediction
    from yantra.run.simulate import simulate
    from yantra.scenario.on_cluster import on_cluster

    source = {} if request.source is None else {request.source[0]: request.source[1]}
    plan = {name: value for name, value in request.plan.items() if name not in ("ranks", "dp")}
    workload: dict[str, Any] = {
        "model": {**source, **request.sizes},
        "plan": {**plan, "ranks": gpus},
    }
    if request.sequence is not None:
        workload["sequence"] = request.sequence
    scenario = on_cluster(workload, cluster)
    if oversubscription > 1.0:
        last = len(scenario.topology.dimensions) - 1
        rate = scenario.topology.dimensions[last].bytes_per_ns / oversubscription
        name = f"cluster.topology[{last}].bandwidth"
        scenario = on_cluster(workload, cluster, settings={name: f"{rate:.6f} B/ns"})
    return Prediction(simulate(scenario))


def _check_quotas(quotas: Mapping[str, int], owners: Collection[str], gpus: int) -> None:
    for owner, most in quotas.items():
        if owner not in owners:
            some = (
                ", ".join(sorted(filter(None, owners))[:_SHOWN]) or "none, as the trace names none"
            )
            problem = f"no job is of {owner}{did_you_mean(owner, owners)}; owners: {some}"
            raise ConfigError("--quota", problem)
        if most > gpus:
            raise ConfigError("--quota", f"{owner} may have {most} GPUs, of {gpus}")


def _check(where: str, value: float, least: float, most: float) -> None:
    if not isinstance(value, int | float) or not least <= value <= most:
        raise ConfigError(where, expected_got(f"a number from {least:g} to {most:g}", value))


def sizes_of(ran: tuple[Ran, ...], host_gpus: int) -> dict[str, list[Ran]]:
    """Jobs by size: of a GPU, of a host, of several."""
    classes: dict[str, list[Ran]] = {"1 GPU": [], "to a host": [], "several hosts": []}
    for one in ran:
        at = 0 if one.job.gpus == 1 else 1 if one.job.gpus <= host_gpus else 2
        list(classes.values())[at].append(one)
    return {name: of for name, of in classes.items() if of}
