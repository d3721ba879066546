"""Factors on a machine's rates, which a search varies beside plans."""

from __future__ import annotations

from typing import NamedTuple


class Scale(NamedTuple):
    """Factors on rates; `links` by dimension, innermost first, 1 beyond.

    Twice the rate `latency` halves all fixed times.
    """

    peak: float = 1.0
    memory: float = 1.0
    latency: float = 1.0
    links: tuple[float, ...] = ()
    cap: float = 1.0
    """On the most that a device may draw."""

    def times(self, rate: str, factor: float) -> Scale:
        """Return the factors with one rate multiplied; `links 0` is innermost."""
        if not rate.startswith("links "):
            return self._replace(**{rate: getattr(self, rate) * factor})
        at = int(rate.removeprefix("links "))
        links = [*self.links, *[1.0] * (at + 1 - len(self.links))]
        links[at] *= factor
        return self._replace(links=tuple(links))

    def of(self, rate: str) -> float:
        if not rate.startswith("links "):
            return float(getattr(self, rate))
        at = int(rate.removeprefix("links "))
        return self.links[at] if at < len(self.links) else 1.0
