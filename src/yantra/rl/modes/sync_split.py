"""Synchronous on GPUs of their own: some generate, others train, and each waits for the other.

Trade-off: nothing is switched, and at each time a side does nothing.
Source: Hu et al., OpenRLHF, arXiv 2405.11143 (2024).
"""

from __future__ import annotations

from yantra.rl.modes.sync import Sync

PLUGIN_NAME = "sync-split"


class SyncSplit(Sync):
    about = "some GPUs generate, others train, and each waits for the other"
    colocated = False


PLUGIN = SyncSplit
