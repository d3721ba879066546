"""by_size: algorithms by ranges of bytes and of ranks, as a table of rules.

The last rule that holds counts. Trade-off: you must know the table; NCCL derives its own from
latencies and bandwidths.
"""

from __future__ import annotations

from collections.abc import Sequence

from yantra.base.fields import Many, Quantity, Section, Text, Whole
from yantra.base.records import Record
from yantra.collectives.selection.selection import Choice, Group, Selection


class Rule(Record):
    algorithm: str
    collective: str = ""
    from_bytes: int = 0
    from_ranks: int = 1


class Rules(Record):
    """The options of `by_size`."""

    rules: tuple[Rule, ...]


RULE = Section(
    Rule,
    {
        "algorithm": ("algorithm", Text(), "the algorithm, in every dimension"),
        "collective": ("collective", Text(), "all_reduce, ...; else all of them"),
        "from": (
            "from_bytes",
            Quantity("size", "B", whole=True, at_least=0),
            "for collectives of at least this size",
        ),
        "ranks": ("from_ranks", Whole(at_least=1), "for groups of at least so many ranks"),
    },
)


class BySize(Selection):
    """Algorithms by ranges of bytes and ranks."""

    options = Section(Rules, {"rules": ("rules", Many(RULE), "the last rule that applies counts")})

    def choices(self, kind: str, group: Group) -> Sequence[Choice]:
        rules: tuple[Rule, ...] = self.given.rules
        of_kind = [
            rule
            for rule in rules
            if rule.collective in ("", kind) and group.ranks >= rule.from_ranks
        ]
        return [
            Choice(size, ([r for r in of_kind if r.from_bytes <= size][-1].algorithm,))
            for size in sorted({rule.from_bytes for rule in of_kind})
        ]


PLUGIN = BySize
