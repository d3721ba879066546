"""What Yantra says of oddly written files; each tried on ASTRA-sim's binary (master of 2026-03)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cases import ALL_REDUCE, ASTRA_SIM_SYSTEM
from yantra.astra_sim import from_files
from yantra.astra_sim.flags import parse
from yantra.astra_sim.numbers import as_stoi
from yantra.base.errors import ConfigError, TraceError, UnsupportedError
from yantra.chakra import TraceBuilder
from yantra.compile import compile
from yantra.run.simulate import run_native

NETWORK = "topology: [Ring]\nnpus_count: [4]\nbandwidth: [50.0]\nlatency: [500.0]\n"
MIB = 1 << 20
ALONE = 33829  # ns, of an all-reduce of 1 MiB over all four
OF_TWO = 21541  # of the same over ranks 0 and 1


def finishes(
    folder: Path,
    network: str = NETWORK,
    *,
    pg_name: str | None = None,
    groups: dict[str, list[Any]] | None = None,
    memory: str = '{"memory-type": "NO_MEMORY_EXPANSION"}',
    **system: Any,
) -> tuple[list[int], list[str]]:
    for rank in range(4):
        trace = TraceBuilder(first_id=1)
        if pg_name is None or rank < 2:
            trace.collective(ALL_REDUCE, MIB, group=pg_name)
        else:
            trace.compute(duration_micros=1)
        trace.build().write(folder / f"workload.{rank}.et")
    keys = {"preferred-dataset-splits": 1, "local-mem-bw": 1600} | {
        key.replace("_", "-"): value for key, value in system.items()
    }
    (folder / "system.json").write_text(json.dumps(ASTRA_SIM_SYSTEM | keys))
    (folder / "network.yml").write_text(network)
    (folder / "memory.json").write_text(memory)
    if groups is not None:
        (folder / "groups.json").write_text(json.dumps(groups))
    scenario, warnings = from_files(
        workload="workload",
        system="system.json",
        network="network.yml",
        memory="memory.json",
        groups=None if groups is None else "groups.json",
        directory=folder,
    )
    model = compile(scenario)
    return list(run_native(model).finish), [*warnings, *model.warnings]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("51", 51),
        ("+51", 51),
        ("-3", -3),
        ("27abc", 27),
        ("1 ", 1),
        (" 1", 1),
        ("\t\n1", 1),
        ("0x5", 0),
        ("1.5", 1),
        ("007", 7),
        ("2147483647", 2147483647),
        ("2147483648", None),
        ("-2147483648", -2147483648),
        ("-2147483649", None),
        ("9" * 5000, None),
        ("", None),
        ("+", None),
        ("+-1", None),
        ("dp", None),
        ("\u0661", None),
    ],
)
def test_ids_are_read_as_stoi_reads_them(text: str, read: int | None) -> None:
    assert as_stoi(text) == read


@pytest.mark.parametrize("key", ["+51", "27abc", "1 ", " 1", "1.5", "007", "2147483647", "2148"])
def test_a_group_may_be_spelled_in_any_way_that_stoi_reads(key: str, tmp_path: Path) -> None:
    group = as_stoi(key)
    ends, warnings = finishes(tmp_path, pg_name=key, groups={key: [0, 1]})
    assert ends == [OF_TWO, OF_TWO, 1000, 1000]
    told = []
    if not key.isdigit():
        told.append(f"{json.dumps(key)}: is read as group {group}, as in ASTRA-sim")
    if str(group) != key:
        told.append(f"pg_name {key!r} is read as {group}, as in ASTRA-sim")
    assert [one.partition("groups.json: ")[2] or one for one in warnings] == told
    plain, _ = finishes(tmp_path, pg_name=str(group), groups={key: [0, 1]})
    assert plain == ends


@pytest.mark.parametrize(
    "groups",
    [
        {"5": [0, 1, 2], "5a": [0, 1]},
        {"5a": [0, 1], "5": [2, 3]},
        {"+5": [0], "5": [0, 1]},
        {"5": [0, 99], "5a": [0, 1]},
    ],
)
def test_of_keys_with_one_id_the_later_by_its_bytes_counts(
    groups: dict[str, list[int]], tmp_path: Path
) -> None:
    ends, warnings = finishes(tmp_path, pg_name="5", groups=groups)
    assert ends == [OF_TWO, OF_TWO, 1000, 1000]
    assert any("given twice; this one counts" in warning for warning in warnings)


@pytest.mark.parametrize("members", [[0, 1, 1], [0, 99], [0, -1], [], [0, 1.5]])
def test_a_wrong_group_that_no_node_names_is_left_out(members: list[Any], tmp_path: Path) -> None:
    ends, warnings = finishes(tmp_path, groups={"5": members, "6": [0, 1]})
    assert ends == [ALONE] * 4
    (warning,) = warnings
    assert warning.endswith("; no node names the group, so it is left out")
    with pytest.raises(ConfigError, match=r'groups\.json: "5": '):
        finishes(tmp_path, pg_name="5x", groups={"5": members})


@pytest.mark.parametrize("name", ["00", "+0", "0 ", "-0", " 0", "dp", " "])
def test_only_0_and_the_empty_name_are_all_ranks(name: str, tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="is not defined") as caught:
        finishes(tmp_path, pg_name=name, groups={"1": [0, 1]})
    assert "has no algorithm" not in str(caught.value)  # it would follow from the first


@pytest.mark.parametrize(
    ("network", "ends", "warning"),
    [
        (NETWORK + "bandwidth: [100.0]\n", ALONE, "the first value counts"),
        ("bandwidth: [100.0]\n" + NETWORK, 19183, "the first value counts"),
        (NETWORK + "---\n" + NETWORK.replace("50", "100"), ALONE, "the first counts"),
        (NETWORK.replace("50.0", ".inf"), 4537, None),
        (NETWORK.replace("50.0", "+.INF"), 4537, None),
    ],
)
def test_the_network_file_is_read_as_yaml_cpp_reads_it(
    network: str, ends: int, warning: str | None, tmp_path: Path
) -> None:
    found, warnings = finishes(tmp_path, network)
    assert found == [ends] * 4
    assert [one.endswith(f"{warning}, as in ASTRA-sim") for one in warnings] == [True] * (
        warning is not None
    )


def test_a_memory_file_need_not_say_that_there_is_none(tmp_path: Path) -> None:
    ends, warnings = finishes(tmp_path, memory='{"remote-mem-bw": 3}')
    assert ends == [ALONE] * 4
    assert "missing, so there is no remote memory, as in ASTRA-sim" in warnings[0]


@pytest.mark.parametrize(
    ("keys", "ends"),
    [
        ({"peak_perf": -1}, ALONE),
        ({"peak_perf": 1e300}, ALONE),
        ({"local_mem_bw": 1e300}, 32362),
    ],
)
def test_rates_may_be_beyond_what_a_double_has(
    keys: dict[str, float], ends: int, tmp_path: Path
) -> None:
    assert finishes(tmp_path, **keys)[0] == [ends] * 4


REQUIRED = [
    f"--{name}-configuration={name}" for name in ("workload", "system", "network", "remote-memory")
]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2f", 2.0),
        ("2.5x", 2.5),
        ("0x10", 0.0),
        (" 2", 2.0),
        ("2 3", 2.0),
        (".5", 0.5),
        ("5.", 5.0),
    ],
)
def test_a_scale_is_what_a_stream_reads_of_its_text(text: str, value: float) -> None:
    flags = parse([*REQUIRED, f"--injection-scale={text}"])
    assert flags.injection_scale == value
    cut = text.strip() not in ("2", ".5", "5.", "+2")
    assert [one.endswith("as in ASTRA-sim") for one in flags.warnings] == [True] * cut


@pytest.mark.parametrize("text", ["2e", "inf", "nan", "", "x2", "2e5000", "."])
def test_a_scale_without_a_number_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="injection-scale"):
        parse([*REQUIRED, f"--injection-scale={text}"])


def test_a_missing_algorithm_is_named_by_its_key_of_the_system_file(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError) as caught:
        finishes(tmp_path, all_reduce_implementation=[])
    assert '"all-reduce-implementation": ["ring"] in the system file' in str(caught.value)


def test_a_workload_of_1_0_is_named_as_such(tmp_path: Path, read: Callable[..., Any]) -> None:
    (tmp_path / "workload").write_text("DATA\n1\nconv1 -1 5 NONE 0 5 NONE 0 5 ALLREDUCE 8 5\n")
    with pytest.raises(ConfigError, match=r"text workload of ASTRA-sim 1\.0.*chakra convert text"):
        read()


def test_the_command_line_of_1_0_names_each_of_its_files(tmp_path: Path) -> None:
    """It names no file of remote memory, which 2 cannot do without."""
    (tmp_path / "net.json").write_text('{"units-count": [4], "link-bandwidth": [25]}')
    (tmp_path / "sys.txt").write_text("scheduling-policy: LIFO\nall-reduce-implementation: ring\n")
    (tmp_path / "work.txt").write_text("MICRO\n1\nconv1 -1 5 NONE 0 5 NONE 0 5 ALLREDUCE 8 5\n")
    with pytest.raises(ConfigError) as caught:
        parse(
            [
                f"--network-configuration={tmp_path / 'net.json'}",
                f"--system-configuration={tmp_path / 'sys.txt'}",
                f"--workload-configuration={tmp_path / 'work.txt'}",
                "--run-name=sample",
                "--num-passes=2",
            ]
        )
    text = str(caught.value)
    assert text.startswith("--remote-memory-configuration: missing")
    assert [name in text for name in ("net.json: this", "sys.txt: this", "work.txt: this")] == [
        True
    ] * 3
