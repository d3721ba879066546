"""How property tests draw their examples, what all workers share and programs find; Ctrl-C.

They judge results, never the clock: a busy machine must not fail them. By default they draw the
same examples on every run, so that a commit passes or fails for good. `make explore` draws fresh
ones, and four times as many where a law does not say how many; what it finds becomes an `@example`
beside the law.

The tests have their own configuration of what is trusted.

A shell starts background programs with Ctrl-C ignored, and so would be what tests start. A script
that asks for `python3` gets the one that runs the tests, as if its environment were active: another
may have packages that begin with every process, for ten times its time.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from tests.core_objects import Objects

_UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", _UNTIMED, derandomize=True, max_examples=50)
settings.register_profile("fresh", _UNTIMED, max_examples=200)
settings.load_profile("repeatable")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ["PATH"] = os.pathsep.join(
    [os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)]
)


@pytest.fixture(scope="session", autouse=True)
def _own_configuration(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Let no test read or write what the user trusts."""
    os.environ["XDG_CONFIG_HOME"] = str(tmp_path_factory.mktemp("config"))


@pytest.fixture(autouse=True)
def _own_trust() -> Iterator[None]:
    """Let no test run what another one allowed."""
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
    """Return who builds programs of the core, each object once for all workers."""
    from tests.core_objects import Objects

    return Objects(shared_folder / "native")
