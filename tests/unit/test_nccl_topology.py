"""A system of NCCL's tuner from `nvidia-smi topo -m`: read, searched, refused with one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.nvidia_topology import matrix
from yantra.base.errors import ConfigError
from yantra.collectives.nccl.search import Machine, machine_of, searched
from yantra.collectives.nccl.topology import Topology, parse
from yantra.collectives.selection.nccl import Nccl
from yantra.collectives.selection.selection import Group, Timed


def test_a_matrix_is_read_with_its_escapes_and_its_legend() -> None:
    found = parse(matrix(4, 2, 18), "topo.txt")
    assert found.gpus == ("GPU0", "GPU1", "GPU2", "GPU3")
    assert found.nics == ("mlx5_0", "mlx5_1")
    assert found.nvlinks() == 18
    assert [found.nearest(one) for one in found.gpus] == ["PIX"] * 4
    assert found.paths["GPU0", "mlx5_1"] == found.paths["mlx5_1", "GPU0"] == "SYS"


@pytest.mark.parametrize(
    ("gpu", "links", "ring", "nvls"),
    [
        ("hopper", 18, (12, 30.0), (8, 40.0)),  # as NVIDIA/nccl issue 1197 shows of 8 H100s
        ("ampere", 12, (12, 20.0), None),
        ("volta", 6, (6, 20.0), None),
        ("blackwell", 18, (8, 90.0), (8, 80.0)),
    ],
)
def test_the_search_finds_the_channels_that_logs_show(
    gpu: str, links: int, ring: tuple[int, float], nvls: tuple[int, float] | None
) -> None:
    machine = machine_of(parse(matrix(8, 8, links), "t"), gpu, 0.0, "x")  # type: ignore[arg-type]
    found = {one.algorithm: (one.channels, one.intra) for one in searched(machine)}
    assert found["Ring"] == found["Tree"] == ring
    assert found.get("NVLS") == nvls
    assert {one.nodes for one in searched(machine)} == {1}


@given(
    gpu=st.sampled_from(["volta", "ampere", "hopper", "blackwell"]),
    gpus=st.integers(2, 16),
    nvlink=st.floats(20.0, 800.0),
    nics=st.integers(0, 16),
    nic=st.floats(0.2, 110.0),
)
@settings(max_examples=200)
def test_channels_never_have_more_than_links_and_adapters(
    gpu: str, gpus: int, nvlink: float, nics: int, nic: float
) -> None:
    for one in searched(Machine(gpu, gpus, nvlink, nics, nic)):  # type: ignore[arg-type]
        carried = one.channels + (1 if one.algorithm == "NVLS" else 0)
        assert carried * one.intra <= nvlink * (1 + 1e-12)
        assert one.channels >= 1 and one.intra > 0
        if one.nodes > 1:
            assert one.channels * one.inter <= nics * nic * (1 + 1e-12)


def test_a_scenario_takes_its_graphs_from_the_matrix(tmp_path: Path) -> None:
    (tmp_path / "topo.txt").write_text(matrix(8, 8, 18))
    section = Nccl.options
    assert section is not None
    options = {"gpu": "hopper", "cpu": "intel", "topology": "topo.txt", "nic": "400 Gb/s"}
    selection = Nccl(section.read(options | {"nvls": True}, "o", str(tmp_path)))
    for ranks, local in ((8, 8), (32, 8)):
        group = Group(ranks, (("switch", ranks),), (0,), 0, local)
        (choice,) = selection.choices("all_reduce", group)
        assert isinstance(choice.algorithms, Timed)
        runs = {name for _, name in choice.algorithms.runs}
        assert "Ring LL" in runs or "Tree LL" in runs
        assert ("NVLS Simple" in runs) == (ranks == 8)


def test_only_the_nics_that_are_named_carry_graphs_over_nodes(tmp_path: Path) -> None:
    (tmp_path / "topo.txt").write_text(matrix(8, 8, 18))
    section = Nccl.options
    assert section is not None
    base = {"gpu": "hopper", "cpu": "intel", "topology": "topo.txt", "nic": "400 Gb/s"}
    group = Group(16, (("switch", 16),), (0,), 0, 8)
    times = []
    for named in ([], ["mlx5_0", "mlx5_3"]):
        selection = Nccl(section.read(base | {"nics": named}, "o", str(tmp_path)))
        (choice,) = selection.choices("all_reduce", group)
        assert isinstance(choice.algorithms, Timed)
        times.append(choice.algorithms.points[-1][1])
    assert times[1] > 3 * times[0]
    wrong = Nccl(section.read(base | {"nics": ["mlx5_0", "mlx5_9"]}, "o", str(tmp_path)))
    with pytest.raises(ConfigError, match=r"options\.nics\[1\]: expected one of mlx5_0, .*mlx5_9"):
        wrong.choices("all_reduce", group)


def test_what_does_not_go_together_is_said(tmp_path: Path) -> None:
    (tmp_path / "topo.txt").write_text(matrix(8, 0, 18))
    section = Nccl.options
    assert section is not None
    group = Group(8, (("switch", 8),), (0,), 0, 8)
    base = {"gpu": "hopper", "cpu": "intel"}
    for more, told in (
        ({"nic": "400 Gb/s"}, r"options\.nic: only with topology"),
        ({"nics": ["mlx5_0"]}, r"options\.nics: only with topology"),
        ({"topology": "topo.txt", "nics": ["mlx5_0"]}, r"options\.nics\[0\]: .*there is none"),
        ({"topology": "topo.txt", "nic": "400 Gb/s"}, r"options\.nic: .*topo.txt has no adapters"),
        (
            {"topology": "topo.txt", "gpu": "volta"},
            "at most the 6 NVLinks of volta GPUs, got .NV18",
        ),
    ):
        selection = Nccl(section.read(base | more, "o", str(tmp_path)))
        with pytest.raises(ConfigError, match=told):
            selection.choices("all_reduce", group)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "t: expected a line of columns GPU0"),
        ("nonsense\n\x00\x01", "t: expected a line of columns GPU0"),
        ("GPU0 GPU1\nGPU0 X NV18\n", "t: GPU1 is a column without a line"),
        ("GPU0 GPU0\n", "t:1: GPU0 is a column twice"),
        ("GPU0 GPU1\nGPU0 X\n", "t:2: expected 2 paths, got 1"),
        ("GPU0 GPU1\nGPU0 X NVX\n", "t:2: GPU1: expected NV1 and so on, PIX"),
        ("GPU0 GPU1\nGPU0 NV1 X\n", 't:2: GPU0: expected X, got "NV1"'),
        ("GPU0 GPU1\nGPU0 X NV18\nGPU1 NV12 X\n", "t: GPU0 has NV18 to GPU1, and GPU1 has NV12"),
        ("GPU0\nGPU0 X\n", "t: expected at least 2 GPUs, got 1"),
        (matrix(2, 2, 18).replace("mlx5_1", "mlx5_0"), "two NICs have one name in the legend"),
        (" ".join(f"GPU{at}" for at in range(300)), "t:1: expected at most 256 GPUs and NICs"),
    ],
)
def test_a_bad_matrix_gives_one_exact_line(text: str, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text, "t")
    assert told in str(caught.value) and "\n" not in str(caught.value)


@given(st.text(max_size=300) | st.binary(max_size=300).map(lambda raw: raw.decode("latin-1")))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        assert isinstance(parse("GPU0 GPU1 NIC0\n" + text, "t"), Topology)
    except ConfigError as error:
        assert str(error).startswith("t")


def test_gpus_that_are_not_alike_are_refused() -> None:
    mesh = "GPU0 GPU1 GPU2\nGPU0 X NV1 NV2\nGPU1 NV1 X SYS\nGPU2 NV2 SYS X\n"
    direct = matrix(4, 0, 4)  # 3 x 4 of 12 links: no switch
    for text in (mesh, direct):
        with pytest.raises(ConfigError, match="over switches, all alike; give graphs or a log"):
            machine_of(parse(text, "t"), "ampere", 0.0, "x")
