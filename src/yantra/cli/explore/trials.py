"""The option that names a trial."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from yantra.base.errors import ConfigError, expected_got

if TYPE_CHECKING:
    from yantra.explore.study.study import Finished
    from yantra.explore.study.study_file import Study

_HELP = "Number of a trial; if left out, the one on the front with the best first objective."


def trial_option() -> Callable[..., Any]:
    return click.option("--trial", type=click.IntRange(0), help=_HELP)


def trial_of(study: Study, finished: Finished, number: int | None) -> int:
    from yantra.explore.answers.why import winner

    if number is None:
        return winner(study, finished)
    if number >= len(finished.trials):
        most = f"a trial from 0 to {len(finished.trials) - 1}"
        raise ConfigError("--trial", expected_got(most, number))
    return number
