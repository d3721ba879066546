"""A plug-in of pytest that ends it in a test that takes the processor for too long.

Some mutants never end, and the limit of all tests of a part, which leaves room for the slowest
part, would spend most of a campaign on them. The slowest single test of the core takes two seconds,
those of Python ten: their campaigns give more. The signal ends the process even while the core
holds Python's lock. Programs that a test starts have their own limits.
"""

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
