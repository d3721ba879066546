"""`run(job)`: the loop of post-training, played by the core; and jobs from plain trees.

Trade-off: iterations that are alike are one event, so a job takes as long as it has samples.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from yantra import _core
from yantra.base.errors import ConfigError, expected_got
from yantra.base.notebook import progress_line
from yantra.rl.checks import check_names
from yantra.rl.groups import Group, Groups
from yantra.rl.job import CHOICES, FEEDS, Job
from yantra.rl.laws import Law, Ticks
from yantra.rl.schedule import REPLICA_CAUSES, Schedule

_LAWS = ("logp", "ref", "train")
_ITERATION = ("per_iteration", "per_token", "per_context_token")
_SAME = (
    "replicas", "steps", "groups_per_step", "groups_per_minibatch", "max_concurrent", "max_age",
    "in_flight_groups", "reward_servers", "refit",
)  # fmt: skip
"""Fields of a job that the core has under the same name."""
_TWO_DIMENSIONS = {"replica_ticks": len(REPLICA_CAUSES)}


@progress_line("rollouts")
def run(job: Job) -> Schedule:
    """Play a job to the end of its last step, or until nothing can go on.

    Raises ConfigError for a job that is wrong.
    """
    job.check()
    try:
        played = _core.play_rollouts(_as_core(job))
    except _core.TooLong:
        problem = "takes more than 2**63 - 1 ticks; expected fewer, or longer ones"
        raise ConfigError("job", problem) from None
    columns = {
        name: np.asarray(getattr(played, name)).reshape(-1, width)
        if (width := _TWO_DIMENSIONS.get(name))
        else np.asarray(getattr(played, name))
        for name in Schedule.__annotations__
        if name not in ("job", "status", "end", "tokens", "recomputed")
    }
    return Schedule(
        job=job,
        status="starved" if played.is_starved else "ok",
        end=played.end,
        tokens=played.tokens,
        recomputed=played.recomputed,
        **columns,
    )


def of_json(tree: dict[str, Any]) -> Job:
    """Return the job of a plain tree: `loop`, `placement`, `config`, `cost` and `groups`.

    Raises ConfigError for what is missing, unknown or wrong.
    """
    parts = ("loop", "placement", "config", "cost", "groups")
    check_names("", tree, (*parts, "name", "expected"), parts)
    config, cost = tree["config"], tree["cost"]
    known = [name for name in Job.field_names if name not in ("groups", "iteration", *_LAWS)]
    check_names("config", config, known)
    check_names("cost", cost, (*_ITERATION, *_LAWS))
    laws: dict[str, Any] = {
        name: _law_of(cost[name], f"cost.{name}") for name in _LAWS if name in cost
    }
    return Job(
        loop=tree["loop"],
        placement=tree["placement"],
        iteration=Ticks(*(cost.get(name, 0) for name in _ITERATION)),
        groups=_groups_of(tree["groups"]),
        **laws,
        **config,
    )


def _groups_of(rows: Any) -> Groups:
    if not isinstance(rows, list):
        raise ConfigError("groups", expected_got("a list of groups", rows))
    for at, row in enumerate(rows):
        check_names(f"groups[{at}]", row, Group._fields, Group._fields[:2])
    return Groups.of(Group(**row) for row in rows)


def _law_of(given: Any, where: str) -> Law:
    check_names(where, given, Law._fields)
    return Law(**given)


def _as_core(job: Job) -> Any:
    """Return the job as the core has it."""
    groups = job.groups
    made = _core.RolloutJob(
        prompt=groups.prompt,
        begin=groups.begin,
        filtered=groups.filtered,
        output=groups.output,
        reward=groups.reward,
        iteration=job.iteration.core(),
        logp=job.logp.core(),
        ref=job.ref.core(),
        train=job.train.core(),
    )
    made.feed = FEEDS.get(job.loop, job.feed)
    made.is_colocated = job.placement == "colocated"
    made.is_partial = job.loop == "partial"
    made.takes_submitted = job.takes == "submitted"
    made.in_rounds = job.refill == "round"
    made.loses_kv = job.kv == "recompute"
    made.reward_overlap = job.reward_overlap
    made.ahead = job.k or 0
    made.staleness = job.staleness or 0
    made.switching = job.switch
    for name in _SAME:
        if (value := getattr(job, name)) is not None:
            setattr(made, name, value)
    if (turns := groups.turns) is not None:
        made.take_turns(
            begin=turns.begin, output=turns.output, delay=turns.delay, added=turns.added
        )
    made.choose(
        refit_rule=CHOICES["refit_rule"].index(job.refit_rule),
        routing=CHOICES["routing"].index(job.routing),
    )
    made.limit(
        seats=job.seats,
        kv_tokens=job.kv_tokens or 0,
        iteration_tokens=job.iteration_tokens or 0,
        shares_prompts=job.share_prompts,
    )
    return made
