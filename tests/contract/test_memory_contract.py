"""Every registered memory model keeps the contract, and each law catches its own offender."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from yantra.base.errors import ConfigError
from yantra.memory import models
from yantra.memory.contract import LAWS, SPEEDS, Law, example_of, main, violations
from yantra.memory.model import Accesses, LatencyAndBandwidth, MemoryModel, Speeds


class Right(LatencyAndBandwidth):
    """Latency + bytes / bandwidth, until a subclass spoils it."""

    asked = 0

    def access(self, accesses: Accesses, speeds: Speeds) -> Any:
        type(self).asked += 1
        return self.spoil(accesses, super().access(accesses, speeds) + 1)

    def spoil(self, accesses: Accesses, ns: Any) -> Any:
        return ns


class OneShort(Right):
    def spoil(self, accesses: Accesses, ns: Any) -> Any:
        return ns[:-1]


class Negative(Right):
    def spoil(self, accesses: Accesses, ns: Any) -> Any:
        return -ns


class Shared(Right):
    sharing = "everybody"  # type: ignore[assignment]


class Moody(Right):
    def spoil(self, accesses: Accesses, ns: Any) -> Any:
        return ns * (1 + self.asked % 2)


class ByPlace(Right):
    def spoil(self, accesses: Accesses, ns: Any) -> Any:
        return ns * np.linspace(1, 2, len(ns))


class ByNeighbours(Right):
    def spoil(self, accesses: Accesses, ns: Any) -> Any:
        return ns * len(ns)


class ByCount(Right):
    def spoil(self, accesses: Accesses, ns: Any) -> Any:
        return ns * accesses.count


class LargeIsFast(Right):
    def spoil(self, accesses: Accesses, ns: Any) -> Any:
        return np.where(accesses.bytes > 10**9, 0, ns)


OFFENDERS = [
    (OneShort, "every_access_has_a_duration"),
    (Negative, "every_access_has_a_duration"),
    (Shared, "every_access_has_a_duration"),
    (Moody, "the_same_is_said_twice"),
    (ByPlace, "the_order_of_rows_does_not_matter"),
    (ByNeighbours, "an_access_alone_takes_its_own_time"),
    (ByCount, "an_access_alone_takes_its_own_time"),
    (LargeIsFast, "more_bytes_never_take_less"),
]


@pytest.mark.parametrize("speeds", SPEEDS)
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", models.names())
def test_law(law: Law, name: str, speeds: Speeds) -> None:
    assert law(example_of(name), speeds) is None


def test_a_model_that_keeps_every_law_passes() -> None:
    assert list(violations(Right())) == []


@pytest.mark.parametrize(("offender", "law"), OFFENDERS, ids=lambda part: str(part))
def test_a_wrong_model_is_caught_by_the_law_it_breaks(
    offender: type[MemoryModel], law: str
) -> None:
    assert next(violations(offender())).startswith(f"{law}: ")


def test_what_is_no_model_is_refused() -> None:
    with pytest.raises(ConfigError, match="expected a MemoryModel class"):
        models.get(int)


def test_the_command_tells_names_it_does_not_know(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["infinite"]) == 0
    assert main(["pol"]) == 2
    assert "did you mean 'pool'?" in capsys.readouterr().err


class FallsAtAKnee(LatencyAndBandwidth):
    def access(self, accesses: Accesses, speeds: Speeds) -> Any:
        return super().access(accesses, speeds) + 100.0 * (accesses.bytes < 1 << 20)


def test_time_that_falls_at_a_knee_is_caught() -> None:
    (first, *_) = violations(FallsAtAKnee())
    assert first.startswith("more_bytes_never_take_less: ") and "(load of 1048576 bytes)" in first
