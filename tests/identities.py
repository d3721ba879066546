"""What holds of every recorded run, whatever ran: parts add up, paths have no gaps."""

from __future__ import annotations

import numpy as np

from yantra.network import describe
from yantra.result import Result
from yantra.result.accounting import COLLECTIVE_PARTS
from yantra.result.critical_path import KINDS

NEVER = 2**64 - 1
PARTS = (
    "compute",
    "exposed_communication",
    "exposed_memory",
    "exposed_host",
    "unexplained_device",
    "unexplained_host",
    "waiting",
    "idle",
)
OF_NODES = [KINDS.index(kind) for kind in ("compute", "memory", "host")]


def hold(result: Result, where: str = "", bins: int = 7) -> None:
    path_fills_the_run(result, where)
    slack_is_what_is_left(result, where)
    collectives_add_up(result, where)
    bytes_add_up(result, where, bins)
    rates_add_up(result, where)
    messages_take_their_time(result, where)
    for rank in result.ranks.rows():
        row = dict(zip(result.ranks.columns, rank, strict=True))
        parts = sum(round(1000 * row[f"{part}_ns"]) for part in PARTS)  # type: ignore[operator]
        assert parts == round(1000 * row["finish_ns"]), where  # type: ignore[operator]


def path_fills_the_run(result: Result, where: str) -> None:
    steps = result.critical_path.columns
    start, end = np.asarray(steps.start), np.asarray(steps.end)
    makespan = max(result.outcome.finish)
    assert (end - start).sum() == makespan, where
    assert np.array_equal(start[1:], end[:-1]), where
    if len(start):
        assert (start[0], end[-1]) == (0, makespan), where


def slack_is_what_is_left(result: Result, where: str) -> None:
    outcome = result.outcome
    slack, end = np.asarray(result.recording.slack_ticks), np.asarray(outcome.end)
    ended = end != NEVER
    assert (slack[~ended] == NEVER).all(), where
    assert (slack[ended] <= max(outcome.finish) - end[ended]).all(), where
    steps = result.critical_path.columns
    for kind, rank, node in zip(steps.kind, steps.rank, steps.node, strict=True):
        if kind in OF_NODES:
            assert slack[outcome.first_node[rank] + node] == 0, where


def collectives_add_up(result: Result, where: str) -> None:
    parts, outcome = result.recording.collective_parts, result.outcome
    place = np.asarray(parts.place)
    total = sum(np.asarray(getattr(parts, name)) for name in COLLECTIVE_PARTS)
    taken = np.asarray(outcome.end)[place] - np.asarray(outcome.start)[place]
    assert np.array_equal(total, taken), where


def bytes_add_up(result: Result, where: str, bins: int) -> None:
    native, outcome = result.recording.native, result.outcome
    of_dimensions = native.dimension_utilisation(result.model.native, outcome, bins).bytes
    sums = np.asarray(of_dimensions).reshape(-1, bins).sum(axis=1)
    assert sums.tolist() == [use.bytes for use in outcome.dimensions], where
    of_links = native.link_utilisation(result.model.native, outcome, bins).bytes
    sums = np.asarray(of_links).reshape(-1, bins).sum(axis=1)
    assert sums.tolist() == [link.use.bytes for link in outcome.links], where


def rates_add_up(result: Result, where: str) -> None:
    """A link's rate over time adds up to its bytes, within its capacity; so do its flows' rates."""
    if not result.model.follows_links:
        return  # for ports no times of rates are recorded
    outcome, rates = result.outcome, result.recording.link_rates
    lengths = rates["to_ns"] - rates["from_ns"]
    assert (lengths > 0).all(), where
    links = np.asarray(rates["link"], np.int64)
    carried = np.bincount(links, rates["bytes_per_ns"] * lengths, len(outcome.links))
    expected = np.array([link.use.bytes for link in outcome.links], float)
    after = links[1:] == links[:-1]
    assert (rates["from_ns"][1:][after] >= rates["to_ns"][:-1][after]).all(), where
    flows = result.recording.link_flows
    crossed, sizes = np.asarray(flows["link"], np.int64), flows["bytes"].astype(float)
    told = np.unique(crossed) if outcome.folded else np.arange(len(expected))
    of_flows = np.bincount(crossed, sizes, len(expected))
    if result.model.background is None:
        assert of_flows[told].tolist() == expected[told].tolist(), where
    else:  # which has no messages
        assert (of_flows[told] <= expected[told]).all(), where
    assert (flows["end_ns"] >= flows["start_ns"]).all(), where
    took_none = flows["end_ns"] == flows["start_ns"]  # as a crossing may of ticks of 1 ns
    at_once = np.bincount(crossed, sizes * took_none, len(expected))
    if result.model.ticks_per_ns > 1:
        assert not at_once.any(), where
    scenario = result.model.scenario  # on others a crossing is whole ticks, and without tiers
    if describe(scenario.network) == "flow" and not scenario.tier_networks:
        assert (rates["utilisation"] <= 1 + 1e-9).all(), where
    if result.model.ticks_per_ns > 1 or not outcome.folded:
        # Background that ends with the job has carried whole bytes, rounded for each flow.
        near = 1e-9 if result.model.background is None else 1e-6
        np.testing.assert_allclose(carried, expected - at_once, rtol=near, atol=1e-3, err_msg=where)


def messages_take_their_time(result: Result, where: str) -> None:
    messages = result.recording.native.messages(result.model.native)
    sent, arrived = np.asarray(messages.sent), np.asarray(messages.arrived)
    assert (arrived >= sent).all(), where
    assert (arrived - sent >= np.asarray(messages.queued)).all(), where
    assert np.asarray(messages.alike).sum() == result.messages, where
