"""A job, its cluster and its days: what a life is played from.

The step's time and its interval are those of `yantra run` for the job; a checkpoint has weights and
optimizer state, 14 bytes a parameter, and goes to hosts over their links and on to the storage.
"""

from __future__ import annotations

from math import ceil, log
from typing import TYPE_CHECKING, Any, NamedTuple

from yantra.asked import Prediction
from yantra.base.errors import CapacityError, ConfigError, expected_got
from yantra.fabric.failures import Rates
from yantra.fabric.failures import load as load_rates
from yantra.lives.draws import DAY_NS, NS, Events, drawn
from yantra.lives.energy import Draws, draws_of
from yantra.lives.policy import NEVER, Policy
from yantra.lives.settings import Settings, made

if TYPE_CHECKING:
    from collections.abc import Mapping

    from yantra.base.documents import Path
    from yantra.fabric.clusters.types import Cluster
    from yantra.workloads.job_file import Request

_NINETY = 1.6448536269514722  # spreads of a normal on either side of 90 %
_MOST_DAYS = 20_000.0
_MOST_EVENTS = 5_000_000
_MOST_HOSTS = 20_000_000


class Job(NamedTuple):
    """A job as a life sees it; times in ns, sizes in bytes."""

    title: str
    gpus: int
    hosts: int
    groups: int
    """Replicas, each of which has all weights."""
    step: float
    spread: float
    """Of the logarithm of the step's time."""
    tokens: int
    """Of a step."""
    mfu: float | None
    pause: int
    """For which a checkpoint blocks training while it goes to hosts."""
    store: int
    """For which it goes to the storage."""
    share: int
    """For which copies go to other hosts' memory."""
    rests_on: str | None = None
    draws: Draws | None = None


class Question(NamedTuple):
    job: Job
    cluster: Cluster
    days: float
    rates: Rates
    settings: Settings

    @property
    def horizon(self) -> int:
        return round(self.days * DAY_NS)

    def events(self) -> Events:
        of = self.settings
        return drawn(self.rates, self.job.hosts, self.horizon, of.lives, of.seed, self.job.spread)

    def policy(self, tau: int, spares: int, **changes: Any) -> Policy:
        """What the settings say, with `tau` ns of training or more."""
        of, rates, job = self.settings._replace(**changes), self.rates, self.job
        stall = job.store if of.checkpoint == "sync" else job.pause
        save = {"sync": job.store, "memory": job.pause + job.share}
        held = save.get(of.checkpoint, max(job.store, job.pause))
        tau = self.whole_steps(max(tau, held - stall))
        if of.checkpoint == "none":
            tau, stall, held = NEVER, 0, 0
        every = ceil(job.store / (tau + stall)) if of.checkpoint == "memory" else 1
        return Policy(
            tau=tau,
            block=stall,
            save=held,
            store_every=max(every, 1),
            spares=spares,
            queue=NEVER if of.queue is None else round(of.queue * NS),
            groups=job.groups if of.elastic and job.groups > 1 else 0,
            reconfigure=round(rates.reconfigure.value * NS),
            in_place=rates.recoverable.value if of.in_place else 0.0,
            foreseen=of.foreseen,
            move=round((of.move or 0.0) * NS),
            notice=round((of.notice or rates.notice.value) * NS) if of.evict else NEVER,
            slower=rates.slower.value,
        )

    def whole_steps(self, tau: int) -> int:
        """Round up to whole steps."""
        return round(max(ceil(tau / self.job.step), 1) * self.job.step)


def asked(
    job: Path | Mapping[str, Any],
    cluster: str,
    *,
    gpus: int,
    days: float,
    stack: str | None = None,
    rates: Path = "fleets",
    **settings: Any,
) -> Question:
    """Read and check a question, and run the job's step. Raises ConfigError, CapacityError."""
    from yantra.fabric.clusters import load

    said = made(**settings)
    if not isinstance(days, int | float) or not 0.0 < days <= _MOST_DAYS:
        raise ConfigError("--days", expected_got(f"a number above 0, up to {_MOST_DAYS:g}", days))
    machine, file = load(cluster), load_rates(rates, where="--rates")
    if said.restart is not None:
        file = file._replace(restart_low=_yours(said.restart), restart_high=_yours(said.restart))
    if gpus % file.host_gpus:
        problem = f"the rates are of hosts of {file.host_gpus} GPUs"
        raise ConfigError("--gpus", f"{expected_got('whole hosts', gpus)}; {problem}")
    _check_amounts(said, file, gpus, days)
    request = _request(job)
    ran = _ran(request, cluster, machine, gpus, stack)
    found = Question(_job(request, ran, machine, gpus, file, said), machine, days, file, said)
    if said.interval is not None and found.policy(0, 0).tau > said.interval * NS:
        least = found.policy(0, 0).tau / NS
        problem = "a step, and until the checkpoint before is safe"
        raise ConfigError("--set interval", f"must be at least {least:.4g} s: {problem}")
    return found


def _check_amounts(said: Settings, rates: Rates, gpus: int, days: float) -> None:
    """Raise ConfigError for what takes too much memory."""
    events = rates.per_host_day * gpus / rates.host_gpus * days
    if events * said.lives > _MOST_EVENTS:
        problem = f"{events:,.0f} interruptions of each of {said.lives:,} lives"
        raise ConfigError("--set lives", f"{problem} are over {_MOST_EVENTS:,}; take fewer")
    if said.lives * ((said.spares or 0) + 1) > _MOST_HOSTS:
        problem = f"{said.spares} of each of {said.lives:,} lives are over {_MOST_HOSTS:,} hosts"
        raise ConfigError("--set spares", f"{problem}; take fewer")


def _request(job: Path | Mapping[str, Any]) -> Request:
    from collections.abc import Mapping
    from os import fspath

    from yantra.workloads import job_file

    if isinstance(job, Mapping):
        return job_file.request_of(dict(job), "job", "")
    return job_file.read(fspath(job))


def _ran(request: Request, name: str, machine: Cluster, gpus: int, stack: str | None) -> Prediction:
    from yantra.run.simulate import simulate
    from yantra.scenario.on_cluster import on_cluster
    from yantra.workloads.plan.plan import Plan

    plan = dict(request.plan)
    stated = plan.pop("ranks", gpus)
    if stated != gpus:
        raise ConfigError("--gpus", f"the job is of {stated} ranks; got {gpus}")
    plan["ranks"] = gpus
    source = {} if request.source is None else {request.source[0]: request.source[1]}
    workload: dict[str, Any] = {"model": {**source, **request.sizes}, "plan": plan}
    if request.sequence is not None:
        workload["sequence"] = request.sequence
    try:
        Plan.of(plan)
    except ConfigError as error:
        where = "--gpus" if error.where == "ranks" else f"plan.{error.where}"
        raise type(error)(where, error.problem) from None
    try:
        return Prediction(simulate(on_cluster(workload, name, stack=stack)))
    except CapacityError as error:
        problem = error.problem.partition(", or run it all the same")[0]  # of another command
        raise CapacityError(error.where, problem) from None
    except ConfigError as error:
        raise type(error)(error.where.removeprefix("workload."), error.problem) from None


def _job(
    request: Request, ran: Prediction, machine: Cluster, gpus: int, rates: Rates, said: Settings
) -> Job:
    from yantra.rl.phases.around import checkpoint_s, sizes_of, slowest_link
    from yantra.workloads import job_file
    from yantra.workloads.plan.plan import Plan

    made_of = job_file.resolve(request)
    sizes = sizes_of(made_of.model)
    plan = Plan.of({**request.plan, "ranks": gpus})
    storage = said.storage or rates.storage.value * gpus
    out = checkpoint_s(sizes, 1, machine.host_bandwidth.value * gpus)
    across = checkpoint_s(sizes, 1, slowest_link(machine, gpus) * gpus)
    interval = ran.interval_s
    spread = 0.0 if interval is None else log(interval[1] / interval[0]) / (2.0 * _NINETY)
    return Job(
        title=f"{made_of.model.name} on {gpus:,} {machine.device}",
        gpus=gpus,
        hosts=gpus // rates.host_gpus,
        groups=plan.dp,
        step=ran.time_s * NS,
        spread=spread,
        tokens=ran.figures.tokens or 0,
        mfu=ran.mfu,
        pause=round(max(out, rates.pause.value) * NS),
        store=round(checkpoint_s(sizes, 1, storage) * NS),
        share=round(across * NS),
        rests_on=ran.rests_on,
        draws=draws_of(ran.result.energy, said),
    )


def _yours(seconds: float) -> Any:
    from yantra.fabric.clusters.types import Number

    return Number(value=seconds, unit="s", written=f"{seconds:g} s", source="yours", basis="yours")
