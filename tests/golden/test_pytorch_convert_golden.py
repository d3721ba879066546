"""Upstream's converter on real traces: the same bytes in compatibility mode (../shared/golden, or
YANTRA_GOLDEN).
"""

from __future__ import annotations

import os
import tarfile
from functools import partial
from pathlib import Path

import pytest

from tests.archives import unpack
from tests.clusters import dimension
from yantra.chakra import Trace, validate
from yantra.chakra.schema import NodeType
from yantra.compile import compile
from yantra.run.simulate import run
from yantra.scenario import Collectives, Device, Scenario, Topology, Traces
from yantra.tracing.pytorch.convert import ConvertOptions, convert_job
from yantra.tracing.pytorch.link.join import link_files
from yantra.tracing.pytorch.upstream.convert import convert

ROOT = Path(os.environ.get("YANTRA_GOLDEN", Path(__file__).parents[3] / "shared" / "golden"))
CHAKRA = ROOT / "chakra"
COMPAT = [
    ("event_sync", "upstream/linked.0.json", "upstream/chakra.0.et"),
    ("event_sync_ms_ps", "upstream/linked.0.json", "upstream/chakra.0.et"),
    ("alexnet_ps", "upstream/linked.0.json", "upstream/chakra.0.et"),
    ("dlrm8_renamed", "upstream/linked.0.json", "upstream/chakra.0.et"),
    ("dlrm8_renamed", "upstream/linked.1.json", "upstream/chakra.1.et"),
    (
        "cpu_small",
        "upstream/cpu_small_single/linked.0.json",
        "upstream/cpu_small_single/chakra.0.et",
    ),
    ("cpu_small", "upstream/cpu_small_ddp2/linked.0.json", "upstream/cpu_small_ddp2/chakra.0.et"),
    ("host_only", "pt2.json", "upstream/pt2.0.et"),
    ("host_only", "hf_gpt2.json", "upstream/hf_gpt2.0.et"),
    ("resnet_pair", "upstream/linked.0.json", "upstream/chakra.0.et"),
]

pytestmark = pytest.mark.skipif(not CHAKRA.exists(), reason="the golden sets are not here")


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("golden")


def case(name: str, unpacked: Path) -> Path:
    if not (unpacked / name).exists():
        with tarfile.open(CHAKRA / f"{name}.tar.xz") as archive:
            unpack(archive, unpacked)
    return unpacked / name


@pytest.mark.parametrize(("name", "source", "expected"), COMPAT)
def test_compatibility_mode_gives_upstreams_bytes(
    name: str, source: str, expected: str, unpacked: Path
) -> None:
    folder = case(name, unpacked)
    assert convert(folder / source).to_bytes() == (folder / expected).read_bytes()


PAIRS = {
    "resnet_pair": [("host.json", "device.json")],
    "alexnet_ps": [("host.json", "device.json")],
    "event_sync": [("host.json", "device.json")],
    "event_sync_ms_ps": [("host.json", "device.json")],
    "dlrm8_renamed": [(f"host_{rank}.json", f"device_{rank}.json") for rank in range(8)],
    "cpu_small": [(f"input/ddp2/host.{r}.json", f"input/ddp2/device.{r}.json") for r in range(2)],
}
COMMUNICATE = {"resnet_pair": 21, "dlrm8_renamed": 64, "cpu_small": 12}


def converted(name: str, folder: Path, **options: bool) -> list[Trace]:
    made: dict[int, list[bytes]] = {}
    sources = [
        partial(link_files, str(folder / host), str(folder / device))
        for host, device in PAIRS[name]
    ]
    chosen = ConvertOptions(**options)
    job = convert_job(sources, lambda rank, pieces: made.update({rank: list(pieces)}), chosen)
    assert job.report.problems == []
    assert not job.report.unknown_kernels
    return [Trace.from_bytes(b"".join(made[rank])) for rank in sorted(made)]


@pytest.mark.parametrize("name", PAIRS)
def test_real_traces_convert_to_whole_traces(name: str, unpacked: Path) -> None:
    traces = converted(name, case(name, unpacked))
    for trace in traces:
        assert validate(trace) == []
        assert trace.native.id.tolist() == list(range(len(trace)))
    talking = sum(kind > NodeType.COMP for trace in traces for kind in trace.native.type)
    assert talking == COMMUNICATE.get(name, 0)


def test_the_uneven_all_to_all_of_a_real_job_is_what_its_pairs_exchange(unpacked: Path) -> None:
    traces = converted("dlrm8_renamed", case("dlrm8_renamed", unpacked), split_all_to_alls=True)
    ends = {NodeType.COMM_SEND: 0, NodeType.COMM_RECV: 0}
    sizes: set[int] = set()
    for node in (node for trace in traces for node in trace if node.type in ends):
        ends[node.type] += node["comm_size"]  # type: ignore[index, operator, assignment]
        sizes.add(node["comm_size"])  # type: ignore[arg-type]
    assert ends[NodeType.COMM_SEND] == ends[NodeType.COMM_RECV] > 0 and len(sizes) > 1


@pytest.mark.parametrize("name", ["dlrm8_renamed", "cpu_small", "resnet_pair"])
def test_real_jobs_run_to_their_end(name: str, unpacked: Path) -> None:
    traces = converted(name, case(name, unpacked))
    ranks = max(len(traces), 2)  # the pair has one of two ranks, which did the same
    kinds = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
    scenario = Scenario(
        workload=Traces(traces=tuple((traces * 2)[:ranks])),
        topology=Topology(dimensions=(dimension(size=ranks),)),
        device=Device(memory_bytes_per_s=1e12),
        collectives=Collectives(**dict.fromkeys(kinds, ("ring",))),
        semantics="astra-sim",
    )
    modelled = run(compile(scenario))
    replayed = run(compile(scenario.replace(replay_only=True)))
    assert len(modelled.ranks) == len(replayed.ranks) == ranks
