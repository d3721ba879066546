"""Every registered compute model keeps the contract, and each law catches its own offender."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from yantra.base.errors import ConfigError
from yantra.compute import models
from yantra.compute.contract import DEVICES, LAWS, Law, example_of, violations
from yantra.compute.model import ComputeModel, Device, Estimates, Kernels
from yantra.compute.roofline import Roofline


class Bound(ComputeModel):
    asked = 0

    def estimate(self, kernels: Kernels, device: Device) -> Estimates:
        type(self).asked += 1
        return Estimates.exact(self.spoil(kernels, self.bound(kernels, device)))

    def bound(self, kernels: Kernels, device: Device) -> Any:
        return 2 * Roofline().estimate(kernels, device).middle + 1

    def spoil(self, kernels: Kernels, ns: Any) -> Any:
        return ns


class OneShort(Bound):
    def spoil(self, kernels: Kernels, ns: Any) -> Any:
        return ns[:-1]


class Negative(Bound):
    def spoil(self, kernels: Kernels, ns: Any) -> Any:
        return -ns


class Endless(Bound):
    def spoil(self, kernels: Kernels, ns: Any) -> Any:
        return np.where(kernels.bytes > 10**6, np.inf, ns)


class UpsideDown(Bound):
    def estimate(self, kernels: Kernels, device: Device) -> Estimates:
        ns = self.bound(kernels, device)
        return Estimates(ns * 1.1, ns, ns * 1.2)


class Broken(Bound):
    def spoil(self, kernels: Kernels, ns: Any) -> Any:
        return ns[kernels.shape]  # type: ignore[attr-defined]


class Moody(Bound):
    def spoil(self, kernels: Kernels, ns: Any) -> Any:
        return ns * (1 + self.asked % 2)


class ByPlace(Bound):
    def spoil(self, kernels: Kernels, ns: Any) -> Any:
        return ns * np.linspace(1, 2, len(ns))


class ByNeighbours(Bound):
    def spoil(self, kernels: Kernels, ns: Any) -> Any:
        return ns * (1 + len(ns) % 7)


class ByCount(Bound):
    def spoil(self, kernels: Kernels, ns: Any) -> Any:
        return ns * kernels.count


class Marvel(Bound):
    def spoil(self, kernels: Kernels, ns: Any) -> Any:
        return ns / 3


class LightWeights(Bound):
    def spoil(self, kernels: Kernels, ns: Any) -> Any:
        return np.where(kernels.bytes == 1, 3 * ns, ns)


OFFENDERS = [
    (OneShort, "every_kernel_has_a_duration"),
    (Negative, "every_kernel_has_a_duration"),
    (Endless, "every_kernel_has_a_duration"),
    (UpsideDown, "every_kernel_has_a_duration"),
    (Broken, "every_kernel_has_a_duration"),
    (Moody, "the_same_is_said_twice"),
    (ByPlace, "the_order_of_rows_does_not_matter"),
    (ByNeighbours, "a_kernel_does_not_see_the_others"),
    (ByCount, "a_kernel_does_not_see_the_others"),
    (Marvel, "no_kernel_beats_the_roofline"),
    (LightWeights, "more_bytes_never_take_less"),
]


@pytest.mark.parametrize("device", DEVICES, ids=["large", "small"])
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", models.names())
def test_law(law: Law, name: str, device: Device) -> None:
    assert law(example_of(name), device) is None


def test_a_model_that_keeps_every_law_passes() -> None:
    assert list(violations(Bound())) == []


@pytest.mark.parametrize(("offender", "law"), OFFENDERS, ids=lambda part: str(part))
def test_a_wrong_model_is_caught_by_the_law_it_breaks(
    offender: type[ComputeModel], law: str
) -> None:
    first = next(violations(offender()))
    assert first.startswith(f"{law}: ")


def test_a_model_may_say_that_it_beats_the_roofline() -> None:
    class Measured(Marvel):
        may_beat_the_roofline = True

    assert list(violations(Measured())) == []


def test_what_is_no_model_is_refused() -> None:
    with pytest.raises(ConfigError, match="expected a ComputeModel class"):
        models.get(int)
