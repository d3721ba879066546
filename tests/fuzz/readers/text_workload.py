"""Text workloads of ASTRA-sim 1.0, read strictly and as upstream's converter reads them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from yantra.base.errors import YantraError
from yantra.workloads.importers.layer_text import convert, convert_upstream

FORM = "text"

_LAYERS = b"""
3
a\t-1\t30\tALLTOALL\t64\t20\tALLGATHER\t32\t10\tALLREDUCE\t128\t5
b\t-1\t30\tNONE\t0\t20\tREDUCESCATTER\t32\t10\tALLREDUCE\t128\t5
c\t-1\t30\tALLREDUCEALLTOALL\t64\t20\tNONE\t0\t10\tNONE\t0\t0
"""
_HEADS = (
    b"MICRO",
    b"DATA",
    b"MODEL",
    b"HYBRID_DATA_MODEL",
    b"HYBRID_DLRM 1",
    b"HYBRID_TRANSFORMER model_parallel_NPU_group: 2",
    b"HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 "
    b"checkpoints: 1 0 checkpoint_initiates: 1 2",
    b"DISTRIBUTED_INFERENCE",
)


def seeds() -> list[bytes]:
    customized = b"HYBRID_CUSTOMIZED" + _LAYERS.replace(b"\t5\n", b"\t5\tMODEL\n")
    return [*(head + _LAYERS for head in _HEADS), customized.replace(b"\t0\n", b"\t0\tDATA\n")]


def read(data: bytes) -> object:
    with TemporaryDirectory() as folder:
        source = Path(folder) / "w.txt"
        source.write_bytes(data)
        with suppress(YantraError):
            convert_upstream(source, Path(folder) / "u", 1, 2)
        return convert(source, Path(folder) / "w", dims=(2, 2), passes=2)
