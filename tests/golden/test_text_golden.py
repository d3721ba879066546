"""Text workloads: upstream's traces byte for byte, and every policy runs (../shared/golden, or
YANTRA_GOLDEN). An older upstream wrote group H.
"""

from __future__ import annotations

import json
import os
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.archives import unpack
from yantra import chakra
from yantra.astra_sim import from_files
from yantra.base.errors import ConfigError
from yantra.chakra import NodeType
from yantra.compile import compile
from yantra.run.simulate import run_native
from yantra.workloads.importers.layer_text import convert, convert_upstream

ROOT = Path(os.environ.get("YANTRA_GOLDEN", Path(__file__).parents[3] / "shared" / "golden"))
CONVERTED = sorted(ROOT.glob("chakra/text.tar.*"))
SIMULATED = sorted(ROOT.glob("astra-sim/H_text.tar.*"))
UNKNOWN_TO_UPSTREAM = re.compile("TRANSFORMER|CUSTOMIZED|REORDER|INFERENCE")


def unpacked(archive: Path, folder: Path) -> Path:
    with tarfile.open(archive) as files:
        unpack(files, folder)
    return folder


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not CONVERTED:
        pytest.skip("the golden sets are not here")
    folder = unpacked(CONVERTED[0], tmp_path_factory.mktemp("text"))
    return next(folder.rglob("RESULT.txt")).parent


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not SIMULATED:
        pytest.skip("the golden sets are not here")
    return unpacked(SIMULATED[0], tmp_path_factory.mktemp("H")) / "H_text"


def runs(converted: Path) -> Iterator[tuple[Path, int, list[Path]]]:
    for source in sorted((converted / "in").iterdir()):
        for passes in (1, 2):
            written = converted / "out" / source.stem / f"passes{passes}"
            yield source, passes, sorted(written.glob("*.et"))


def test_every_trace_is_upstreams_byte_for_byte(converted: Path, tmp_path: Path) -> None:
    compared = 0
    for source, passes, traces in runs(converted):
        prefix = tmp_path / source.stem
        if not traces:
            with pytest.raises(ConfigError, match="without --compat upstream"):
                convert_upstream(source, prefix, 2, passes)
        else:
            convert_upstream(source, prefix, 2, passes)
        for trace in traces:
            assert (tmp_path / trace.name).read_bytes() == trace.read_bytes(), trace
            compared += 1
    assert compared == 32


def test_the_nodes_of_group_h_are_upstreams(simulated: Path, tmp_path: Path) -> None:
    compared = 0
    for case in sorted(simulated.iterdir()):
        traces = sorted(case.glob("*.et"))
        if not traces:
            assert UNKNOWN_TO_UPSTREAM.search((case / "workload.txt").read_text())
            continue
        passes = 2 if case.name.endswith("2passes") else 1
        convert_upstream(case / "workload.txt", tmp_path / "workload", len(traces), passes)
        for trace in traces:
            ours, upstreams = chakra.read(tmp_path / trace.name), chakra.read(trace)
            assert list(ours) == list(upstreams), trace
            assert ours.metadata.attributes[1:] == upstreams.metadata.attributes[1:]
            compared += 1
    assert compared > 200


def test_every_policy_runs_to_the_end(simulated: Path, tmp_path: Path) -> None:
    policies = set()
    for case in sorted(simulated.iterdir()):
        text = (case / "workload.txt").read_text()
        if "_REORDER" in text:
            with pytest.raises(ConfigError, match='got "DATA_REORDER"'):
                convert(case / "workload.txt", tmp_path / "w", 8)
            continue
        ranks = json.loads((case / "case.json").read_text())["npus"]
        dims = (2, 4, 2) if "R2F4S2" in case.name else (ranks,)
        if case.name.startswith("gpt3") and ranks < 16:
            with pytest.raises(ConfigError, match="divides 8 ranks, got 16"):
                convert(case / "workload.txt", tmp_path / "w", dims=dims)
            continue
        done = convert(case / "workload.txt", tmp_path / "w", dims=dims)
        scenario, _ = from_files(
            directory=case,
            workload=str(tmp_path / "w"),
            system="system.json",
            network="network.yml",
            memory="memory.json",
            groups=done.groups,
            network_backend="congestion-unaware",
        )
        finish = run_native(compile(scenario)).finish.tolist()
        kernels = [node for node in chakra.read(done.traces[0]) if node.type is NodeType.COMP]
        computed = sum(node.duration_micros for node in kernels if not node["is_cpu_op"])
        assert computed * 1000 <= min(finish), case
        policies.add(text.split()[0])
    assert len(policies) == 9
