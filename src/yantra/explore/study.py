"""A study: the best plan of every cluster, size and speed that a file names, and the front of them.

    model: llama3-8b
    global_batch: 256
    clusters: [hgx-h100, hgx-b200]
    ranks: [32, 64]
    scale: {peak: [1, 1.2], memory: [1], latency: [1]}
    prices: {hgx-h100: 2.50 USD/h, hgx-b200: 4.00 USD/h}
    objectives: [step_time, usd_per_million_tokens]
    at_most: {usd_per_million_tokens: 0.2}

A trial is one cluster of one size at one scale: all its plans by the closed form, the best of those
that fit. Each finished trial is a line of `trials.jsonl`, on the disk before the next is counted,
so a study that was killed loses only what was under way. Its first line has a digest of the study;
another study in the same folder is refused.

Trade-off: trials are by closed form alone; `yantra plan` simulates.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any, NamedTuple

import numpy as np

from yantra.base.errors import ConfigError, YantraError
from yantra.base.output import make_folder
from yantra.base.text import table
from yantra.explore.closed_form import ClosedForm
from yantra.explore.goodput import best_goodput, mtti_of
from yantra.explore.machine import Machine, Scale
from yantra.explore.pareto import front
from yantra.explore.space import Space
from yantra.explore.study_file import Study
from yantra.fabric import clusters
from yantra.fabric.clusters.ownership import rates_of
from yantra.workloads.models.catalogue import find

TRIALS = "trials.jsonl"


class Finished(NamedTuple):
    """The trials by number, and the numbers of those on the front."""

    trials: list[dict[str, Any]]
    front: list[int]


def run_study(
    study: Study,
    folder: str,
    *,
    resume: bool = False,
    workers: int = 1,
    tell: Callable[[int, int], None] | None = None,
) -> Finished:
    """Run what is not finished of a study, and return all of it; the same for any `workers`.

    Raises ConfigError where the folder has trials and `resume` is not set, or those of another
    study.
    """
    make_folder(folder)
    path = os.path.join(folder, TRIALS)
    wanted = study.trials()
    done = _finished(study, path, resume)
    left = [number for number in range(len(wanted)) if number not in done]
    with open(path, "a", encoding="utf-8") as file:
        if not os.path.getsize(path):
            _append(file, {"study": study.digest})
        for number, trial in _run(study, left, workers):
            _append(file, {"number": number, **trial})
            done[number] = trial
            if tell is not None:
                tell(len(done), len(wanted))
    trials = [done[number] for number in range(len(wanted))]
    return Finished(trials, front_of(study, trials))


def front_of(study: Study, trials: list[dict[str, Any]]) -> list[int]:
    """Return the numbers of feasible trials on the front of the objectives."""
    feasible = [number for number, trial in enumerate(trials) if not trial["broken"]]
    if not feasible:
        return []
    points = [[trials[number][name] for name in study.objectives] for number in feasible]
    return [feasible[at] for at in front(np.array(points, dtype=float))]


def trial(study: Study, number: int) -> dict[str, Any]:
    """Judge one trial; `broken` has every reason why it is not feasible, with its margin."""
    name, ranks, factors = study.trials()[number]
    told: dict[str, Any] = {"cluster": name, "ranks": ranks, "scale": factors, "broken": []}
    try:
        told |= _judged(study, name, ranks, factors)
    except YantraError as error:
        return told | {"broken": [str(error).splitlines()[0]]}
    for objective in study.objectives:
        if told.get(objective) is None:
            told["broken"].append(f"{objective}: {name} does not state what it takes")
    for objective, bound in study.at_most:
        value = told.get(objective)
        if value is None or value > bound:
            by = "is not known" if value is None else f"{value:.6g} is {value - bound:.6g} too much"
            told["broken"].append(f"{objective}: {by}; at most {bound:g}")
    return told


def _judged(study: Study, name: str, ranks: int, factors: Mapping[str, float]) -> dict[str, Any]:
    model, cluster = find(study.model), clusters.load(name)
    members = cluster.network[0].members
    space = Space(
        ranks=ranks,
        global_batch=study.global_batch,
        sequence=study.sequence,
        most_tp=None if members is None else int(members.value),
    )
    columns = space.columns(model)
    scale: dict[str, Any] = dict(factors)
    form = ClosedForm(model, Machine(cluster, ranks, Scale(**scale)), study.sequence)
    judged = form.judge(columns, study.global_batch)
    fits = np.flatnonzero(judged.memory_bytes <= cluster.memory_bytes)
    if not len(fits):
        lacks = int(judged.memory_bytes.min() - cluster.memory_bytes)
        raise ConfigError("memory", f"every plan needs {lacks} bytes more than a device has")
    row = int(fits[np.argmin(judged.time_ns[fits])])
    seconds = float(judged.time_ns[row]) / 1e9
    rates = rates_of(cluster)
    hourly = dict(study.prices).get(name, rates.usd_per_h)
    tokens = study.global_batch * (study.sequence or model.sequence)
    busy = float(judged.kernels_ns[row] / judged.time_ns[row])
    joules = rates.energy_j(seconds, ranks, busy)
    found: dict[str, Any] = {
        "plan": {name: int(of[row]) for name, of in columns.items()},
        "step_time": seconds,
        "memory": int(judged.memory_bytes[row]),
        "usd_per_million_tokens": None,
        "joules_per_token": None if joules is None else joules / tokens,
        "time_to_train": None,
    }
    if hourly is not None:
        found["usd_per_million_tokens"] = hourly * ranks * seconds / 3600 / tokens * 1e6
    if study.steps is not None and rates.mtbf_s is not None:
        mtti = mtti_of({"devices": (ranks, rates.mtbf_s)})
        share = best_goodput(mtti, *study.failures).share
        found["time_to_train"] = study.steps * seconds / share
    return found


def _run(study: Study, left: list[int], workers: int) -> Iterator[tuple[int, dict[str, Any]]]:
    if workers <= 1 or len(left) <= 1:
        yield from ((number, trial(study, number)) for number in left)
        return
    with ProcessPoolExecutor(workers) as pool:
        running = {pool.submit(trial, study, number): number for number in left}
        for future in as_completed(running):
            yield running[future], future.result()


def _append(file: Any, line: Mapping[str, Any]) -> None:
    file.write(json.dumps(line) + "\n")
    file.flush()
    os.fsync(file.fileno())


def _finished(study: Study, path: str, resume: bool) -> dict[int, dict[str, Any]]:
    """Return the finished trials of a folder; a last line that was cut off is dropped."""
    if not os.path.exists(path) or not os.path.getsize(path):
        return {}
    if not resume:
        raise ConfigError(path, "has trials already; give --resume, or another folder")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    whole, _, cut = text.rpartition("\n")
    if cut:
        with open(path, "r+", encoding="utf-8") as file:
            file.truncate(len(whole.encode()) + 1 if whole else 0)
    lines = [json.loads(line) for line in whole.splitlines()]
    if not lines:
        return {}
    if lines[0].get("study") != study.digest:
        problem = "holds trials of another study, or of another version; give another folder"
        raise ConfigError(path, problem)
    return {line.pop("number"): line for line in lines[1:]}


def table_of(study: Study, finished: Finished) -> list[str]:
    """Return the trials as lines: those on the front first, then others, then what is broken."""
    on_front = set(finished.front)
    rest = [number for number in range(len(finished.trials)) if number not in on_front]
    rest.sort(key=lambda number: bool(finished.trials[number]["broken"]))
    rows = []
    for number in (*finished.front, *rest):
        one = finished.trials[number]
        scale = " ".join(f"{name} x{factor:g}" for name, factor in one["scale"].items())
        values = (one.get(name) for name in study.objectives)
        shown = ["" if value is None else f"{value:.6g}" for value in values]
        said = "front" if number in on_front else "; ".join(one["broken"])
        rows.append((one["cluster"], str(one["ranks"]), scale, *shown, said))
    return table(("cluster", "ranks", "scale", *study.objectives, ""), rows)
