"""A study: the best plan of every cluster, size and speed of a file, and their front.

    model: llama3-8b
    global_batch: 256
    clusters: [hgx-h100, hgx-b200]
    ranks: [32, 64]
    scale: {peak: [1, 1.2], links 0: [1, 2]}
    prices: {hgx-h100: 2.50 USD/h, hgx-b200: 4.00 USD/h}
    upgrades: {peak: 1.00 USD/h, links 0: 0.20 USD/h}
    objectives: [step_time, usd_per_million_tokens]
    at_most: {usd_per_million_tokens: 0.2}
    stack: [megatron-bridge, unknown]

A trial is one cluster, size, scale and stack: the best plan that fits, by closed form. `search:
{trials: 200}` draws trials (`sampling.py`), also from rates `between` two ends; the default judges
all. A journal (`journal.py`) keeps finished trials, so a kill loses only those under way. Another
study or a second process in the folder is refused.

Trade-off: closed form alone; `yantra plan` simulates.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from yantra.base.errors import CapacityError, ConfigError
from yantra.base.output import make_folder
from yantra.base.text import count, table
from yantra.base.trust import Reading, require
from yantra.explore.study.journal import TRIALS, Read, append, nothing, open_journal, read_journal
from yantra.explore.study.objectives import shown, sign
from yantra.explore.study.pareto import front
from yantra.explore.study.study_file import Point, Study, scale_words
from yantra.explore.study.trial import judge_point
from yantra.run.backends import backends

_LOCK = "lock"
Judge = Callable[[list[tuple[int, Point]]], None]
"""Judges points that are not finished, and keeps what comes of them."""


class Finished(NamedTuple):
    """Trials by number, and the numbers on the front."""

    trials: list[dict[str, Any]]
    front: list[int]


def run_study(
    study: Study,
    folder: str | None = None,
    *,
    resume: bool = False,
    workers: int = 1,
    backend: str = "local",
    tell: Callable[[int, int], None] | None = None,
) -> Finished:
    """Run what is unfinished of a study and return all; `workers` change nothing.

    `backend` is one of sweeps, by name or file.

    Raises ConfigError if the folder has trials without `resume`, another study's, or another
    process; UnsupportedError without a package.
    """
    runs = backends.get(backend, "--backend")(workers)
    if folder is None:
        with TemporaryDirectory() as temporary:
            return run_study(study, temporary, workers=workers, backend=backend, tell=tell)
    make_folder(folder)
    path = os.path.join(folder, TRIALS)
    with _alone(folder):
        read = _kept_before(study, path, resume)
        done = read.trials
        if tell is not None:
            tell(len(done), study.trial_count)
        with open_journal(path, study, read) as file:

            def judge(points: list[tuple[int, Point]]) -> None:
                left = [(number, point) for number, point in points if number not in done]
                given = [(study, point) for _, point in left]
                for at, found in runs.calls(judge_point, given):
                    number = left[at][0]
                    append(file, study, number, found)
                    done[number] = found
                    if tell is not None:
                        tell(len(done), study.trial_count)

            if study.search is None:
                judge(list(enumerate(study.trials())))
            else:
                from yantra.explore.study.sampling import sample

                sample(study, folder, done, judge)
    trials = [done[number] for number in range(study.trial_count)]
    return Finished(trials, front_of(study, trials))


def front_of(study: Study, trials: list[dict[str, Any]]) -> list[int]:
    feasible = [number for number, trial in enumerate(trials) if not trial["broken"]]
    if not feasible:
        return []
    signs = np.array([sign(name) for name in study.objectives])
    points = [[trials[number][name] for name in study.objectives] for number in feasible]
    return [feasible[at] for at in front(np.array(points, dtype=float) * signs)]


def as_points(study: Study, trials: list[dict[str, Any]]) -> Study:
    if study.search is None:
        return study
    points = [
        (one["cluster"], one["ranks"], one["scale"], one.get("stack", study.stacks[0]))
        for one in trials
    ]
    return study._replace(points=tuple(points))


def check_feasible(study: Study, finished: Finished) -> None:
    if finished.front:
        return

    def lack(number: int) -> float:
        excess = finished.trials[number]["excess"]
        return float("inf") if excess is None else float(excess)

    nearest = min(range(len(finished.trials)), key=lack)
    one = finished.trials[nearest]
    reasons = " and ".join(one["broken"])
    where = f"trial {nearest} ({one['cluster']}, {one['ranks']} ranks)"
    which = "the nearest is" if lack(nearest) < float("inf") else "the first is"
    trials = count(len(finished.trials), "trial")
    problem = f"none of {trials} is feasible; {which} {where}: {reasons}"
    raise CapacityError("study", problem)


@contextmanager
def _alone(folder: str) -> Iterator[None]:
    import fcntl

    with open(os.path.join(folder, _LOCK), "w", encoding="utf-8") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            problem = "another process runs this study; wait for it, or give another folder"
            raise ConfigError(folder, problem) from None
        yield


def kept(folder: str) -> tuple[Study, Finished]:
    """Return a folder's study and trials.

    Raises ConfigError if there is none, it is unfinished, or of another version.
    """
    path = os.path.join(folder, TRIALS)
    read = read_journal(path)
    study, done = read.study, read.trials
    if study is None:
        raise ConfigError(
            path,
            "has no study in its first line; run it again: yantra explore run STUDY.yaml -o FOLDER",
        )
    with Reading(path):
        require(study.model, f"{path}: model")
    left = study.trial_count - len(done)
    if left:
        problem = f"{left} of {study.trial_count} trials are not finished"
        raise ConfigError(path, f"{problem}; go on with yantra explore run --resume")
    trials = [done[number] for number in range(len(done))]
    return as_points(study, trials), Finished(trials, front_of(study, trials))


def _kept_before(study: Study, path: str, resume: bool) -> Read:
    """Return a folder's trials of a study. Raises ConfigError if there are some and `resume` is
    off.
    """
    if not os.path.exists(path) or not os.path.getsize(path):
        return nothing()
    if not resume:
        raise ConfigError(path, "has trials already; give --resume, or another folder")
    return read_journal(path, study)


def table_of(study: Study, finished: Finished) -> list[str]:
    on_front = set(finished.front)
    rest = [number for number in range(len(finished.trials)) if number not in on_front]
    rest.sort(key=lambda number: bool(finished.trials[number]["broken"]))
    rows = []
    for number in (*finished.front, *rest):
        one = finished.trials[number]
        scale = scale_words(study, one)
        values = shown(study.objectives, one).values()
        told = ["" if value is None else f"{value:.6g}" for value in values]
        said = "front" if number in on_front else "; ".join(one["broken"])
        rows.append((one["cluster"], str(one["ranks"]), scale, *told, said))
    return table(("cluster", "ranks", "scale", *shown(study.objectives, {}), ""), rows)
