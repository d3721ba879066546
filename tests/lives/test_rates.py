"""Files of rates say what their sources say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from yantra.base.errors import ConfigError
from yantra.fabric import clusters, failures
from yantra.fabric.failures import load, parsed
from yantra.lives.draws import DAY_NS, drawn

PUBLISHED = {
    "restart_low": 300.0,
    "restart_high": 1200.0,
    "notice": 600.0,
    "slower": 3.04,
    "recoverable": 0.195 + 0.049,
    "reconfigure": 100.0,
    "pause": 0.59,
}
FLEETS = {
    "stepfun": 584 / (400 * 348.98),
    "rsc1": 6.50e-3,
    "rsc2": 2.34e-3,
    "imbue": 0.03 / 7,
    "bloom": 1.5 / 7 / 50,
}
TEXT = Path(failures.__file__).with_name("files").joinpath("fleets.yaml").read_text()


@pytest.mark.parametrize("name", failures.names())
def test_recovery_takes_what_is_published(name: str) -> None:
    found: dict[str, Any] = {one: getattr(load(name), one).value for one in PUBLISHED}
    assert found == pytest.approx(PUBLISHED)


def test_rates_of_fleets_are_those_of_their_sources() -> None:
    found = load("fleets")
    assert dict(found.fleets) == pytest.approx(FLEETS, rel=1e-3)
    assert found.host_days == pytest.approx(400 * 348.98, rel=1e-4)
    assert found.storage.value == pytest.approx(14 * 405e9 / 51.06 / 8960, rel=2e-3)
    assert load("llama3").storage.value == pytest.approx(2e12 / 16_384, rel=2e-3)


@pytest.mark.parametrize(("gpus", "hours"), [(16_384, 1.8), (131_072, 0.23)])
def test_mean_times_to_failure_are_those_of_the_fleets_own_paper(gpus: int, hours: float) -> None:
    fleet = load("fleets")._replace(fleets=(("rsc1", 6.50e-3),))
    events = drawn(fleet, gpus // 8, DAY_NS, 200, 3)
    met = (events.at < events.horizon).sum(axis=0).mean()
    assert 24.0 / met == pytest.approx(hours, rel=0.04)


@pytest.mark.parametrize("name", failures.names())
def test_a_devices_time_between_failures_gives_the_interruptions_of_lives(name: str) -> None:
    of = load(name)
    events = drawn(of, 512, 20 * DAY_NS, 1000, 5)
    met = (events.at < events.horizon).sum(axis=0).mean()
    devices = 512 * of.host_gpus
    assert met == pytest.approx(devices * 20 * 86_400 / of.device_mtbf_s, rel=0.03)


def test_the_clusters_time_between_failures_is_that_of_the_fleet_it_names() -> None:
    of = load("llama3")
    crashes = sum(one.events for one in of.components if one.does == "crash")
    stated = clusters.load("hgx-h100").mtbf
    assert stated is not None
    hours = of.host_days * 24 * of.host_gpus / crashes
    assert stated.value == pytest.approx(hours * 3600, rel=1e-4)


def changed(old: str, new: str) -> str:
    if old.endswith(":"):  # with all that is indented below
        return re.sub(rf"^{old}.*\n(?: .*\n)+", f"{new}\n", TEXT, flags=re.MULTILINE)
    return TEXT.replace(old, new, 1)


@pytest.mark.parametrize(
    ("old", "new", "where", "problem"),
    [
        ("events: 67", "events: -1", "components.gpu.events", "a whole number from 0"),
        ("does: slow", "does: sleep", "components.slow.does", "one of crash, slow, planned"),
        ('"[stepfun] GPU: Xid', '"[step] GPU: Xid', "components.gpu.source", "[step] is not in"),
        ("value: 5 min", "value: 50 min", "restart_high", "below restart_low"),
        ("value: 3.04", "value: 0.5", "slower", "at least 1"),
        ("value: 0.244", "value: 2.5", "recoverable", "at most 1"),
        ("hours: [0, 0.2,", "hours: [9, 0.2,", "repair_h.hours", "numbers that do not fall"),
        ("hours: [0, 0.2,", "hours: [0.2,", "repair_h", "as many hours"),
        ("hours: [0, 0.2,", "hours: [0, .inf,", "repair_h.hours", "numbers that do not fall"),
        ("fleets:", "fleets: [7]", "fleets", "a mapping"),
        ("components:", "components: 7", "components", "a mapping"),
        ("notice: ", "notices: ", "notices", "did you mean 'notice'"),
    ],
)
def test_a_wrong_file_is_refused_at_its_place(old: str, new: str, where: str, problem: str) -> None:
    assert old in TEXT
    with pytest.raises(ConfigError) as caught:
        parsed(changed(old, new), "mine.yaml")
    assert caught.value.where == f"mine.yaml: {where}"
    assert problem in caught.value.problem
