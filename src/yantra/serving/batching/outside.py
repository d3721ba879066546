"""Between the core and an engine in Python: columns down, checked answers up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from itertools import chain
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from yantra.base.errors import ConfigError, YantraError, expected_got
from yantra.base.plugin_files import what_was_raised
from yantra.serving.batching.engine import COMMON, Engine, Plan, Rows, State

if TYPE_CHECKING:
    from yantra.serving.batching.engine import Column

_PS = 1000  # to a ns
_COLUMNS = tuple(field.name for field in fields(Rows))
_WHOLE = (int, np.integer)


class Outside:
    """What the core asks."""

    def __init__(self, engine: type[Engine], options: Mapping[str, float], name: str) -> None:
        self.name = name
        self.limits = tuple(int(options[option.name]) for option in COMMON)
        try:
            self.engine = engine(options)
        except YantraError:
            raise
        except Exception as error:
            self.refuses(f"cannot be made: {what_was_raised(error)}", error)

    def decides(
        self, now_ps: int, waiting: Sequence[Column], running: Sequence[Column], free: int
    ) -> tuple[Column, Column, Column]:
        """Return requests, tokens, and who is preempted. Raises ConfigError for another answer."""
        state = State(now_ps / _PS, _rows(waiting), _rows(running), free, *self.limits)
        try:
            plan = self.engine.plan(state)
        except YantraError:
            raise
        except Exception as error:
            self.refuses(f"at {state.now_ns:g} ns plan raises {what_was_raised(error)}", error)
        if not isinstance(plan, Plan):
            self.refuses(f"plan: {expected_got('a Plan', plan)}")
        run = [self._pair(item) for item in plan.run]
        preempted = [self._number("preempted", item) for item in plan.preempted]
        both = np.fromiter(chain.from_iterable(run), np.int64, 2 * len(run)).reshape(-1, 2)
        return both[:, 0].copy(), both[:, 1].copy(), np.array(preempted, np.int64)

    def refuses(self, why: str, cause: Exception | None = None) -> NoReturn:
        """Raise a ConfigError: the engine broke a law."""
        raise ConfigError(f"engine {self.name}", why) from cause

    def _pair(self, item: Any) -> tuple[int, int]:
        if not isinstance(item, tuple) or len(item) != 2:
            self.refuses(f"plan: run: {expected_got('pairs (request, tokens)', item)}")
        return self._number("run", item[0]), self._number("run", item[1])

    def _number(self, field: str, item: Any) -> int:
        if not isinstance(item, _WHOLE) or not -(2**62) < item < 2**62:
            self.refuses(f"plan: {field}: {expected_got('whole numbers', item)}")
        return int(item)


def _rows(columns: Sequence[Column]) -> Rows:
    named = dict(zip(_COLUMNS, columns, strict=True))
    return Rows(**named | {"arrival_ns": named["arrival_ns"] // _PS})
