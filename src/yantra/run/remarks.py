"""What is to say of a run that ended, all asked for once: messages, lateness, rates of links."""

from __future__ import annotations

from yantra import _core
from yantra.compile import Model
from yantra.run.late import finishes_late
from yantra.run.rates import check_rates
from yantra.scenario.quirks import Quirk


def remarks(
    model: Model, outcome: _core.Outcome, mismatch: _core.Mismatch | None = None
) -> tuple[str, ...]:
    """Warnings. `mismatch`: collectives that met though they differ."""
    said: list[str] = []
    if mismatch is not None or outcome.unreceived:
        from yantra.run import waiting

        said += [waiting.mismatch(model, mismatch)] if mismatch is not None else []
        said += [waiting.unreceived(outcome.unreceived)] if outcome.unreceived else []
    if outcome.cut.count:
        said.append(_cut(outcome.cut))
    return (*said, *finishes_late(model, outcome), *check_rates(model, outcome))


def _cut(cut: _core.CutSizes) -> str:
    from yantra.base.text import count

    return (
        f"of {count(cut.count, 'message')} only the low 32 bits of the size are carried, as in "
        f"ASTRA-sim: {cut.bytes} bytes count as {cut.kept} (quirk {Quirk.SIZES_OF_32_BITS})"
    )
