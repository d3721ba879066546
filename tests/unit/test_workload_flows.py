"""`yantra network flows --workload` simulates what `network generate poisson` makes."""

from __future__ import annotations

from pathlib import Path

import pytest

from yantra.cli import main

SIZES = ("leaves=2", "ranks_per_leaf=4", "spines=2", "bandwidth=100Gb/s", "latency=1us")
FABRIC = ["--topology", "leaf_spine", *(word for size in SIZES for word in ("--set", size))]
OVER = ["network", "flows", *FABRIC]


@pytest.mark.parametrize("sizes", ["websearch", "own.csv"])
@pytest.mark.parametrize(("duration", "said"), [("10 ms", []), ("2ms", ["--duration", "2ms"])])
@pytest.mark.parametrize("seed", ["0", "7"])
def test_a_workload_is_its_list_at_the_rate_of_hosts(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    sizes: str,
    duration: str,
    said: list[str],
    seed: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.csv").write_text("bytes,percent\n0,0\n100000,50\n900000,100\n")
    load = ["--load", "0.4", "--seed", seed]
    made = [*load, *f"--set sizes={sizes} --set bandwidth=100Gb/s --set".split()]
    generate = ["network", "generate", "poisson", "--hosts", "8", *made, f"duration={duration}"]
    assert main([*generate, "-o", "list.csv"]) == 0
    assert main([*OVER, "list.csv", "--seed", seed, "-o", "by_list.csv"]) == 0
    assert main([*OVER, "--workload", sizes, *load, *said, "-o", "at_once.csv"]) == 0
    rows = Path("at_once.csv").read_text()
    assert rows == Path("by_list.csv").read_text()
    assert len(rows.splitlines()) > 5


def test_a_host_with_several_links_has_their_rate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Host 0 has two links of 5 GB/s, the others one of 10: a load is of 10 GB/s for each."""
    monkeypatch.chdir(tmp_path)
    rows = [(f"{rank}", "one", 10) for rank in (1, 2, 3)]
    rows += [("0", "one", 5), ("0", "two", 5), ("two", "one", 5)]
    text = "".join(f"{a},{b},{rate} GB/s,1 us\n" for a, b, rate in rows)
    Path("pod.csv").write_text(f"from,to,bandwidth,latency\n{text}")
    run = ["network", "flows", "--topology", "pod.csv", "--workload", "hadoop", "--load", "0.3"]
    assert main([*run, "--duration", "1ms", "-o", "at_once.csv"]) == 0
    generate = "network generate poisson --hosts 4 --load 0.3 --set sizes=hadoop --set duration=1ms"
    assert main([*generate.split(), "--set", "bandwidth=10GB/s", "-o", "list.csv"]) == 0
    assert main(["network", "flows", "list.csv", *run[2:4], "-o", "by_list.csv"]) == 0
    assert Path("at_once.csv").read_text() == Path("by_list.csv").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "FLOWS: missing; give a list of flows, or --workload and --load"),
        ("--load 0.5", "--load: goes with --workload"),
        ("list.csv --duration 1ms", "--duration: goes with --workload"),
        ("--workload websearch", "--load: missing"),
        ("--workload webserch --load 0.5", "did you mean 'websearch'?"),
        ("--workload websearch --load 2", "--load: must be at most 1; got 2"),
        ("--workload websearch --load some", "--load: expected"),
        ("--workload websearch --load 0.5 --duration soon", "--duration: not a quantity"),
        ("list.csv --workload websearch --load 0.5", "--workload: takes the place of a list"),
    ],
)
def test_what_is_no_workload_is_named(
    capsys: pytest.CaptureFixture[str], words: str, said: str
) -> None:
    assert main([*OVER, *words.split()]) == 2
    assert said in capsys.readouterr().err
