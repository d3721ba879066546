"""Fixtures of all tests. Property tests judge results, never the clock; `make explore` draws fresh
examples, which become an `@example` beside the law.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from tests.zoo import USUAL_EXAMPLES

if TYPE_CHECKING:
    from tests.core_objects import Objects

_UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", _UNTIMED, derandomize=True, max_examples=USUAL_EXAMPLES)
settings.register_profile("fresh", _UNTIMED, max_examples=200)
settings.load_profile("repeatable")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Two workers whose matrices have two threads each wait for each other longer than they work.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

os.environ["PATH"] = os.pathsep.join(
    [os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)]
)


def pytest_collection_finish() -> None:
    """A search for garbage walks through all that is alive: 26,000 tests took seconds each time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _own_configuration(tmp_path_factory: pytest.TempPathFactory) -> None:
    os.environ["XDG_CONFIG_HOME"] = str(tmp_path_factory.mktemp("config"))
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(autouse=True)
def _own_trust() -> Iterator[None]:
    from yantra.base import trust

    before = trust.state()
    yield
    trust.take(before)


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    own = tmp_path_factory.getbasetemp()
    shared = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "shared"
    shared.mkdir(exist_ok=True)
    return shared


@pytest.fixture(scope="session")
def core_objects(shared_folder: Path) -> Objects:
    from tests.core_objects import Objects

    return Objects(shared_folder / "native")
