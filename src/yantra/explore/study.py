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

from yantra.base.documents import read_text
from yantra.base.errors import ConfigError
from yantra.base.output import make_folder
from yantra.base.text import table
from yantra.explore.pareto import front
from yantra.explore.study_file import Study
from yantra.explore.trial import trial

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
    if tell is not None:
        tell(len(done), len(wanted))
    with open(path, "a", encoding="utf-8") as file:
        if not os.path.getsize(path):
            _append(file, {"study": study.digest, "of": study})
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


def kept(folder: str) -> tuple[Study, Finished]:
    """Return the study that a folder has, and its trials.

    Raises ConfigError where there is none, where trials are not finished, and where another version
    ran them.
    """
    path = os.path.join(folder, TRIALS)
    first = read_text(path).partition("\n")[0]
    try:
        study = Study.of(json.loads(first)["of"])
    except (ValueError, KeyError, TypeError):
        raise ConfigError(path, "has no study in its first line; run the study again") from None
    done = _finished(study, path, resume=True)
    left = len(study.trials()) - len(done)
    if left:
        problem = f"{left} of {len(study.trials())} trials are not finished"
        raise ConfigError(path, f"{problem}; go on with yantra explore run --resume")
    trials = [done[number] for number in range(len(done))]
    return study, Finished(trials, front_of(study, trials))


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
