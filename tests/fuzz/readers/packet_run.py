"""Options of the packet network, run: a preset, then an option a line, on an incast of three."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from tests.fuzz.commands import status_of

FORM = "text"
_FLOWS = "".join(f"{host},0,20000,0\n" for host in (1, 2, 3))
_PLACE = ("--set", "ranks=4", "--set", "bandwidth=100Gb/s", "--set", "latency=1us")


def seeds() -> list[bytes]:
    texts = (
        "hpcc95\ntarget_utilisation=0.95\nbuffer=2MiB\nadditive_increase=40Mb/s\n",
        "dcqcn\nkmin=40kB\nkmax=160kB\npmax=0.5\nincrease_interval=300us\ncnp_delay=1us\n",
        "uec\nreordering=4\nack_every=0\nentropies=8\nwindow_bytes=20kB\npayload=4096\n",
        "swift\nqueue=drr\nquantum=1500\nshort_weight=2\nretransmission=1ms\n",
        "cubic\nfirst_silence=5ms\npauses=0\nbuffer=64KiB\n",
        "timely\npause=1us\nmarks=0\nacks_first=1\nbase_rtt=4us\n",
    )
    return [text.encode() for text in texts]


def read(data: bytes) -> object:
    preset, *options = data.decode(errors="replace").replace("\0", "").split("\n")
    with TemporaryDirectory() as folder:
        flows = Path(folder) / "flows.csv"
        flows.write_text(f"source,destination,bytes,start_ns\n{_FLOWS}")
        changes = [f"--packet={option}" for option in options if option]
        network = ("--topology", "switch", *_PLACE, "--network", "packet", f"--preset={preset}")
        return status_of(["network", "flows", str(flows), *network, *changes])
