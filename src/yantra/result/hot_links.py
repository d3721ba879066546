"""The busiest links, and whose bytes they carried."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from yantra.base.text import format_bytes, table
from yantra.base.units import format_time
from yantra.result.link_load import LinkName, link_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from yantra.result.result import Result


class Share(NamedTuple):
    """A flow's, or pair's, bytes on a link, from first to last."""

    who: str
    bytes: int
    start_ns: float
    end_ns: float


class HotLink(NamedTuple):
    """A link, what it carried, that over what it could have, and its largest flows."""

    name: LinkName
    bytes: int
    utilisation: float
    flows: int
    largest: list[Share]


def busiest(loads: Sequence[float] | NDArray[Any], carried: Any, most: int) -> list[int]:
    import numpy as np

    order = np.argsort(-np.asarray(loads), kind="stable")[:most]
    return [int(link) for link in order if carried[link] > 0]


def hot_links(result: Result, most: int, flows_of_each: int = 5) -> list[HotLink]:
    """The busiest links of a recorded run; a flow is all messages between two ranks.

    Raises UnsupportedError for a run that was not recorded, or was folded.
    """
    links = result.outcome.links if result.model.follows_links else []
    carried = [link.use.bytes for link in links]
    rates = _rates(result)
    loads = [
        size / (rate * result.makespan_ns) if result.makespan_ns else 0.0
        for size, rate in zip(carried, rates, strict=True)
    ]
    chosen = busiest(loads, carried, most)
    names = link_names(result.model, [links[row] for row in chosen])
    flows = result.recording.flows_over(chosen)
    shares: dict[int, dict[tuple[int, int], Share]] = {}
    columns = ("link", "sender", "receiver", "bytes", "start_ns", "end_ns")
    for link, sender, receiver, size, start, end in zip(
        *(flows.values(name) for name in columns), strict=True
    ):
        of_link = shares.setdefault(link, {})
        known = of_link.get((sender, receiver), Share("", 0, start, end))
        who = f"rank {sender} to rank {receiver}"
        first, last = min(known.start_ns, start), max(known.end_ns, end)
        of_link[sender, receiver] = Share(who, known.bytes + size, first, last)
    found = []
    for row, name in zip(chosen, names, strict=True):
        own = sorted(shares.get(row, {}).values(), key=lambda share: -share.bytes)
        largest = own[:flows_of_each]
        found.append(HotLink(name, carried[row], loads[row], len(own), largest))
    return found


def _rates(result: Result) -> list[float]:
    from yantra.result.network import link_rates

    return link_rates(result.model, result.outcome.links if result.model.follows_links else [])


def lines(links: list[HotLink]) -> list[str]:
    if not links:
        return ["no link carried anything"]
    rows: list[tuple[str, ...]] = []
    for link in links:
        use = f"{100 * link.utilisation:.1f} %"
        rows.append((link.name.text, format_bytes(link.bytes), use, "", ""))
        for share in link.largest:
            times = (format_time(share.start_ns), format_time(share.end_ns))
            rows.append((f"  {share.who}", format_bytes(share.bytes), "", *times))
        if link.flows > len(link.largest):
            rows.append((f"  and {link.flows - len(link.largest)} more", "", "", "", ""))
    return table(("busiest links", "carried", "in use", "from", "to"), rows)


def as_form(links: list[HotLink]) -> list[dict[str, Any]]:
    return [
        {
            **link.name._asdict(),
            "bytes": link.bytes,
            "utilisation": link.utilisation,
            "flows": link.flows,
            "largest": [share._asdict() for share in link.largest],
        }
        for link in links
    ]
