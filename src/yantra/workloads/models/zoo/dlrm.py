"""MLPerf's recommendation model: DLRM with low-rank crosses (DCNv2) on Criteo's terabyte of clicks.

Source: MLCommons training, recommendation_v2 (torchrec_dlrm, README and its defaults for MLPerf):
26 tables of at most 40 million rows of 128 numbers, a synthetic multi-hot data set of 214 lookups a
sample, bottom 512-256-128, three crosses of rank 512, top 1024-1024-512-256-1.
"""

from __future__ import annotations

from yantra.workloads.models.blocks.dlrm import Click, Cross, Features
from yantra.workloads.models.model import Model

_ROWS = (
    40_000_000, 39_060, 17_295, 7_424, 20_265, 3, 7_122, 1_543, 63, 40_000_000, 3_067_956, 405_282,
    10, 2_209, 11_938, 155, 4, 976, 14, 40_000_000, 40_000_000, 40_000_000, 590_152, 12_973, 108,
    36,
)  # fmt: skip
_LOOKUPS = (3, 2, 1, 2, 6, 1, 1, 1, 1, 7, 3, 8, 1, 6, 9, 5, 1, 1, 1, 12, 100, 27, 10, 3, 1, 1)
_WIDTH = 128
_FEATURES = _WIDTH * (1 + len(_ROWS))

PLUGIN = (
    Model(
        name="dlrm",
        hidden=_FEATURES,
        front=Features(
            rows=_ROWS, lookups=_LOOKUPS, width=_WIDTH, dense=13, bottom=(512, 256, 128)
        ),
        layers=(Cross(features=_FEATURES, rank=512),) * 3,
        tail=Click(features=_FEATURES, top=(1024, 1024, 512, 256)),
        sequence=1,
        source="MLCommons training, recommendation_v2/torchrec_dlrm",
        fixed_sequence=True,
        notes=("a sequence is one sample; tables are split over ep",),
    ),
)
