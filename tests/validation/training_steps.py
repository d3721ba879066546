"""Simulates the published training steps, and records the results.

    python -m tests.validation.training_steps            all of them, beside what was recorded
    python -m tests.validation.training_steps --write    record them, write the table of the page

The tests simulate the small ones; the largest (512 ranks) take a minute and 3 GB of memory.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.validation.published import DATA, rows
from yantra.base.documents import parse_yaml
from yantra.fabric.clusters.types import Speeds
from yantra.run.simulate import simulate
from yantra.scenario import Scenario, Templates
from yantra.scenario.named import parts_at
from yantra.workloads.models import zoo
from yantra.workloads.models.assemble import model_of
from yantra.workloads.models.model import Model
from yantra.workloads.models.transformer import Transformer
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.train import train

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "accuracy.md"
RECORD = DATA / "training_simulated.csv"
_HEAD = "ranks,cluster,name,nominal_s,achievable_s"


class Case(NamedTuple):
    """A published step: `plan` is ours, `ranks` and `global_batch` are the published ones."""

    name: str
    group: str
    model: Model
    cluster: str
    plan: Plan
    ranks: int
    global_batch: int
    published: dict[str, float]
    unknown: str
    large: bool

    @property
    def key(self) -> tuple[str, str, str]:
        return str(self.plan.ranks), self.cluster, self.name

    @property
    def published_s(self) -> float:
        """The published time of a step in seconds, from a throughput where only that is given."""
        if "seconds" in self.published:
            return self.published["seconds"]
        if "tokens_per_s" in self.published:
            return self.global_batch * self.model.sequence / self.published["tokens_per_s"]
        counted = _narayanan if self.group == "megatron" else _trained
        flops = counted(self.model) * self.global_batch
        return flops / (self.published["tflops"] * 1e12 * self.ranks)


class Simulated(NamedTuple):
    nominal: float
    achievable: float


def _narayanan(model: Model) -> float:
    layers, h, s = len(model.layers), model.hidden, model.sequence
    return float(96 * s * layers * h**2 * (1 + s / (6 * h) + 51200 / (16 * layers * h)))


def _trained(model: Model) -> float:
    return 3.0 * model.flops(causal="megatron")


def models() -> dict[str, tuple[Model, int | None]]:
    form = zoo.get("gpt-1t")
    assert isinstance(form, Transformer)
    made = {}
    for name, sizes in _document()["models"].items():
        width, length = sizes["hidden_size"], sizes.get("seq_length", 2048)
        wanted = {key: value for key, value in sizes.items() if key != "parameters"}
        wanted |= {"ffn_hidden_size": 4 * width, "max_position_embeddings": length}
        wanted |= {"num_query_groups": 0, "kv_channels": 0}
        made[name] = (model_of(form.replace(name=name, **wanted)), sizes.get("parameters"))
    return made


def cases() -> Iterator[Case]:
    made = models()
    for given in _document()["cases"]:
        name = given["model"]
        settings: dict[str, Any] = {}
        for part in given["plan"]:
            settings |= part
        plan = Plan(**settings)
        published = dict(given["published"])
        yield Case(
            name=given["name"],
            group=given["group"],
            model=made[name][0] if name in made else model_of(zoo.get(name)),
            cluster=given["cluster"],
            plan=plan,
            ranks=published.pop("ranks", plan.ranks),
            global_batch=published.pop("global_batch", plan.global_batch),
            published=published,
            unknown=given.get("unknown", ""),
            large=given.get("large", False),
        )


def _document() -> dict[str, Any]:
    path = DATA / "training_published.yaml"
    document: dict[str, Any] = parse_yaml(path.read_text(encoding="utf-8"), str(path))
    return document


def simulated(case: Case) -> Simulated:
    workload = Templates(workload=train(case.model, case.plan))

    def seconds(speeds: Speeds) -> float:
        parts = parts_at(case.cluster, case.plan.ranks, speeds=speeds)
        result = simulate(Scenario(workload=workload, **parts))
        return float(result.finish_ns.max()) / 1e9

    return Simulated(seconds("nominal"), seconds("achievable"))


def recorded() -> dict[tuple[str, str, str], Simulated]:
    return {
        (row["ranks"], row["cluster"], row["name"].replace(";", ",")): Simulated(
            float(row["nominal_s"]), float(row["achievable_s"])
        )
        for row in rows(RECORD.name)
    }


def page_with(text: str, results: dict[tuple[str, str, str], Simulated]) -> str:
    part = re.compile(r"(?<=<!-- simulated -->\n).*?(?=<!-- end -->)", re.DOTALL)
    return part.sub(lambda _: table(results), text)


def table(results: dict[tuple[str, str, str], Simulated]) -> str:
    lines = [
        "| step | cluster | ranks: theirs, ours | published | nominal | achievable | |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for case in cases():
        ours = results[case.key]
        deviation = ours.achievable / case.published_s - 1
        cells = (
            case.name + (" (*)" if case.unknown else ""),
            f"`{case.cluster}`",
            f"{case.ranks}, {case.plan.ranks}",
            f"{case.published_s:.3g} s",
            f"{ours.nominal:.3g} s",
            f"{ours.achievable:.3g} s",
            f"{deviation:+.0%}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def write(results: dict[tuple[str, str, str], Simulated]) -> None:
    lines = [
        "# The steps of training_published.yaml, by training_steps.py --write",
        _HEAD,
    ]
    for (ranks, cluster, name), ours in results.items():
        named = name.replace(",", ";")
        lines.append(f"{ranks},{cluster},{named},{ours.nominal:.6g},{ours.achievable:.6g}")
    RECORD.write_text("\n".join(lines) + "\n", encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(page_with(page, recorded()), encoding="utf-8")


def main() -> int:
    before = recorded() if RECORD.exists() else {}
    results = {}
    same = True
    for case in cases():
        ours = results[case.key] = simulated(case)
        old = before.get(case.key)
        fits = old is not None and abs(ours.achievable / old.achievable - 1) < 1e-4
        same &= fits
        print(
            f"{case.group:9} {case.name:20} {case.cluster:13} {case.plan.ranks:4} ranks  "
            f"published {case.published_s:7.3f} s  nominal {ours.nominal:7.3f} s  "
            f"achievable {ours.achievable:7.3f} s  {ours.achievable / case.published_s - 1:+6.1%}"
            f"{'' if fits else '  not as recorded'}",
            flush=True,
        )
    if "--write" in sys.argv:
        write(results)
        return 0
    return 0 if same else 1


if __name__ == "__main__":
    raise SystemExit(main())
