"""The jobs of a folder, measured: workload files, and folders of traces with `settings.json`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from itertools import combinations
from typing import Any, NamedTuple

from yantra.base.errors import ConfigError, UnsupportedError, YantraError, expected_got
from yantra.base.regular import read_regular
from yantra.chakra.schema import Node
from yantra.chakra.trace import Trace
from yantra.scenario.types import Templates, Traces
from yantra.synth.passes import Passes, passes_of
from yantra.synth.settings import SCHEDULES, Settings, settings_of
from yantra.workloads.templates.grid import Grid, Group
from yantra.workloads.templates.workload import Workload, load

WORLD = "cp+dp+pp+tp"
GROUPS, SETTINGS = "comm_group.json", "settings.json"


class Observed(NamedTuple):
    """`layers`, `stages`, `traces`: by stage; `played`: what a run takes."""

    path: str
    family: str
    settings: Settings
    layers: tuple[int, ...]
    stages: list[Passes]
    traces: list[Trace]
    played: Templates | Traces


def observe(folder: str) -> list[Observed]:
    """Raises ConfigError where there is none, UnsupportedError where one follows no rule."""
    jobs = [observe_one(path) for path in jobs_in(folder)]
    if not jobs:
        raise ConfigError(folder, "has no job; expected workload files (.yw) or folders of .et")
    return jobs


def jobs_in(folder: str) -> list[str]:
    """Paths of jobs in a folder, sorted."""
    if os.path.isfile(folder):
        return [folder]
    if not os.path.isdir(folder):
        raise ConfigError(folder, "no such file or folder")
    if _has_traces(folder):
        return [folder]
    inside = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    return [
        one for one in inside if one.endswith(".yw") or (os.path.isdir(one) and _has_traces(one))
    ]


def observe_one(path: str) -> Observed:
    """A workload file, or a folder of traces."""
    return observed(load(path), path) if os.path.isfile(path) else _of_traces(path)


def observed(workload: Workload, path: str) -> Observed:
    """A job of templates, one a stage."""
    about = workload.about if isinstance(workload.about, dict) else {}
    plan, sequence = about.get("plan"), about.get("sequence")
    if about.get("kind") != "training" or not isinstance(plan, dict) or type(sequence) is not int:
        raise UnsupportedError(f"{path}: does not say the plan of a training step; leave it out")
    _check(plan, path)
    traces = _stages_of(workload, int(plan["pp"]), path)
    seen = [{str(node.get("layer")) for node in trace} for trace in traces]
    layers = tuple(len([name for name in names if name.startswith("layers.")]) for names in seen)
    given = {name: plan[name] for name in Settings._fields if name in plan}
    batches = plan["global_batch"] // (plan["micro_batch"] * plan["dp"])
    drawn = about.get("layers")
    if type(drawn) is int:
        layers = Settings(layers=drawn, pp=int(plan["pp"])).stages
    given |= {"layers": max(sum(layers), 1), "micro_batches": batches, "sequence": sequence}
    axes = {name: _word(group) for name, group in workload.groups.items()}
    played = Templates(workload=workload)
    made = settings_of(given, path)
    stages = _measured(path, traces, axes)
    return Observed(path, str(about.get("model", "")), made, layers, stages, traces, played)


def _check(plan: Mapping[str, Any], path: str) -> None:
    wanted = {"vpp": 1, "steps": 1, "overlap_experts": "none", "routing": "uniform"}
    for name, value in wanted.items():
        if plan.get(name, value) != value:
            raise UnsupportedError(f"{path}: {name} {plan[name]} follows no rule; leave it out")
    if plan.get("schedule") not in SCHEDULES:
        raise UnsupportedError(
            f"{path}: schedule {plan.get('schedule')} follows no rule; leave it out"
        )


def _stages_of(workload: Workload, pp: int, path: str) -> list[Trace]:
    if len(workload.grids) != 1 or len(workload.templates) != pp:
        raise UnsupportedError(
            f"{path}: has not one template a stage, so follows no rule; leave it out"
        )
    grid = workload.grids[0]
    return [workload.template(workload.class_of(grid.rank({"pp": n})).template) for n in range(pp)]


def _word(group: Group) -> str:
    return ("ends:" if group.where else "") + "+".join(sorted(group.axes))


def _measured(path: str, traces: list[Trace], axes: dict[str, str]) -> list[Passes]:
    def axes_of(node: Node) -> str:
        name = node.get("pg_name")
        if name is None or name == "" or str(name) == "0":
            return WORLD
        if str(name) not in axes:
            raise ConfigError(path, f"no group is named {name!r}, which node {node.id} names")
        return axes[str(name)]

    return [passes_of(trace, axes_of, path) for trace in traces]


def _has_traces(folder: str) -> bool:
    return any(name.endswith((".et", ".et.gz")) for name in os.listdir(folder))


def _of_traces(folder: str) -> Observed:
    from yantra.tracing.inspect.rank_traces import load_job

    names = [name for name in sorted(os.listdir(folder)) if name.endswith((".et", ".et.gz"))]
    job = {one.rank: one.trace for one in load_job([os.path.join(folder, n) for n in names])}
    given = _json(os.path.join(folder, SETTINGS))
    family = str(given.pop("family", ""))
    settings = settings_of(given, os.path.join(folder, SETTINGS))
    plan = settings.plan
    if sorted(job) != list(range(plan.ranks)):
        said = expected_got(f"one trace for each of {plan.ranks} ranks", len(job))
        raise ConfigError(folder, f"{said}; {SETTINGS} has tp, cp, pp, dp")
    grid = plan.grid()
    members = {name: tuple(ranks) for name, ranks in _json(os.path.join(folder, GROUPS)).items()}
    firsts = [grid.rank({"pp": n}) for n in range(settings.pp)]
    axes = {name: _spanned(grid, ranks, folder, name) for name, ranks in members.items()}
    traces = [job[rank] for rank in firsts]
    played = Traces(traces=tuple(job[rank] for rank in sorted(job)), groups=_numbered(members))
    stages = _measured(folder, traces, axes)
    return Observed(folder, family, settings, settings.stages, stages, traces, played)


def _numbered(members: Mapping[str, tuple[int, ...]]) -> tuple[tuple[int, tuple[int, ...]], ...]:
    try:
        return tuple(sorted((int(name), ranks) for name, ranks in members.items()))
    except ValueError:
        raise ConfigError(GROUPS, "expected whole numbers as names of groups") from None


def _spanned(grid: Grid, ranks: tuple[int, ...], folder: str, name: str) -> str:
    if not ranks or not set(ranks) <= set(grid.ranks):
        raise ConfigError(folder, f"group {name}: expected ranks of the job, got {list(ranks)[:8]}")
    if len(ranks) == grid.size and sum(size > 1 for size in grid.axes().values()) > 1:
        return WORLD
    for view, sizes in grid.views:
        named = [axis for axis, size in sizes if size > 1]
        for count in range(1, len(named) + 1):
            for axes in combinations(named, count):
                for ends in (True, False) if axes == ("pp",) else (False,):
                    cut = {"pp": ((0, grid.axes()["pp"] - 1),)} if ends else {}
                    group = Group(view, axes, cut)
                    if grid.members(min(ranks), group) == tuple(sorted(ranks)):
                        return _spelled(view, axes, ends)
    raise UnsupportedError(f"{folder}: group {name} spans no axes of the plan, so follows no rule")


def _spelled(view: str, axes: tuple[str, ...], ends: bool) -> str:
    with_cp = {"cp"} if view == "dense" and "dp" in axes else set()
    return ("ends:" if ends else "") + "+".join(sorted({*axes, *with_cp}))


def _json(path: str) -> dict[str, Any]:
    if not os.path.exists(path):
        return {}
    try:
        found = json.loads(read_regular(path))
    except (ValueError, YantraError) as error:
        raise ConfigError(path, f"not JSON: {error}") from None
    if not isinstance(found, dict):
        raise ConfigError(path, expected_got("a JSON object", found))
    return found
