"""Files of ASTRA-sim's ns-3 front end, run: a configuration, a line that parts, and a topology."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from tests.fuzz.commands import status_of
from tests.unit.test_ns3_front_end import CONFIG, files_of_a_star

FORM = "text"
_PARTED = "\n----\n"


def seeds() -> list[bytes]:
    found = []
    for mode in ("1", "3", "7", "8", "10", "12"):
        keys = CONFIG | {
            "CC_MODE": mode,
            "FCT_OUTPUT_FILE": "fct.txt",
            "PFC_OUTPUT_FILE": "pfc.txt",
            "QLEN_MON_FILE": "qlen.txt",
        }
        config = "".join(f"{key} {value}\n" for key, value in keys.items())
        cables = "".join(f"{host} 4 100Gbps 0.0005ms 0\n" for host in range(4))
        found.append(f"{config}{_PARTED}5 1 4\n4\n{cables}".encode())
    return found


def read(data: bytes) -> object:
    config, _, topology = data.decode(errors="replace").partition(_PARTED)
    with TemporaryDirectory() as name:
        folder = Path(name)
        options = files_of_a_star(folder, hosts=4, size=40_000)
        (folder / "config.txt").write_text(config)
        (folder / "topology.txt").write_text(topology)
        return status_of(options, folder)
