"""`Workload`: templates, and the grid that says what they mean for each rank.

Trade-off: templates are bytes, decoded on demand, so their number decides the cost, not that of
ranks.
"""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeGuard, get_args, overload

from yantra.base.errors import ConfigError, did_you_mean, expected_got
from yantra.base.text import count
from yantra.chakra import Trace
from yantra.chakra.relative import (
    Meaning,
    Names,
    collectives_in_order,
    names_of,
    resolve,
    totals_of,
)
from yantra.chakra.stamping import Copies, TemplateBuilder
from yantra.workloads.templates import container, manifest
from yantra.workloads.templates.grid import Grid, Group, peer_of
from yantra.workloads.templates.parts import Layout, RankClass, check_classes
from yantra.workloads.templates.rules import NONE, Family, Sum, peer_rule
from yantra.workloads.templates.spool import Spool

Ordering = Literal["serial", "streams"]
"""`serial`: a rank's collectives one by one, in file order, as ASTRA-sim's one communication slot
per rank needs; `streams`: each communicator in its own order."""

Template = Trace | TemplateBuilder | Copies | Spool | bytes
Content = bytes | Copies | Spool


class Steady(NamedTuple):
    """The workload with another number of iterations, which gives the cost of one more."""

    iterations: int
    workload: Workload


_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


class Workload:
    """Which template each rank runs, and what its groups and peers mean there.

    `steady` are the templates of another number of iterations, and that number. Raises ConfigError
    where parts do not fit.
    """

    def __init__(
        self,
        *,
        grids: Iterable[Grid],
        groups: Mapping[str, Group],
        classes: Iterable[RankClass],
        templates: Mapping[str, Template],
        sections: Mapping[str, Any] | None = None,
        later: Mapping[str, Callable[[], Any]] | None = None,
        steady: tuple[int, Mapping[str, Template]] | None = None,
    ) -> None:
        made = {name: _content(template) for name, template in templates.items()}
        self._set("workload", made, grids, groups, classes, sections or {}, later or {})
        if steady is not None:
            iterations, others = steady
            self._sections["steady"] = {"iterations": iterations}
            self._set_steady({name: _content(template) for name, template in others.items()})

    @classmethod
    def _of_file(cls, path: str) -> Workload:
        text, names, steady = container.read(path)
        read = manifest.parse(text, f"{path}: {container.MANIFEST}")
        self = cls.__new__(cls)
        try:
            self._set(
                path,
                dict.fromkeys(names),
                read.grids,
                read.groups,
                read.classes,
                read.sections,
                {},
            )
            self._set_steady(dict.fromkeys(steady))
        except ConfigError as error:
            where = f"{path}: {container.MANIFEST}: {error.where}"
            raise ConfigError(where, error.problem) from None
        return self

    def _set(
        self,
        name: str,
        templates: Mapping[str, Content | None],
        grids: Iterable[Grid],
        groups: Mapping[str, Group],
        classes: Iterable[RankClass],
        sections: Mapping[str, Any],
        later: Mapping[str, Callable[[], Any]],
    ) -> None:
        self.name = name
        self._folder = container.TEMPLATES
        self._content = dict(sorted(templates.items()))
        self._steady: dict[str, Content | None] = {}
        self._later = dict(later)
        self._traces: dict[tuple[str, Ordering], Trace] = {}
        self._names: dict[str, Names] = {}
        given, known = tuple(grids), tuple(classes)
        for template in templates:
            if not _NAME.fullmatch(template):
                problem = expected_got("letters, digits, '_', '.' and '-'", template)
                raise ConfigError("templates", problem)
        check_classes(known, given, templates)
        self._layout = Layout(given, groups, known)
        self._sections = {key: sections[key] for key in manifest.SECTIONS if key in sections}
        for key in sections:
            if key not in manifest.SECTIONS:
                hint = did_you_mean(key, manifest.SECTIONS)
                raise ConfigError(f"sections.{key}", f"unknown section{hint}")

    def _set_steady(self, templates: Mapping[str, Content | None]) -> None:
        wanted = set(self._content) if "steady" in self._sections else set()
        for name in sorted(wanted ^ set(templates)):
            member = container.member_of(name, container.STEADY)
            problem = f"no {member}" if name in wanted else f"{member} belongs to no template"
            raise ConfigError("steady", problem)
        self._steady = dict(sorted(templates.items()))

    @property
    def steady(self) -> Steady | None:
        """The workload with another number of iterations, if it has one."""
        if not self._steady:
            return None
        iterations = self._sections["steady"]["iterations"]
        other = type(self).__new__(type(self))
        other.__dict__.update(vars(self))
        other._folder, other._content = container.STEADY, dict(self._steady)
        other._traces, other._names, other._steady, other._later = {}, {}, {}, {}
        others = ("totals", "schedule", "steady")
        kept = {key: part for key, part in self._sections.items() if key not in others}
        if isinstance(self.about, dict):
            kept["about"] = self.about | {"iterations": iterations}
        other._sections = kept
        return Steady(iterations, other)

    @property
    def ranks(self) -> int:
        """The number of ranks."""
        return self._layout.ranks

    @property
    def grids(self) -> tuple[Grid, ...]:
        """The grids that hold the ranks."""
        return self._layout.grids

    @property
    def groups(self) -> dict[str, Group]:
        """The rules of the groups that templates name."""
        return dict(self._layout.groups)

    @property
    def classes(self) -> tuple[RankClass, ...]:
        """Which ranks run which template; the first match counts."""
        return self._layout.classes

    @property
    def templates(self) -> tuple[str, ...]:
        """Names of the templates, sorted."""
        return tuple(self._content)

    @property
    def sections(self) -> dict[str, Any]:
        """What else is known: `about`, `totals`, `memory`, `schedule`, ..."""
        for key in list(self._later):
            self._section(key)
        return {key: self._sections[key] for key in manifest.SECTIONS if key in self._sections}

    def _section(self, key: str) -> Any:
        make = self._later.get(key)
        if make is not None:
            self._sections[key] = make()
            del self._later[key]
        return self._sections.get(key)

    @property
    def about(self) -> Any:
        """What it was made from: model, plan, ..."""
        return self._sections.get("about", {})

    @property
    def memory(self) -> Any:
        """The bytes that each template's ranks need."""
        return self._sections.get("memory", {})

    def peaks(self) -> dict[str, int]:
        """Peak bytes of a rank, for each part of `memory` that has them."""
        parts = self.memory if isinstance(self.memory, dict) else {}
        found = {name: part.get("peak") for name, part in parts.items() if isinstance(part, dict)}
        return {name: peak for name, peak in found.items() if is_size(peak)}

    def offloaded(self) -> dict[str, dict[str, int]]:
        """What ranks keep off their device, for each part of `memory` that says so."""
        parts = self.memory if isinstance(self.memory, dict) else {}
        found = {
            name: {key: size for key, size in kept.items() if is_size(size) and size}
            for name, part in parts.items()
            if isinstance(part, dict) and isinstance(kept := part.get("offloaded"), dict)
        }
        return {name: kept for name, kept in found.items() if kept}

    @property
    def schedule(self) -> str:
        """A drawing of the pipeline schedule; empty if there is none."""
        return str(self._section("schedule") or "")

    @property
    def ordering(self) -> Ordering:
        """The default ordering of its collectives; `serial` if not given."""
        ordering: Ordering = self._sections.get("ordering", "serial")
        return _known_ordering(ordering)

    @property
    def dtype(self) -> str | None:
        """The type at whose rate its products run, of two grids the first's; else None."""
        about = self.about if isinstance(self.about, dict) else {}
        plan = about.get("plan", about.get("prefill_plan"))
        dtype = plan.get("dtype") if isinstance(plan, dict) else None
        if not isinstance(dtype, str) or not dtype:
            return None
        from yantra.compute.products import RATE_TYPES

        return RATE_TYPES.get(dtype, dtype)

    @property
    def framework(self) -> str | None:
        """What trains its model, None if unknown."""
        framework = self.about.get("framework") if isinstance(self.about, dict) else None
        return framework if isinstance(framework, str) and framework.strip() else None

    @property
    def launched(self) -> float:
        """The share of its kernels that no CUDA graph launches."""
        share = self.about.get("launched", 1.0) if isinstance(self.about, dict) else 1.0
        return float(share) if isinstance(share, int | float) and 0 <= share <= 1 else 1.0

    @property
    def experts(self) -> int | None:
        """Experts of a token that one message to a node may serve, None if unknown."""
        count = self.about.get("experts_per_token") if isinstance(self.about, dict) else None
        return count if is_size(count) and count else None

    @property
    def totals(self) -> Any:
        """The totals of each template; counted if the workload does not give them."""
        if "totals" not in self._sections:
            self._sections["totals"] = {name: self._totals_of(name) for name in self._content}
        return self._sections["totals"]

    def class_of(self, rank: int) -> RankClass:
        """The class of a rank."""
        return self._layout.classes[self._layout.class_at(rank)]

    def ranks_of_template(self) -> dict[str, int]:
        """How many ranks run each template."""
        counts = dict.fromkeys(self._content, 0)
        for one, ranks in zip(self.classes, self._layout.ranks_of_class, strict=True):
            counts[one.template] += ranks
        return counts

    def template_bytes(self, template: str) -> bytes:
        """The content of a template's .et file."""
        if template not in self._content:
            hint = did_you_mean(template, self._content)
            raise ConfigError("template", f"none is named '{template}'{hint}")
        content = self._content[template]
        if isinstance(content, Copies):
            self._content[template] = content = content.to_bytes()
        if content is None:
            return container.read_template(self.name, template, self._folder)
        return content.to_bytes() if isinstance(content, Spool) else content

    def graph(self, template: str, *, kernels: bool) -> Any:
        """A template as a run takes it, None where its bytes must be decoded."""
        content = self._content.get(template)
        return content.graph(kernels=kernels) if isinstance(content, Copies) else None

    def __getstate__(self) -> dict[str, Any]:
        for contents in (self._content, self._steady):
            for template, content in contents.items():
                if isinstance(content, Copies | Spool):
                    contents[template] = content.to_bytes()
        return vars(self) | {"_sections": self.sections}

    def template(self, template: str, ordering: Ordering = "streams") -> Trace:
        """A template, decoded once; its names are checked against the manifest."""
        _known_ordering(ordering)
        if (template, ordering) not in self._traces:
            if ordering == "serial":
                made = collectives_in_order(self.template(template))
            else:
                made = Trace.from_bytes(self.template_bytes(template), self.where(template))
                self._names[template] = self._checked(names_of(made), template)
            self._traces[template, ordering] = made
        return self._traces[template, ordering]

    def names(self, template: str) -> Names:
        """The groups and peers that a template names."""
        if template not in self._names:
            self.template(template)
        return self._names[template]

    def where(self, template: str) -> str:
        """How errors call a template."""
        return f"{self.name}: {container.member_of(template, self._folder)}"

    def meaning(self, rank: int, names: Names | None = None) -> Meaning:
        """What names, by default its template's, mean for a rank.

        Raises ConfigError for a group that the rank is not in, and for a peer that is the rank
        itself or does not exist.
        """
        template = self.class_of(rank).template
        names = self.names(template) if names is None else self._checked(names, template)
        groups = {name: self._layout.group_id(rank, name) for name in names.groups}
        for name, number in groups.items():
            if number is None:
                problem = f"rank {rank} is in no group '{name}'"
                raise ConfigError(self.where(template), problem)
        peers = {name: peer_of(self.grids, rank, name) for name in names.peers}
        for name, peer in peers.items():
            if peer == rank:
                problem = f"the peer '{name}' of rank {rank} is the rank itself"
                raise ConfigError(self.where(template), problem)
        return Meaning(rank, {name: number or 0 for name, number in groups.items()}, peers)

    def roles(self) -> tuple[list[tuple[str, str]], array[int]]:
        """The pairs of a template and a grid that occur, and each rank's pair."""
        known: dict[tuple[str, str], int] = {}

        def number(grid: str, at: int) -> int:
            return known.setdefault((self.classes[at].template, grid), len(known))

        column = self._layout.column(number)
        roles = sorted(known, key=lambda role: column.index(known[role]))  # by their first ranks
        if roles != list(known):
            known = {role: at for at, role in enumerate(roles)}
            column = self._layout.column(number)
        return roles, column

    def rules(self, template: str, grid: str, names: Names) -> tuple[list[Sum], list[Sum]]:
        """What groups and peers that a template names mean for its ranks of a grid.

        Ranks without a number, or that are their own peer, have no `meaning`; raises ConfigError if
        all are so.
        """
        self._checked(names, template)
        own = next(one for one in self.grids if one.name == grid)
        groups = [
            self._layout.group_rule(name)
            if self.groups[name].grid == grid
            else Sum(0, 0, False, ((1, 1, 0, [NONE]),))
            for name in names.groups
        ]
        return groups, [peer_rule(self.grids, own, name) for name in names.peers]

    def families(self) -> Iterator[Family]:
        """The communicators, those of one layout together, without their members."""
        return self._layout.families()

    def numbered_groups(self) -> Sequence[tuple[int, tuple[int, ...]]]:
        """The id and ranks of every communicator, made on demand."""
        return _NumberedGroups(self._layout)

    def trace(self, rank: int, ordering: Ordering | None = None) -> Trace:
        """The trace of one rank, with absolute peers and group ids."""
        template = self.class_of(rank).template
        made = self.template(template, ordering or self.ordering)
        return resolve(made, self.meaning(rank), self.where(template))

    def communicators(self) -> dict[int, tuple[int, ...]]:
        """The ranks of every communicator, by ascending id from 1."""
        return self._layout.communicators()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the workload to a file; equal workloads give equal bytes."""
        sections = self.sections | {"totals": self.totals}
        parts = (self.ranks, self.grids, self.groups, self.classes, sections)
        other = self.steady
        steady = () if other is None else other.workload._contents()
        written = manifest.write(manifest.Manifest(*parts))
        container.write(path, written, self._contents(), steady)

    def expand(
        self,
        folder: str | os.PathLike[str],
        ranks: Iterable[int] | None = None,
        ordering: Ordering | None = None,
        prefix: str = "workload",
        reader: Literal["yantra", "astra-sim"] = "yantra",
    ) -> None:
        """Write `<prefix>.<rank>.et` of each of `ranks` (all if None), and `comm_group.json`."""
        from yantra.workloads.templates.expand import expand

        expand(self, folder, ranks, ordering, prefix, reader=reader)

    def _contents(self) -> Iterator[tuple[str, bytes | Spool]]:
        for name, content in self._content.items():
            yield name, content if isinstance(content, Spool) else self.template_bytes(name)

    def _totals_of(self, template: str) -> dict[str, Any]:
        content, known = self._content[template], self._traces.get((template, "streams"))
        totals = (
            content.totals
            if isinstance(content, Spool)
            else totals_of(
                known or Trace.from_bytes(self.template_bytes(template), self.where(template))
            )
        )
        return {
            "nodes": totals.nodes,
            "compute": [list(row) for row in totals.compute],
            "communication": [list(row) for row in totals.communication],
            "activations": {
                "peak_bytes": totals.activations_peak_bytes,
                "over_time": list(totals.activations),
            },
        }

    def _checked(self, names: Names, template: str) -> Names:
        for name in names.groups:
            if name not in self._layout.groups:
                known = ", ".join(self._layout.groups) or "none"
                hint = did_you_mean(name, self._layout.groups) or f"; it has {known}"
                raise ConfigError(self.where(template), f"the manifest has no group '{name}'{hint}")
        return names

    def __repr__(self) -> str:
        templates = count(len(self._content), "template")
        return f"<Workload of {count(self.ranks, 'rank')}, {templates}>"


class _NumberedGroups(Sequence[tuple[int, tuple[int, ...]]]):
    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    @overload
    def __getitem__(self, at: int) -> tuple[int, tuple[int, ...]]: ...

    @overload
    def __getitem__(self, at: slice) -> list[tuple[int, tuple[int, ...]]]: ...

    def __getitem__(self, at: int | slice) -> Any:
        number = range(1, len(self) + 1)[at]
        if isinstance(number, range):
            return [(one, self._layout.members(one)) for one in number]
        return number, self._layout.members(number)

    def __len__(self) -> int:
        return self._layout.communicator_count


def _known_ordering(ordering: Ordering) -> Ordering:
    if ordering not in get_args(Ordering):
        problem = expected_got(f"one of {', '.join(get_args(Ordering))}", ordering)
        raise ConfigError("ordering", problem)
    return ordering


def load(path: str | os.PathLike[str]) -> Workload:
    """Raises ConfigError naming the file and the place in it."""
    return Workload._of_file(os.fspath(path))


def is_size(value: object) -> TypeGuard[int]:
    return type(value) is int and 0 <= value < 1 << 80


def _content(template: Template) -> Content:
    return template if isinstance(template, Content) else template.to_bytes()
