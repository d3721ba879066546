"""Writes the generated parts of the reference pages: `python docs/generate.py`.

Parts are between `<!-- generated: name -->` and `<!-- end -->`; a test compares them with the code.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from textwrap import fill
from types import ModuleType
from typing import Any

from docs import scatter
from docs.gallery import questions
from yantra import plugin
from yantra.base import units
from yantra.base.fields import Field, Many, Section
from yantra.base.registry import Registry
from yantra.collectives import sites
from yantra.collectives.algorithms import algorithms
from yantra.compute import models as compute_models
from yantra.fabric import clusters
from yantra.fabric.clusters import Number, describe
from yantra.fabric.clusters.types import DTYPES
from yantra.fabric.topologies import topologies
from yantra.memory import models as memory_models
from yantra.scenario.astra_sim_keys import FILES, Key
from yantra.scenario.layout import DOCUMENT, TEMPLATES, MemorySection
from yantra.scenario.named_layout import NAMED
from yantra.scenario.quirk_stories import STORIES
from yantra.scenario.training import STEP
from yantra.schedulers import schedulers
from yantra.workloads.models import catalogue, description, hf
from yantra.workloads.models.transformer import Transformer
from yantra.workloads.plan import names, plan
from yantra.workloads.plan.fields import MEANINGS

DOCS = Path(__file__).resolve().parent
_KEYS = ("key", "value", "default", "meaning")
_SHORT = {
    "a whole number": "integer",
    ", at least ": " ≥ ",
    ", above ": " > ",
    ", at most ": ", ≤ ",
}
_READ_AS = {
    "int": "integer",
    "unsigned": "integer ≥ 0",
    "double": "number ≥ 0",
    "float": "number ≥ 0",
    "switch": "0 or 1",
    "text": "text",
    "texts": "list",
    "list": "list",
}
_PART = re.compile(r"(?<=<!-- generated: )([^>]+?)( -->\n)(.*?)(?=<!-- end -->)", re.DOTALL)


def accuracy() -> str:
    from yantra.accuracy.suite import last, table

    return "\n".join(table(last())) + "\n"


def accuracy_of_the_default() -> str:
    from yantra.accuracy.default import judge, recorded, table

    return "\n".join(table(judge(recorded()))) + "\n"


def accuracy_of_post_training() -> str:
    from yantra.rl.accuracy.judged import recorded, table

    return "\n".join(table(recorded())) + "\n"


def accuracy_of_decode() -> str:
    from yantra.accuracy.inference import recorded, table

    return "\n".join(table(recorded())) + "\n"


def own_steps() -> str:
    from yantra.accuracy.own_rows import recorded, table

    return "\n".join(table(recorded())) + "\n"


def collectives() -> str:
    from yantra.accuracy.collectives import recorded, table

    return "\n".join(table(recorded())) + "\n"


def fabric_kinds() -> str:
    from yantra.fabric.graphs import builders
    from yantra.fabric.graphs.describe import overview

    def about(name: str) -> str:
        line = builders.get(name).__module__
        text = sys.modules[line].__doc__ or ""
        return text.partition("\n")[0].rstrip(".")

    rows = (
        (f"`{kind.name}`", about(kind.name), _codes(kind.needs), _codes(kind.takes))
        for kind in overview()
    )
    return _table(("kind", "what it is", "needs", "takes"), rows)


def traffic_kinds() -> str:
    from yantra.network.traffic import generators

    kinds = ((name, generators.get(name).options) for name in generators.names())
    rows = (
        (f"`{name}`", key.strip("`."), *rest)
        for name, section in kinds
        for key, *rest in _rows(section, "")
    )
    return _table(("kind", *_KEYS), ((name, f"`{key}`", *rest) for name, key, *rest in rows))


def request_rules() -> str:
    from yantra.serving.requests.arrivals import rules
    from yantra.serving.requests.arrivals.rule import COMMON

    kinds = [(f"`{name}`", rules.get(name).options) for name in rules.names()]
    rows = (
        (name, f"`{key.strip('`.')}`", *rest)
        for name, section in [*kinds, ("all", COMMON)]
        for key, *rest in _rows(section, "")
    )
    return _table(("rule", *_KEYS), rows)


def serving_engines() -> str:
    from yantra import _core

    rows = ((f"`{name}`", about) for name, about, *_ in _core.serving_engines())
    return _table(("engine", "how it schedules"), rows)


def serving_options() -> str:
    from yantra import _core

    lines, told = [], set()
    for engine, _, options, _ in _core.serving_engines():
        listed = []
        for name, fallback, _, meaning, choices in options:
            first = [choices[int(fallback)]] if choices else [f"{fallback:g}"]
            default = "|".join(dict.fromkeys((*first, *choices)))
            new = (name, meaning) not in told
            told.add((name, meaning))
            listed.append(f"`{name}={default}`" + (f" ({meaning})" if new else ""))
        lines.append(f"* `{engine}`: {', '.join(listed)}")
    return "\n".join(lines) + "\n"


def serving_routings() -> str:
    from yantra import _core

    rows = ((f"`{name}`", about) for name, about in _core.serving_routings())
    return _table(("routing", "who takes a request"), rows)


def routing_kinds() -> str:
    from yantra.network import routings

    found = (routings.find(name) for name in routings.names())
    rows = (
        (f"`{one.name}`", one.help, _codes(tuple(one.options.entries if one.options else ())))
        for one in found
    )
    return _table(("routing", "which way a message goes", "options"), rows)


def _codes(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def pages() -> list[Path]:
    return sorted([*DOCS.glob("concepts/*.md"), *DOCS.glob("reference/*.md")])


def generated(text: str) -> str:
    return _PART.sub(lambda match: f"{match[1]}{match[2]}{part(match[1])}", text)


def part(name: str) -> str:
    """Return a part by name; others are keys of a scenario's section."""
    parts = {
        "quirks": quirks,
        "topologies": topology_names,
        "algorithms": algorithm_names,
        "fabrics": fabric_kinds,
        "traffic": traffic_kinds,
        "request rules": request_rules,
        "routings": routing_kinds,
        "serving engines": serving_engines,
        "serving options": serving_options,
        "serving routings": serving_routings,
        "compute models": lambda: plug_ins(compute_models),
        "memory models": lambda: plug_ins(memory_models),
        "schedulers": lambda: plug_ins(schedulers),
        "what plug-ins import": what_plug_ins_import,
        "accuracy": accuracy,
        "accuracy of the default": accuracy_of_the_default,
        "accuracy of decode": accuracy_of_decode,
        "accuracy of post-training": accuracy_of_post_training,
        "own steps": own_steps,
        "collectives": collectives,
        "clusters": cluster_names,
        "sites": named_sites,
        "peak rates": peak_rates,
        "achievable rates": achievable_rates,
        "keys of a named cluster": keys_of_a_named_cluster,
        "keys of a training step": lambda: _table(_KEYS, _rows(STEP, "workload")),
        "keys of templates": lambda: _table(_KEYS, _rows(TEMPLATES, "workload")),
        "keys of ASTRA-sim's network file": lambda: astra_sim_keys("network"),
        "keys of ASTRA-sim's system file": lambda: astra_sim_keys("system"),
        "keys of ASTRA-sim's memory file": lambda: astra_sim_keys("memory"),
        "plan fields": plan_fields,
        "plan names": plan_names,
        "model names": model_sizes,
        "models": known_models,
        "model types": model_types,
        "same types": same_types,
        "refused types": refused_types,
    }
    return parts[name]() if name in parts else section(name.removeprefix("keys of").strip())


def keys_of_a_named_cluster() -> str:
    """Return the keys a named cluster adds or changes."""
    above = {row[0]: row for row in _rows(DOCUMENT.entries["cluster"][1], "cluster")}
    rows = _rows(NAMED, "cluster")
    return _table(_KEYS, (row for row in rows if row[0] not in above or _differs(row, above)))


def _differs(row: tuple[str, ...], above: dict[str, tuple[str, ...]]) -> bool:
    return row[1] != above[row[0]][1]  # not only in meaning


def quirks() -> str:
    rows = ((f"`{quirk}`", *story) for quirk, story in STORIES.items())
    return _table(("quirk", "ASTRA-sim 2", "Yantra without it", "why"), rows)


def astra_sim_keys(file: str) -> str:
    rows = ((f"`{key.name}`", _read(key), _unless_given(key), key.meaning) for key in FILES[file])
    return _table(_KEYS, rows)


def _read(key: Key) -> str:
    if key.names:
        return _same(key.names)
    bound = "" if key.at_least is None else f" ≥ {key.at_least}"
    return f"{_READ_AS[key.reads]}{bound}"


def _unless_given(key: Key) -> str:
    if isinstance(key.default, str):
        return f"`{key.default}`" if key.default else "none"
    is_number = key.reads not in ("list", "texts", "choice") and not key.is_of_1_0
    return str(key.default) if is_number and key.default >= (key.at_least or 0) else "none"


def _same(names: Mapping[str, str]) -> str:
    together: dict[str, list[str]] = {}
    for name, own in names.items():
        together.setdefault(own, []).append(f"`{name}`")
    return ", ".join(" = ".join(same) for same in together.values())


def topology_names() -> str:
    head = ("name", "what it is", "a number behind the name")
    named = ((name, topologies.get(name)) for name in topologies.names())
    rows = ((f"`{name}`", _first_sentence(kind), kind.number_means) for name, kind in named)
    return _table(head, rows)


def algorithm_names() -> str:
    head = ("name", "what it is", "collectives")
    named = ((name, algorithms.get(name)) for name in algorithms.names())
    rows = (
        (f"`{name}`", _first_sentence(kind), ", ".join(sorted(kind.kinds))) for name, kind in named
    )
    return _table(head, rows)


def plug_ins(known: Registry[Any]) -> str:
    named = ((name, known.get(name)) for name in known.names())
    rows = ((f"`{name}`", _first_sentence(kind), _options(kind.options)) for name, kind in named)
    return _table(("name", "what it is", "options"), rows)


def what_plug_ins_import() -> str:
    modules = (
        import_module(f"{plugin.__name__}.{module.name}")
        for module in iter_modules(plugin.__path__)
    )
    rows = (
        (f"`{module.__name__}`", _first_line(module), ", ".join(f"`{n}`" for n in module.__all__))
        for module in modules
    )
    return _table(("module", "for", "names"), rows)


def _first_line(module: ModuleType) -> str:
    return (module.__doc__ or "").splitlines()[0].rstrip(".")


def _options(section: Section | None) -> str:
    if section is None:
        return "none"
    said: dict[tuple[str, str, str], list[str]] = {}
    for key, (name, field, meaning) in section.entries.items():
        value, default = _value(field), _default(field, section.record, name)
        said.setdefault((_choice(value), _given(default), _of_any(meaning, key)), []).append(
            f"`{key}`"
        )
    return "; ".join(
        f"{', '.join(keys)}{choice}{default}: {meaning}"
        for (choice, default, meaning), keys in said.items()
    )


def _choice(value: str) -> str:
    return f", {value}" if value.startswith("one of ") else ""


def _given(default: str) -> str:
    return "" if default == "none" else f" ({default})"


def _of_any(meaning: str, key: str) -> str:
    """Return a meaning that options share but for a name."""
    return re.sub(rf"\b(of|in) {key}\b", r"\1 it", meaning)


def plan_fields() -> str:
    rows = (
        (f"`{field}`", _plan_value(field), _plan_default(field), meaning)
        for field, meaning in MEANINGS.items()
    )
    return _table(("field", "value", "default", "meaning"), rows)


def _plan_value(field: str) -> str:
    if field in plan.SWITCHES:
        return "true or false"
    choices = (0, 1, 2, 3) if field == "zero" else plan.CHOICES.get(field)
    if choices:
        return ", ".join(f"`{choice}`" for choice in choices)
    if field in (*plan.SIZES, *plan.OPTIONAL_SIZES):
        return "integer ≥ 1"
    if field == "stage_layers":
        return "whole numbers, as a list or a text"
    return "a number > 0" if field == "capacity_factor" else "a text"


def _plan_default(field: str) -> str:
    default = getattr(plan.Plan, field)
    if default is None:
        return "derived" if field in plan.Plan().derived else "none"
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def plan_names() -> str:
    rows: dict[str, list[str]] = {}
    for alias in names.ALIASES:
        rows.setdefault(alias.field, []).append(_foreign(alias))
    made = ((f"`{field}`", ", ".join(rows[field])) for field in MEANINGS if field in rows)
    return _table(("field", "other names"), made)


def _foreign(alias: names.Alias) -> str:
    values = alias.values or {}
    meant = {value for value in values.values() if value is not None}
    said = f" = {meant.pop()}" if len(meant) == 1 and alias.field not in plan.SWITCHES else ""
    return f"`{alias.name}`{said} ({alias.program})"


def model_sizes() -> str:
    rows = (
        (f"`{field}`", ", ".join(f"`{name}`" for name in description.ALIASES.get(field, ())))
        for field in Transformer.field_names
        if field not in ("name", "source", "notes")
    )
    return _table(("size", "other names"), rows)


def cluster_names() -> str:
    machines = [clusters.load(name) for name in clusters.names()]
    rows = ((f"`{name}`", *rest) for name, *rest in map(describe.row, machines))
    return _table(describe.HEAD, rows)


def named_sites() -> str:
    """Return the table of named sites."""
    rows = []
    for name in sites.names():
        site = sites.load(name)
        like = (
            f"`{site.measured}`" if site.measured else ", ".join(f"like `{x}`" for x in site.like)
        )
        rate = units.format_bandwidth(site.rate * 1e9)
        adapters = f"{site.adapters} x {rate}"
        rows.append(
            (f"`{name}`", f"`{site.machine}`", site.fabric, adapters, f"{site.reached:g}", like)
        )
    head = ("site", "cluster", "fabric", "adapters of a node", "share that rings reach", "latency")
    return _table(head, rows)


def peak_rates() -> str:
    return _rates({name: dict(clusters.load(name).peak) for name in clusters.names()}, DTYPES)


def achievable_rates() -> str:
    rates = {name: dict(clusters.load(name).achievable) for name in clusters.names()}
    return _rates({name: of for name, of in rates.items() if of}, ("bf16", "fp16", "fp8"))


def _rates(machines: dict[str, dict[str, Number]], dtypes: tuple[str, ...]) -> str:
    rows = (
        (f"`{name}`", *(_tera(of.get(dtype)) for dtype in dtypes)) for name, of in machines.items()
    )
    return _table(("TFLOP/s, dense", *dtypes), rows)


def _tera(rate: Number | None) -> str:
    return "" if rate is None else f"{rate.value / 1e12:g}"


def known_models() -> str:
    return _paragraph(catalogue.names())


def model_types() -> str:
    return _paragraph(hf.families.names())


def same_types() -> str:
    return _table(("is read as", "model_type"), _gathered(hf.SAME, lambda kind: f"`{kind}`"))


def refused_types() -> str:
    return _table(("because", "model_type"), _gathered(hf.REFUSED, str))


def _paragraph(names: Iterable[str]) -> str:
    return fill(_codes(tuple(names)) + ".", 118, break_on_hyphens=False) + "\n"


def _gathered(facts: Mapping[str, str], written: Callable[[str], str]) -> Iterator[tuple[str, str]]:
    for value in sorted(set(facts.values())):
        yield written(value), _codes(tuple(name for name in sorted(facts) if facts[name] == value))


def section(path: str) -> str:
    """Return a section's keys, such as `cluster.device`; "" is the whole file."""
    found: Any = DOCUMENT
    for key in path.split(".") if path else ():
        found = _inner(found.entries[key][1])
    return _table(_KEYS, _rows(found, path))


def _rows(section: Section, path: str) -> Iterator[tuple[str, ...]]:
    for key, (name, field, meaning) in section.entries.items():
        value = "see below" if isinstance(field, Section) else _value(field)
        default = _default(field, section.record, name)
        yield f"`{path}.{key}`" if path else f"`{key}`", value, default, meaning
    if isinstance(section, MemorySection):
        yield f"`{path}.options`", "a mapping", "none", "options of the kind"


def _first_sentence(plug_in: type) -> str:
    """Return what a plug-in's file says it is, without its name."""
    opening = (sys.modules[plug_in.__module__].__doc__ or "").split("\n\n")[0]
    return " ".join(opening.partition(": ")[2].split()).rstrip(".")


def _inner(field: Field) -> Field:
    return field.item if isinstance(field, Many) else field


def _value(field: Field) -> str:
    text = re.sub(r'"([^"]+)"', r"`\1`", field.describe())
    text = re.sub(r" such as `\d[^`]*`", "", text)  # the units of the page have examples
    for words, sign in _SHORT.items():
        text = text.replace(words, sign)
    return text


def _default(field: Field, record: Any, name: str) -> str:
    if not hasattr(record, name):
        return "required"
    value = getattr(record, name)
    if value is None or value == ():
        return "none"
    if isinstance(field, Section):
        return "as below"
    written = field.write(value, "")
    return f"`{str(written).lower() if isinstance(written, bool) else written}`"


def _table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    for page in pages():
        page.write_text(generated(page.read_text(encoding="utf-8")), encoding="utf-8")
    scatter.FILE.write_text(scatter.svg(), encoding="utf-8")
    (DOCS / "gallery" / "README.md").write_text(questions.page(), encoding="utf-8")
