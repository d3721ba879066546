"""`Result`: the answer of a run, as columns, each computed when first asked for."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from yantra import _core
from yantra.base.errors import UnsupportedError
from yantra.result.codes import nanoseconds
from yantra.result.table_names import PACKET_TABLES, RECORDED_TABLES, TABLES, check_table_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np

    from yantra.base.output import Path
    from yantra.compile import Model
    from yantra.result.bound import Bound, Gain
    from yantra.result.critical_path import CriticalPath
    from yantra.result.disturbed import Disturbed
    from yantra.result.energy import Energy
    from yantra.result.figures import Figures, Interval
    from yantra.result.network import DimensionUse
    from yantra.result.packets import Packets
    from yantra.result.recording import Recording
    from yantra.result.table import Table
    from yantra.result.what_ran import WhatRan


class Further(Protocol):
    """What a result is asked for that takes further runs (`yantra.run.further`).

    None where there is no answer, or it costs too much.
    """

    def gains(self, result: Result, thorough: bool) -> list[Gain] | None: ...
    def interval(self, result: Result) -> Interval | None: ...
    def basis(self, model: Model) -> str: ...
    def steady_ns(self, result: Result) -> float | None: ...
    def disturbed(self, result: Result) -> Disturbed | None: ...


class Result:
    """When every rank finished, and why then.

    `finish_ns` and `finish_ps` are arrays by rank. `ranks`, `nodes`, `collectives`, `dimensions`
    and `links` are tables: `result.ranks["idle_ns"]` is an array, `result.ranks.values("idle_ns")`
    a list. Times count from the start of the run.
    """

    def __init__(
        self,
        model: Model,
        outcome: _core.Outcome,
        run_warnings: tuple[str, ...] = (),
        not_folded: str = "",
        recording: Recording | None = None,
        folding: _core.Folding | None = None,
        further: Further | None = None,
    ) -> None:
        self.model = model
        """The compiled scenario."""
        self.outcome = outcome
        """What the core's run left."""
        self.run_warnings = run_warnings
        """What the run warned of."""
        self.not_folded = not_folded
        """Why folding, if asked for, was not possible; else empty."""
        self.folding = folding
        """The classes of ranks of a folded run, else None."""
        self._recording = recording
        self._further = further

    @property
    def warnings(self) -> list[str]:
        """Warnings of the compiler and the run."""
        return [*self.model.warnings, *self.run_warnings]

    @property
    def events(self) -> int:
        """The events the engine handled."""
        return self.outcome.events

    @property
    def messages(self) -> int:
        """The messages the network carried."""
        return self.outcome.messages

    @cached_property
    def makespan_ns(self) -> float:
        """When the last rank finishes."""
        return nanoseconds(max(self.outcome.finish), self.model.ticks_per_ns) or 0

    @property
    def recorded(self) -> bool:
        """Whether the run was recorded."""
        return self._recording is not None

    @property
    def recording(self) -> Recording:
        """A recorded run's memory. Raises UnsupportedError if it was not recorded."""
        if self._recording is None:
            raise UnsupportedError(
                "the run was not recorded; call run(model, record=True) or "
                "simulate(scenario, record=True)"
            )
        return self._recording

    @property
    def critical_path(self) -> CriticalPath:
        """What the last rank waited for. Raises as `recording` does."""
        return self.recording.critical_path

    @property
    def finish_order(self) -> list[int]:
        """Ranks as they finish; of a folded run by rank within a tick."""
        if not self.outcome.folded:
            return list(self.outcome.finish_order)
        finish = self.outcome.finish
        return sorted(range(self.model.ranks), key=lambda rank: finish[rank])

    @property
    def finish_ns(self) -> np.ndarray[Any, Any]:
        """When each rank finishes, in ns, as float64."""
        return self.ranks["finish_ns"]

    @cached_property
    def finish_ps(self) -> np.ndarray[Any, Any]:
        """The same in whole picoseconds, as uint64."""
        import numpy as np

        each = 1000 // self.model.ticks_per_ns
        if max(self.outcome.finish) * each >= 2**64:
            raise UnsupportedError("finish_ps: the run is too long for 64 bits; take finish_ns")
        return np.asarray(self.outcome.finish) * np.uint64(each)

    @cached_property
    def ranks(self) -> Table:
        """One row per rank; see `yantra.result.tables.rank_table`."""
        from yantra.result import accounting, tables

        return accounting.with_overlap(tables.rank_table(self.model, self.outcome))

    @cached_property
    def nodes(self) -> Table:
        """One row per node of every trace; see `yantra.result.tables.node_table`."""
        from yantra.result import accounting, tables

        table = tables.node_table(self.model, self.outcome)
        if self._recording is None:
            return table
        return accounting.with_slack(table, self.model, self.outcome, self._recording)

    @cached_property
    def collectives(self) -> Table:
        """One row per collective and rank; see `yantra.result.collectives`."""
        from yantra.result import accounting
        from yantra.result.collectives import collective_table

        table = collective_table(self.model, self.outcome)
        if self._recording is None:
            return table
        return accounting.with_parts(table, self.model, self.outcome, self._recording)

    @cached_property
    def dimension_uses(self) -> list[DimensionUse]:
        """The rows of `dimensions`."""
        from yantra.result.network import dimension_uses

        return dimension_uses(self.model, self.outcome, self.makespan_ns)

    @cached_property
    def dimensions(self) -> Table:
        """One row per dimension of the network; see `yantra.result.network`."""
        from yantra.result.network import dimension_table

        return dimension_table(self.dimension_uses)

    @cached_property
    def links(self) -> Table:
        """One row per link that carried something; see `yantra.result.network.link_table`."""
        from yantra.result.network import link_table

        return link_table(self.model, self.outcome, self.makespan_ns)

    @cached_property
    def packets(self) -> Packets:
        """Packets; see `yantra.result.packets`."""
        from yantra.result.link_load import link_name
        from yantra.result.packets import Packets

        return Packets(self.outcome.packets, lambda link: link_name(self.model.graph, link))

    @property
    def packet_summary(self) -> dict[str, Any] | None:
        """Counts of all packets by name; None on another network."""
        return None if self.outcome.packets is None else self.packets.summary()

    @property
    def tables(self) -> tuple[str, ...]:
        """Tables in its JSON form by default."""
        return TABLES if self.outcome.packets is None else TABLES + PACKET_TABLES

    @cached_property
    def bound_by(self) -> Bound:
        """The cause whose removal gains most, by runs where they cost little, else estimated.

        Also estimated for a run that took work meanwhile.
        """
        from yantra.result.bound import largest

        gains = self.gains
        return self.estimated_bound if gains is None else largest(gains, max(self.outcome.finish))

    @cached_property
    def gains(self) -> list[Gain] | None:
        """What removing each cause gains, by a run without it; None where they cost too much."""
        return self._further.gains(self, False) if self._further else None

    def weigh(self) -> None:
        """Find `gains` and `bound_by` by runs even of some seconds, as a report does; longer ones
        change nothing.
        """
        is_whole = self.gains is not None and any(not gain.kind for gain in self.gains)
        if not is_whole and self._further is not None:
            found = self._further.gains(self, True)
            if found is not None:
                self.__dict__["gains"] = found
                self.__dict__.pop("bound_by", None)

    @cached_property
    def estimated_bound(self) -> Bound:
        """The bound from this run alone; see `yantra.result.bound`."""
        from yantra.result.bound import estimated

        return estimated(self.model, self.outcome, self.dimension_uses)

    @cached_property
    def figures(self) -> Figures:
        """Tokens per second, MFU, memory headroom and more; see `yantra.result.figures`."""
        from yantra.result.figures import figures

        steady_ns = self._further.steady_ns(self) if self._further else None
        found = figures(self.model, self.outcome, steady_ns)
        if self.interval is not None:
            return found.within(self.interval, self.makespan_ns)
        if self._further is None:
            return found
        from yantra.fabric.stacks.choice import WITHOUT_TERMS

        stack = self.model.scenario.stack
        has_terms = stack is not None and stack.name not in WITHOUT_TERMS
        return found.resting_on(self._further.basis(self.model), has_terms=has_terms)

    @cached_property
    def interval(self) -> Interval | None:
        """Expected shares of its time, by a few more runs; None without a stack.

        See `yantra.run.interval`.
        """
        return self._further.interval(self) if self._further else None

    @cached_property
    def energy(self) -> Energy | None:
        """What the run draws over time; None without the power of a device.

        See `yantra.result.energy`.
        """
        from yantra.result.energy import energy

        of, said = self.interval, self.figures
        time = None if of is None else (of.low, of.high)
        return energy(self.model, self.outcome, said.tokens, said.step_time_ns, time)

    @cached_property
    def disturbed(self) -> Disturbed | None:
        """What disturbed the run at what cost; None if nothing did.

        Runs the model without failures and background, unless the scenario says not to.
        """
        return self._further.disturbed(self) if self._further else None

    @cached_property
    def what_ran(self) -> WhatRan:
        """Model, plan, cluster, network level and version; see `yantra.result.what_ran`."""
        from yantra.result.what_ran import what_ran

        return what_ran(self.model)

    def table(self, name: str) -> Table:
        """A table by name, such as `ranks` or `critical_path`.

        Raises ConfigError for an unknown name, UnsupportedError for what only a recorded run has.
        """
        check_table_name(name)
        if name == "critical_path":
            return self.critical_path.table()
        if name in PACKET_TABLES:
            of_packets: Table = getattr(self.packets, name.removeprefix("packet_"))
            return of_packets
        table = getattr(self.recording if name in RECORDED_TABLES else self, name)
        made: Table = table() if callable(table) else table
        return made

    def summary(self) -> str:
        """The tables people read, as text of at most 80 columns."""
        from yantra.result.forms import exporter

        text: str = exporter("summary").text(self)
        return text

    def as_dict(self, tables: Iterable[str] | None = None) -> dict[str, Any]:
        """The run and some tables, as `to_json` writes them."""
        from yantra.result.forms import exporter

        document: dict[str, Any] = exporter("json").document(self, tables)
        return document

    def export(self, form: str, path: Path, **options: Any) -> list[str]:
        """Write the result in a form by its name or file; return what that leaves out.

        Built in are `json`, `csv`, `parquet`, `feather`, `summary`, `html`, `notebook`, `perfetto`,
        `chrome`, `mlflow`, `wandb` and `tensorboard`; `./mine.py` is a form of your own.
        """
        from yantra.result.forms import exporter

        notes: list[str] = exporter(form).write(self, path, **options)
        return notes

    def plot(self, figure: str = "gantt") -> Any:
        """A figure of matplotlib: `links`, `bandwidth` or `gantt`; see `yantra.export.plot`.

        Needs matplotlib. `figure.savefig("links.pdf")` writes it.
        """
        from yantra.result.forms import exporter

        return exporter("plot").figure(self, figure)

    def to_json(self, path: Path, tables: Iterable[str] | None = None) -> None:
        """Write the run and some tables as JSON; the form is `result.schema.json`."""
        self.export("json", path, tables=tables)

    def to_report(self, path: Path) -> None:
        """Write one HTML file that shows where the time goes; opens offline in any browser."""
        self.export("html", path)

    def to_csv(self, path: Path, table: str = "ranks") -> None:
        """Write one table as CSV."""
        self.export("csv", path, table=table)

    def to_feather(self, path: Path, table: str = "ranks") -> None:
        """Write one table as Feather, a file of Arrow; needs pyarrow."""
        self.export("feather", path, table=table)

    def to_parquet(self, path: Path, table: str = "ranks") -> None:
        """Write one table as Parquet; needs pyarrow."""
        self.export("parquet", path, table=table)

    def to_perfetto(self, path: Path, **options: Any) -> list[str]:
        """Write a timeline for Perfetto; return what it leaves out.

        `ranks` and `messages` are those of `yantra.export.timeline.write`.
        """
        return self.export("perfetto", path, **options)

    def to_chrome(self, path: Path, **options: Any) -> list[str]:
        """Write the same as JSON for chrome://tracing."""
        return self.export("chrome", path, **options)

    def __repr__(self) -> str:
        return f"<Result: {self.model.ranks} ranks, makespan {self.makespan_ns} ns>"

    def _repr_html_(self) -> str:
        from yantra.result.forms import exporter

        html: str = exporter("notebook").text(self)
        return html
