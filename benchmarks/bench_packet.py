"""Packets: a permutation of 16 hosts, what looking at it costs, and all pairs of 1,024 hosts.

Every host of a fat tree of 4-port switches (100 Gb/s, 500 ns) sends 16 MB to the one 8 further:
packets, ACKs among them, cross a link 3.07 million times. Goals: 0.3 s without a congestion
control, 0.45 s under HPCC; ns-3 takes 3.0 to 4.4 s and htsim 1.2 to 1.6 s. Samples of queues and
rates may cost 1.3 times the run without. Processor time is counted, the best of three.

All pairs of 1,024 hosts on a 2:1 leaf-spine exchange 64 kB at once by a typed command: 532 million
packets over links, in at most 2 minutes and 2 GB. It runs only when asked for, as do two threads
against one, each as typed and in turns, on these pairs and on a permutation of a fat tree of
16-port switches, 2 MB a host: 1.8 times as fast.

    python -m benchmarks.bench_packet
    python -m benchmarks.bench_packet all_to_all
    python -m benchmarks.bench_packet threads
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.bench_flow import fat_tree
from yantra import _core

HOSTS, PORTS = 16, 4
BYTES = 16e6
GOALS_S = {"none": 0.3, "hpcc": 0.45}
PRESETS = {"none": "static_window", "hpcc": "hpcc95"}
GOAL_LOOKING = 1.3
TIMES = 3
PAIRS = 1024
GOAL_ALL_TO_ALL_S, GOAL_ALL_TO_ALL_GB = 120.0, 2.0
GOAL_TWO_THREADS, TURNS = 1.8, 2
LEAF_SPINE = ("leaves=32", "ranks_per_leaf=32", "spines=16", "bandwidth=100Gb/s", "latency=1us")

PARTED = {
    "permutation": ("permutation", "2MB", ("fat_tree", "k=16", *LEAF_SPINE[3:])),
    "all_to_all": ("all_to_all", "64kB", ("leaf_spine", *LEAF_SPINE)),
}


def _run(preset: str, look: _core.PacketLook) -> tuple[float, int]:
    graph = fat_tree(PORTS)
    router = _core.Router(graph)
    hosts = np.arange(HOSTS, dtype=np.int32)
    others = np.roll(hosts, -HOSTS // 2)
    there, back = (
        router.paths(*ends, np.zeros(HOSTS, np.int64))
        for ends in ((hosts, others), (others, hosts))
    )
    settings = _core.packet_settings(preset, 100.0)
    settings.look = look
    run = _core.send_packets(
        first_hop=np.asarray(there.first),
        hops=np.asarray(there.links),
        first_ack_hop=np.asarray(back.first),
        ack_hops=np.asarray(back.links),
        bytes=np.full(HOSTS, BYTES),
        start_ns=np.zeros(HOSTS),
        graph=graph,
        settings=settings,
    )
    began = time.process_time()
    assert run.run_for(2**62)
    took = time.process_time() - began
    assert np.isfinite(run.end_ns).all()
    return took, run.totals.packets


def _best(preset: str, look: _core.PacketLook) -> tuple[float, int]:
    return min(_run(preset, look) for _ in range(TIMES))


def report(folder: Path) -> bool:
    del folder
    met = True
    for name, goal_s in GOALS_S.items():
        took, packets = _best(PRESETS[name], _core.PacketLook.NOTHING)
        print(
            f"packets: {name}, {packets / 1e6:.2f} M over links: {took:.3f} s (goal {goal_s:g} s)"
        )
        sampled, _ = _best(PRESETS[name], _core.PacketLook.SAMPLES)
        changes, _ = _best(PRESETS[name], _core.PacketLook.CHANGES)
        print(
            f"looking: {name}: samples {sampled / took:.2f} times (goal {GOAL_LOOKING:g}), every "
            f"change {changes / took:.2f} times"
        )
        met &= took <= goal_s and sampled <= GOAL_LOOKING * took
    return met


def report_all_to_all(folder: Path) -> bool:
    command = (sys.executable, "-m", "yantra", "network")
    flows = folder / "all_to_all.parquet"
    generate = ("generate", "all_to_all", "--hosts", str(PAIRS), "--set", "size=64kB")
    subprocess.run([*command, *generate, "-o", flows], check=True)
    place = ("--topology", "leaf_spine", *(word for of in LEAF_SPINE for word in ("--set", of)))
    network = ("--network", "packet", "--preset", "static_window")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*command, "flows", flows, *place, *network], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    most_gb = after.ru_maxrss * 1024 / 1e9
    print(
        f"all-to-all of {PAIRS} hosts: {took:.0f} s (goal {GOAL_ALL_TO_ALL_S:g} s), {most_gb:.2f} "
        f"GB (goal {GOAL_ALL_TO_ALL_GB:g} GB)"
    )
    return took <= GOAL_ALL_TO_ALL_S and most_gb <= GOAL_ALL_TO_ALL_GB


def report_threads(folder: Path) -> bool:
    command = (sys.executable, "-m", "yantra", "network")
    met = True
    for name, (pattern, size, place) in PARTED.items():
        flows = folder / f"{name}.parquet"
        generate = ("generate", pattern, "--hosts", str(PAIRS), "--set", f"size={size}")
        subprocess.run([*command, *generate, "-o", flows], check=True)
        words = [word for of in place[1:] for word in ("--set", of)]
        typed = [*command, "flows", flows, "--topology", place[0], *words, "--network", "packet"]
        typed += ["--packet", "skip=off"]
        took: dict[int, list[float]] = {1: [], 2: []}
        for threads in (1, 2) * TURNS:
            began = time.monotonic()
            subprocess.run([*typed, "--threads", str(threads)], check=True, capture_output=True)
            took[threads].append(time.monotonic() - began)
        gain = min(took[1]) / min(took[2])
        print(
            f"{name}: {min(took[1]):.1f} s on one thread, {min(took[2]):.1f} s on two: "
            f"{gain:.2f} times (goal {GOAL_TWO_THREADS:g})"
        )
        met &= gain >= GOAL_TWO_THREADS
    return met


def main() -> int:
    asked = {"all_to_all": report_all_to_all, "threads": report_threads}
    if len(sys.argv) != 2 or sys.argv[1] not in asked:
        return int(not report(Path()))
    with TemporaryDirectory() as folder:
        return int(not asked[sys.argv[1]](Path(folder)))


if __name__ == "__main__":
    raise SystemExit(main())
