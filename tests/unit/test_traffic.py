"""Generated flows: the load that was asked for, sizes as distributed, patterns, refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from yantra.base.errors import ConfigError
from yantra.cli import main
from yantra.network.traffic import generate
from yantra.network.traffic.distribution import NAMES, sizes_of
from yantra.network.traffic.generator import Flows

POISSON = {"load": 0.5, "bandwidth": "100 Gb/s", "duration": "20 ms"}


def made(kind: str, hosts: int = 64, seed: int = 1, **options: Any) -> Flows:
    return generate(kind, options, hosts, seed, kind)


@pytest.mark.parametrize("sizes", NAMES)
@pytest.mark.parametrize("load", [0.3, 0.7])
def test_hosts_send_the_load_that_was_asked_for(sizes: str, load: float) -> None:
    options = POISSON | {"load": load, "sizes": sizes, "duration": "200 ms"}
    flows = made("poisson", **options)
    sent = flows.bytes.sum() / (64 * 12.5 * 200e6)
    # Bytes of a Poisson number of flows vary by their second moment; five standard deviations.
    square = float((flows.bytes.astype(float) ** 2).mean())
    deviation = (square / len(flows.src)) ** 0.5 / flows.bytes.mean() * load
    assert abs(sent - load) < 5 * deviation


@pytest.mark.parametrize(
    ("name", "mean"),
    [
        # Sums of middles by shares, by hand: (5000 x 15 + 15000 x 5 + ... + 2e7 x 3) / 100.
        ("websearch", 1_711_250.0),
        ("hadoop", 120_420.75),
        ("alistorage", 40_869.8),
    ],
)
def test_the_mean_size_is_that_of_the_pieces(name: str, mean: float) -> None:
    sizes = sizes_of(name, "sizes")
    pieces = zip(sizes.bytes, sizes.bytes[1:], sizes.percent, sizes.percent[1:], strict=False)
    by_hand = sum((a + b) / 2 * (q - p) / 100 for a, b, p, q in pieces)
    assert sizes.mean == pytest.approx(by_hand, rel=1e-12)
    assert sizes.mean == pytest.approx(mean, rel=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_drawn_sizes_are_distributed_as_stated(name: str) -> None:
    sizes = sizes_of(name, "sizes")
    drawn = np.sort(sizes.draw(np.random.default_rng(3), 20_000))
    stated = np.interp(drawn, sizes.bytes, sizes.percent / 100)
    seen = np.arange(1, len(drawn) + 1) / len(drawn)
    # Kolmogorov and Smirnov: above 1.95 / sqrt(n) in one of a thousand samples.
    assert np.abs(stated - seen).max() < 1.95 / len(drawn) ** 0.5


def test_arrivals_of_a_host_are_a_poisson_process() -> None:
    flows = made("poisson", hosts=8, **(POISSON | {"duration": "1000 ms"}))
    gaps = np.diff(flows.start_ns[flows.src == 3])
    mean = 1_711_250 / (0.5 * 12.5)
    seen = np.sort(1 - np.exp(-gaps / mean))
    assert np.abs(seen - np.arange(1, len(gaps) + 1) / len(gaps)).max() < 1.95 / len(gaps) ** 0.5


def test_destinations_are_other_hosts_with_the_same_chance() -> None:
    flows = made("poisson", hosts=8, **(POISSON | {"sizes": "hadoop", "duration": "100 ms"}))
    assert (flows.src != flows.dst).all()
    counts = np.zeros((8, 8))
    np.add.at(counts, (flows.src, flows.dst), 1)
    pairs = counts[~np.eye(8, dtype=bool)]
    expected = pairs.mean()
    chi = ((pairs - expected) ** 2 / expected).sum()
    assert chi < 100  # 55 degrees of freedom: one of 4,000 samples is above


def test_incast_is_mixed_in_at_its_load() -> None:
    more = {"incast_load": 0.1, "incast_senders": 16, "incast_size": "10 kB"}
    options = {"load": 0.1, "bandwidth": "100 Gb/s", "duration": "50 ms"}
    plain, mixed = made("poisson", **options), made("poisson", **options, **more)
    extra = mixed.bytes == 10_000
    assert mixed.bytes[extra].sum() / (64 * 12.5 * 50e6) == pytest.approx(0.1, rel=0.1)
    assert len(plain.src) == pytest.approx((~extra).sum(), rel=0.1)
    events = {}
    for src, dst, start in zip(*(column[extra] for column in (mixed[0], mixed[1], mixed[3]))):  # noqa: B905
        events.setdefault((int(start), int(dst)), set()).add(int(src))
    whole = [senders for (_, to), senders in events.items() if to not in senders]
    assert len(whole) == len(events)
    assert sum(len(senders) == 16 for senders in whole) > 0.99 * len(whole)


def test_every_host_of_a_permutation_sends_once_and_receives_once() -> None:
    for hosts in (2, 3, 64):
        flows = made("permutation", hosts=hosts, size="1 MB")
        assert sorted(flows.src) == sorted(flows.dst) == list(range(hosts))
        assert (flows.src != flows.dst).all() and set(flows.bytes) == {1_000_000}


def test_an_all_to_all_has_every_ordered_pair_once() -> None:
    flows = made("all_to_all", hosts=9, size="1 kB")
    pairs = set(zip(flows.src.tolist(), flows.dst.tolist(), strict=True))
    assert len(pairs) == len(flows.src) == 72 and all(a != b for a, b in pairs)


def test_an_incast_has_distinct_senders_and_one_receiver() -> None:
    flows = made("incast", hosts=20, size="500 kB", senders=12, receiver=5)
    assert set(flows.dst) == {5} and len(set(flows.src)) == len(flows.src) == 12
    assert 5 not in flows.src
    assert len(made("incast", hosts=20, size="500 kB").src) == 19


@pytest.mark.parametrize(
    ("kind", "options"), [("poisson", POISSON), ("permutation", {"size": "1 kB"})]
)
def test_a_list_follows_from_its_seed_and_is_in_the_order_of_starts(
    kind: str, options: dict[str, Any]
) -> None:
    one, again, other = (made(kind, seed=seed, **options) for seed in (4, 4, 5))
    assert all(map(np.array_equal, one, again)) and not np.array_equal(one.dst, other.dst)
    assert (np.diff(one.start_ns) >= 0).all()


def test_the_file_has_a_row_for_each_flow(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "flows.csv"
    words = ["network", "generate", "all_to_all", "--hosts", "4", "--set", "size=1kB"]
    assert main([*words, "-o", str(out), "--json"]) == 0
    form = json.loads(capsys.readouterr().out)
    lines = out.read_text().splitlines()
    assert lines[:2] == ["src,dst,bytes,start_ns", "0,1,1000,0"]
    assert (form["flows"], form["bytes"]) == (len(lines) - 1, 12_000)


@pytest.mark.parametrize(
    ("kind", "options", "problem"),
    [
        ("poison", {}, "poison: no traffic is named 'poison'; expected one of all_to_all, incast"),
        ("poisson", {}, "poisson.load: missing; expected a number"),
        ("poisson", POISSON | {"load": 2}, "poisson.load: must be at most 1; got 2"),
        ("poisson", POISSON | {"sizes": "web"}, "poisson.sizes: expected one of alistorage, hado"),
        ("poisson", POISSON | {"duration": "1 h"}, "poisson: about 8.41e+08 flows; expected at "),
        ("poisson", POISSON | {"incast_load": 0.1, "incast_senders": 64}, "poisson.incast_senders"),
        ("incast", {"size": "1 kB", "receiver": 64}, "incast.receiver: expected a host from 0 to"),
        ("incast", {"size": "0 B"}, "incast.size: must be at least 1 B; got 0 B"),
        ("permutation", {"sise": 1}, "permutation.sise: unknown key; did you mean 'size'?"),
    ],
)
def test_what_cannot_be_made_is_refused(kind: str, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError) as raised:
        made(kind, **options)
    assert str(raised.value).startswith(problem)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("bytes;percent\n", "line 1: expected the header bytes,percent"),
        ("bytes,percent\n0,0\n9,x\n", "line 3: expected two numbers, bytes and percent"),
        ("bytes,percent\n0,0\n9,50\n8,100\n", "line 4: expected more bytes and a higher perce"),
        ("bytes,percent\n0,0\n9,50\n", "expected at least two points, from 0 to 100 percent"),
        ("bytes,percent\n0,0\n9,nan\n", "line 3: expected bytes from 0 and percent from 0 to 100"),
    ],
)
def test_what_is_wrong_with_a_distribution_is_said_with_its_line(
    tmp_path: Path, text: str, problem: str
) -> None:
    path = tmp_path / "sizes.csv"
    path.write_text(text)
    with pytest.raises(ConfigError) as raised:
        sizes_of(str(path), "sizes")
    assert problem in str(raised.value) and str(raised.value).startswith(str(path))
