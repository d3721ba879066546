"""Draws the trials of a study by Optuna: cluster, ranks, and rates, discrete or between two ends.

Trials are drawn a batch at a time. All of a batch are drawn before any is judged, and what came of
them is told in their order, each with a sampler of its own seed. So what is drawn next depends on
the study alone, and not on who was first, on the number of workers, or on when it was killed.

Optuna's journal is the file `optuna.log` of the study's folder: `optuna-dashboard optuna.log` shows
it. A trial of it that was not drawn whole is marked as failed and drawn again.

Trade-off: workers wait for the last of a batch. Bounds are told as constraints, as share of the
bound; a trial without any plan has no figures and counts as failed. Plans are never drawn: each
trial judges all of its own.

Source: Akiba et al., "Optuna: a next-generation hyperparameter optimization framework", KDD 2019;
the samplers are Optuna's TPE, NSGA-II and random search.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from yantra.base.errors import ConfigError, UnsupportedError
from yantra.explore.objectives import sign
from yantra.explore.study_file import Point, Study

JOURNAL = "optuna.log"
_BATCH = 16
_NUMBER, _EXCESS = "number", "excess"
_LACKING = (
    "a study with search draws its trials by the package optuna, which is not installed: "
    "pip install 'yantra[explore]'"
)


def sample(
    study: Study,
    folder: str,
    done: Mapping[int, dict[str, Any]],
    judge: Callable[[list[tuple[int, Point]]], None],
) -> None:
    """Draw the trials of a study, and have them judged; `done` has what came of them.

    Raises UnsupportedError where Optuna is not installed, and ConfigError for a journal that is not
    of this study.
    """
    optuna = _package()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        warnings.simplefilter("ignore", FutureWarning)  # of constraints, which go before Optuna 7
        drawn = _Drawn(optuna, study, os.path.join(folder, JOURNAL))
        for first in range(0, study.trial_count, _BATCH):
            numbers = range(first, min(first + _BATCH, study.trial_count))
            points = [(number, drawn.point(number)) for number in numbers]
            judge(points)
            for number in numbers:
                drawn.tell(number, done[number])


class _Drawn:
    """The trials in the journal of a study, by the numbers that the study gives them."""

    def __init__(self, optuna: Any, study: Study, path: str) -> None:
        self._optuna, self._study = optuna, study
        journal = optuna.storages.journal
        with suppress(FileNotFoundError):
            os.unlink(f"{path}.lock")  # left by a kill; the folder is ours
        _mend(path)
        storage = optuna.storages.JournalStorage(journal.JournalFileBackend(path))
        ways = ["maximize" if sign(name) < 0 else "minimize" for name in study.objectives]
        self._of = optuna.create_study(
            storage=storage, study_name=study.model, directions=ways, load_if_exists=True
        )
        if not self._of.trials:
            self._of.set_metric_names(list(study.objectives))
        self._space = self._distributions()
        self._ids: dict[int, Any] = {}
        for one in self._of.get_trials(deepcopy=False):
            if _NUMBER in one.user_attrs:
                self._ids[one.user_attrs[_NUMBER]] = one
            elif not one.state.is_finished():
                self._of.tell(one.number, state=optuna.trial.TrialState.FAIL)
        if any(set(one.params) != set(self._space) for one in self._ids.values()):
            problem = "is of another study; give another folder"
            raise ConfigError(path, problem)

    def point(self, number: int) -> Point:
        """Return the point of a trial; it is drawn if it was not."""
        if number not in self._ids:
            self._of.sampler = self._sampler(number)
            asked = self._of.ask(self._space)
            asked.set_user_attr(_NUMBER, number)
            self._ids[number] = asked
        params = dict(self._ids[number].params)
        cluster, ranks = params.pop("cluster"), params.pop("ranks")
        names = [name for name, _ in (*self._study.scale, *self._study.between)]
        return cluster, ranks, {name: params[name] for name in names}

    def tell(self, number: int, found: Mapping[str, Any]) -> None:
        """Tell Optuna what came of a trial, unless it knows."""
        one = self._ids[number]
        state = getattr(one, "state", None)
        if state is not None and state.is_finished():
            return
        values = [found.get(name) for name in self._study.objectives]
        self._of.sampler = self._sampler(number)
        if any(value is None for value in values) or found["excess"] is None:
            self._of.tell(one.number, state=self._optuna.trial.TrialState.FAIL)
            return
        storage, trial_id = self._of._storage, one._trial_id
        storage.set_trial_user_attr(trial_id, _EXCESS, found["excess"])
        self._of.tell(one.number, values)

    def _distributions(self) -> dict[str, Any]:
        of = self._optuna.distributions
        study = self._study
        space: dict[str, Any] = {
            "cluster": of.CategoricalDistribution(study.clusters),
            "ranks": of.CategoricalDistribution(study.ranks),
        }
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
    """Return by how much a trial is beyond its bounds; more than 0 is not feasible."""
    return (float(trial.user_attrs[_EXCESS]),)


def _mend(path: str) -> None:
    """Drop the last line of a journal if it was cut off."""
    if not os.path.exists(path):
        return
    with open(path, "rb+") as file:
        text = file.read()
        whole = text.rfind(b"\n") + 1
        if whole != len(text):
            file.truncate(whole)


def _package() -> Any:
    """Return Optuna, silent. Raises UnsupportedError where it is missing."""
    try:
        import optuna
    except ModuleNotFoundError as error:
        if error.name != "optuna":
            raise
        raise UnsupportedError(_LACKING) from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
