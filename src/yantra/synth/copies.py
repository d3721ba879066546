"""How much of the jobs that were fitted is in drawn ones: motifs copied, and nearness."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from yantra.synth.fidelity import motifs_of
from yantra.synth.shapes import MOTIF, Shape, Token, distance


def copied(
    families: Sequence[str], shapes: Sequence[Sequence[Shape]], drawn: Sequence[Shape]
) -> tuple[float, float]:
    """Shares of drawn motifs that a real job has, and that one family alone has."""
    of: dict[tuple[Token, ...], set[str]] = {}
    for family, some in zip(families, shapes, strict=True):
        for shape in some:
            for row in shape.motifs(MOTIF):
                of.setdefault(row, set()).add(family)
    new = motifs_of(drawn, MOTIF)
    total = sum(new.values()) or 1
    found = [(number, len(of.get(row, ()))) for row, number in new.items()]
    return (
        sum(number for number, owners in found if owners) / total,
        sum(number for number, owners in found if owners == 1) / total,
    )


def ratio(drawn: Sequence[Shape], known: Sequence[Shape], held: Sequence[Shape]) -> float | None:
    """The median distance of drawn traces to the nearest known one, over that of held ones; of
    known ones to the nearest other, if none are held; None where these are the same.
    """
    far = [min(distance(one, each) for each in known) for one in drawn]
    apart = [
        min((distance(one, each) for each in known if each is not one), default=0.0)
        for one in held or known
    ]
    usual = median(apart)
    return median(far) / usual if usual else None
