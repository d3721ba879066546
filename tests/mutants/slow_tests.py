"""A plug-in of pytest that ends it in a test that takes the processor for too long."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

VARIABLE = "YANTRA_SLOWEST_TEST"
MOST_SECONDS = float(os.environ.get(VARIABLE, "10"))  # of the processor, in one test


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Iterator[None]:
    signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
