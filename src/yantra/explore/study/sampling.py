"""Draws trials by Optuna: cluster, ranks, stack; rates, discrete or continuous.

A batch is drawn before any of it is judged; results are told in order, each batch with a sampler of
its own seed. So draws depend on the study alone, not on speed, workers, or kills.

`optuna-dashboard optuna.log` shows Optuna's journal in the study's folder.

Bounds are constraints, as shares of the bound; a trial without a plan counts as failed. Plans are
never drawn: each trial judges all of its own.

Source: Akiba et al., "Optuna: a next-generation hyperparameter optimization framework", KDD 2019;
samplers TPE, NSGA-II, random.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any

import numpy as np

from yantra.base.errors import UnsupportedError
from yantra.base.extras import install
from yantra.explore.study.objectives import sign
from yantra.explore.study.study_file import Point, Study

JOURNAL = "optuna.log"
_BATCH = 16
_NUMBER, _EXCESS = "number", "excess"
_LACKING = (
    "a study with search draws its trials by the package optuna, which is not installed: "
    + install("explore")
)


def sample(
    study: Study,
    folder: str,
    done: Mapping[int, dict[str, Any]],
    judge: Callable[[list[tuple[int, Point]]], None],
) -> None:
    """Draw the trials of a study and have them judged; `done` are results so far.

    Raises UnsupportedError without Optuna.
    """
    optuna = _package()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        warnings.simplefilter("ignore", FutureWarning)  # of constraints, removed in Optuna 7
        with open(os.path.join(folder, JOURNAL), "w", encoding="utf-8") as file:
            drawn = _Drawn(optuna, study, file)
            for first in range(0, study.trial_count, _BATCH):
                numbers = range(first, min(first + _BATCH, study.trial_count))
                points = [(number, drawn.point(number, done.get(number))) for number in numbers]
                judge(points)
                for number in numbers:
                    drawn.tell(number, done[number])


class _Journal:
    """A backend of Optuna's journal storage: lines in memory, and in a file to look at."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._lines: list[str] = []

    def read_logs(self, log_number_from: int) -> Iterator[dict[str, Any]]:
        yield from map(json.loads, self._lines[log_number_from:])

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        lines = [json.dumps(log, separators=(",", ":")) for log in logs]
        self._lines += lines
        self._file.writelines(f"{line}\n" for line in lines)
        self._file.flush()


class _Drawn:
    """Optuna's trials, by the study's numbers."""

    def __init__(self, optuna: Any, study: Study, file: IO[str]) -> None:
        self._optuna, self._study = optuna, study
        storage = optuna.storages.JournalStorage(_Journal(file))
        ways = ["maximize" if sign(name) < 0 else "minimize" for name in study.objectives]
        self._of = optuna.create_study(storage=storage, study_name=study.model, directions=ways)
        self._of.set_metric_names(list(study.objectives))
        self._space = self._distributions()
        self._ids: dict[int, Any] = {}

    def point(self, number: int, found: Mapping[str, Any] | None) -> Point:
        if found is not None:
            of = {"cluster": found["cluster"], "ranks": found["ranks"], **found["scale"]}
            if len(self._study.stacks) > 1:
                of["stack"] = found["stack"]
            self._of.enqueue_trial(of)
        self._of.sampler = self._sampler(number)
        self._ids[number] = asked = self._of.ask(self._space)
        if found is not None and hasattr(self._of.sampler, "get_trial_generation"):
            trial = self._of.get_trials(deepcopy=False)[asked.number]
            self._of.sampler.get_trial_generation(self._of, trial)  # NSGA-II counts it among those
        asked.set_user_attr(_NUMBER, number)
        params = dict(asked.params)
        cluster, ranks = params.pop("cluster"), params.pop("ranks")
        names = [name for name, _ in (*self._study.scale, *self._study.between)]
        stack = params.get("stack", self._study.stacks[0])
        return cluster, ranks, {name: params[name] for name in names}, stack

    def tell(self, number: int, found: Mapping[str, Any]) -> None:
        one = self._ids[number]
        values = [found.get(name) for name in self._study.objectives]
        self._of.sampler = self._sampler(number)
        if any(value is None for value in values) or found["excess"] is None:
            self._of.tell(one.number, state=self._optuna.trial.TrialState.FAIL)
            return
        one.set_user_attr(_EXCESS, found["excess"])
        self._of.tell(one.number, values)

    def _distributions(self) -> dict[str, Any]:
        of = self._optuna.distributions
        study = self._study
        space: dict[str, Any] = {
            "cluster": of.CategoricalDistribution(study.clusters),
            "ranks": of.CategoricalDistribution(study.ranks),
        }
        if len(study.stacks) > 1:
            space["stack"] = of.CategoricalDistribution(study.stacks)
        for name, factors in study.scale:
            space[name] = of.CategoricalDistribution(factors)
        for name, (low, high) in study.between:
            space[name] = of.FloatDistribution(low, high, log=True)
        return space

    def _sampler(self, number: int) -> Any:
        _, name, seed = self._study.search or (0, "tpe", 0)
        own = int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
        of = self._optuna.samplers
        if name == "random":
            return of.RandomSampler(seed=own)
        bounded = self._study.at_most or self._study.at_least
        constraints = _constraints if bounded else None
        if name == "nsga2":
            return of.NSGAIISampler(population_size=_BATCH, seed=own, constraints_func=constraints)
        return of.TPESampler(seed=own, constraints_func=constraints)


def _constraints(trial: Any) -> tuple[float]:
    return (float(trial.user_attrs[_EXCESS]),)


def _package() -> Any:
    try:
        import optuna
    except ModuleNotFoundError as error:
        if error.name != "optuna":
            raise
        raise UnsupportedError(_LACKING) from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
