"""The parts of a report add up to the result; the file needs nothing but itself."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterator
from decimal import Decimal
from hashlib import sha256
from html.parser import HTMLParser
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import ALL_REDUCE, cluster, collectives
from tests.reports import EVIL, forget, many, packets, shared, step, uneven
from yantra.chakra import TraceBuilder
from yantra.cli import main
from yantra.explain import explain
from yantra.export import local_memory
from yantra.export.report import (
    html,
    kernels,
    link_drawing,
    memory,
    network,
    nodes,
    page,
    path,
    shell,
    timeline,
    waits,
)
from yantra.export.report.classes import mean_parts
from yantra.export.report.columns import Columns
from yantra.export.report.communication import rows
from yantra.export.report.markup import Html, element
from yantra.export.report.run import Run
from yantra.result import Result
from yantra.result.accounting import COLLECTIVE_PARTS
from yantra.result.parts import NAMES as PARTS
from yantra.result.tables import NODE_TYPES
from yantra.run.simulate import simulate
from yantra.scenario import Scenario, Traces

ROOT = Path(__file__).resolve().parents[2]
RESULTS = [uneven, lambda: uneven("store_and_forward"), step]
NAMES = ["uneven", "queueing", "step"]
whole = pytest.mark.parametrize("made", RESULTS, ids=NAMES)


@pytest.fixture(scope="module", autouse=True)
def _no_run_outlives_the_tests() -> Iterator[None]:
    yield
    forget()


def unpacked(columns: Columns) -> dict[str, list[Any]]:
    content = zlib.decompress(base64.b64decode(columns.packed()))
    found: dict[str, list[Any]] = {}
    for name, (offset, count, planes, form) in columns.directory().items():
        values, sum_ = [], 0
        for at in range(int(count)):
            raw = sum(
                content[int(offset) + plane * int(count) + at] << 8 * plane
                for plane in range(int(planes))
            )
            value = raw // 2 if raw % 2 == 0 else -(raw // 2) - 1
            sum_ = sum_ + value if form == "delta" else value
            values.append(sum_)
        found[name] = values
    return found


@given(st.lists(st.integers(-(2**52), 2**52)), st.booleans())
def test_a_column_comes_back_as_it_was(values: list[int], delta: bool) -> None:
    columns = Columns()
    columns.add("first", [7, 7, 7])
    columns.add("values", values, delta=delta)
    assert unpacked(columns)["values"] == values


def test_a_number_that_a_page_cannot_hold_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be shown"):
        Columns().add("ids", [2**53])


@whole
def test_ranks_of_a_class_have_equal_times_and_no_others(made: Any) -> None:
    result = made()
    run = Run(result)
    assert sum(one.size for one in run.classes) == result.model.ranks
    times: dict[int, list[Any]] = {}
    table = result.nodes
    for rank, *row in zip(*map(table.values, ("rank", "id", "start_ns", "end_ns")), strict=True):
        times.setdefault(rank, []).append(row)
    for rank, at in enumerate(run.grouping.class_of):
        for other, other_at in enumerate(run.grouping.class_of):
            same = times[rank] == times[other]
            same &= result.model.graphs.by_rank[rank] == result.model.graphs.by_rank[other]
            assert same == (at == other_at)


@whole
def test_the_bar_of_all_ranks_is_the_mean_of_the_table_of_ranks(made: Any) -> None:
    result = made()
    means = mean_parts(Run(result).classes)
    for part, mean in zip(PARTS, means, strict=True):
        column = result.ranks.values(f"{part}_ns")
        assert mean / result.model.ticks_per_ns == pytest.approx(sum(column) / len(column))


@whole
def test_collectives_add_up_to_the_table_of_collectives(made: Any) -> None:
    result = made()
    found = [row for row in rows(Run(result)) if row.kind not in ("send", "receive")]
    table = result.collectives
    assert sum(row.calls for row in found) == len(table)
    lengths = zip(table.values("start_ns"), table.values("end_ns"), strict=True)
    ticks = sum(round((end - start) * result.model.ticks_per_ns) for start, end in lengths)
    assert sum(row.ticks for row in found) == ticks
    assert sum(row.calls * row.buffer_bytes for row in found) == sum(table.values("buffer_bytes"))


@whole
def test_the_parts_of_collectives_add_up_to_their_time(made: Any) -> None:
    result = made()
    found = [row for row in rows(Run(result)) if row.kind not in ("send", "receive")]
    assert all(sum(row.parts) == row.ticks for row in found)
    for at, name in enumerate(COLLECTIVE_PARTS):
        column = result.collectives.values(f"{name}_ns")
        ticks = sum(round(value * result.model.ticks_per_ns) for value in column)
        assert sum(row.parts[at] for row in found) == ticks


@whole
def test_the_timeline_holds_the_times_and_the_slack_of_the_table_of_nodes(made: Any) -> None:
    result = made()
    run = Run(result)
    timeline.gather(run)
    columns = unpacked(run.columns)
    table, per_ns = result.nodes, result.model.ticks_per_ns
    first = 0
    for rank in range(result.model.ranks):
        at = run.grouping.class_of[rank]
        count = run.classes[at].nodes
        times = {"start": "start_ns", "slack": "slack_ns"}
        for column, name in times.items():
            values = [value * per_ns for value in table.values(name)[first : first + count]]
            assert columns[f"c{at}.{column}"] == [round(value) for value in values]
        ends = [
            start + length - 1
            for start, length in zip(columns[f"c{at}.start"], columns[f"c{at}.length"], strict=True)
        ]
        told = table.values("end_ns")[first : first + count]
        assert ends == [round(value * per_ns) for value in told]
        first += count


def test_nodes_have_a_row_of_the_timeline_unless_they_are_posted_receives() -> None:
    for made in (packets, step):
        for graph in Run(made()).graphs:
            types = [NODE_TYPES[number] for number in graph.native.type]
            are_drawn = [stream < len(nodes.STREAMS) for stream in graph.stream]
            assert are_drawn == [name != "COMM_RECV" for name in types]


@whole
def test_every_rank_finds_its_groups_and_peers(made: Any) -> None:
    result = made()
    run = Run(result)
    about = timeline.gather(run)["meanings"]
    columns = unpacked(run.columns)
    if not about["families"]:
        begins = [0, *accumulate(columns["groups.size"])]
        members = {
            group: tuple(columns["groups.member"][begin:end])
            for group, (begin, end) in zip(columns["groups.id"], pairwise(begins), strict=True)
        }
        assert members == dict(result.model.groups)
    for rank, at in enumerate(result.model.graphs.by_rank):
        names = result.model.graphs.group_names(rank)
        for place, name in enumerate(about["groups"][at]):
            column = f"g{at}.group{place}"
            if column in columns:
                name = str(columns[column][columns[f"g{at}.ranks"].index(rank)])
            assert name == names[place]


def test_collectives_are_told_by_the_shape_of_their_group() -> None:
    found = {(row.kind, row.group, row.calls) for row in rows(Run(uneven()))}
    assert found == {
        ("all_reduce", "8 ranks", 8),
        ("all_gather", "4 ranks", 8),
        ("send", "", 1),
        ("receive", "", 1),
    }


@whole
def test_every_kernel_is_placed_or_counted_as_left_out(made: Any) -> None:
    result = made()
    found = kernels.find(Run(result))
    table = result.nodes
    computing = [kind == "COMP" for kind in table.values("type")]
    assert sum(kernel.calls for kernel in found.placed) + found.without == sum(computing)


def test_a_step_of_a_roofline_device_lies_on_the_roof() -> None:
    result = step()
    device = result.model.scenario.device
    for kernel in kernels.find(Run(result)).placed:
        rate = kernel.operations / kernel.ticks * result.model.ticks_per_ns * 1e9
        roof = min(device.peak_flops, device.memory_bytes_per_s * kernel.operations / kernel.bytes)
        assert rate == pytest.approx(roof, rel=1e-3)


def test_saved_activations_are_all_gone_when_the_step_ends() -> None:
    found = memory.find(Run(step()))
    assert found.source == "activations"
    for one in found.classes:
        assert one.bytes[-1] == 0
        assert min(one.bytes) >= 0
        assert one.peak > sum(one.fixed.values()) > 0


def test_followed_tensors_have_the_peak_of_their_trace() -> None:
    trace = TraceBuilder()
    first = trace.compute(duration_micros=1)
    second = trace.compute(duration_micros=1, after=first)
    first["inputs"], first["outputs"] = [], ["a", "800"]
    second["inputs"], second["outputs"] = ["a", "800"], []
    result = simulate(
        Scenario(
            workload=Traces(traces=(trace.build(),) * 8),
            topology=uneven().model.scenario.topology,
            track_local_memory=True,
        )
    )
    (found,) = memory.find(Run(result)).classes
    assert found.peak == local_memory.usage(result, 0).peak_bytes == 800


@whole
def test_the_critical_path_adds_up_to_the_makespan(made: Any) -> None:
    result = made()
    found = path.path_of(Run(result))
    assert found is not None
    assert sum(path.by_kind(found.steps).values()) == pytest.approx(result.makespan_ns)
    assert sum(part.length_ns for part in found.stretches) == pytest.approx(result.makespan_ns)
    assert [step for part in found.stretches for step in part.steps] == list(found.steps)


@whole
def test_the_shares_of_the_critical_path_are_those_of_explain_and_add_up(made: Any) -> None:
    result = made()
    found = path.path_of(Run(result))
    assert found is not None
    drawn = path.by_kind_bar(found)
    in_bar, shown = (
        re.findall(rf": [^:,<]*, ([0-9.]+) %</{tag}>", drawn) for tag in ("title", "li")
    )
    assert in_bar == shown
    assert sum(Decimal(share) for share in shown) == 100
    explained = explain(result, runs=False).text().partition("Critical path by kind\n")[2]
    table = explained.partition("\n\n")[0].splitlines()[1:-1]
    assert sorted(shown) == sorted(line.split()[-2] for line in table)


def test_every_link_is_drawn_once_with_what_it_carried() -> None:
    result = uneven("store_and_forward")
    (drawing,) = network.drawings(Run(result))
    assert len({link[:3] for link in drawing.links}) == len(drawing.links)
    assert len(drawing.links) == sum(result.dimensions.values("links"))
    assert sum(link.bytes for link in drawing.links) == sum(result.links.values("bytes"))
    assert all(link.source in drawing.places for link in drawing.links)


@pytest.mark.parametrize("network_model", ["analytical", "store_and_forward"])
@pytest.mark.parametrize("kind", ["mesh", "hypercube", "two_level_tree2", "fully_connected"])
def test_every_topology_can_be_drawn(kind: str, network_model: str) -> None:
    trace = TraceBuilder()
    trace.collective(ALL_REDUCE, 1 << 20)
    result = simulate(
        Scenario(
            workload=Traces(traces=(trace.build(),) * 16),
            topology=cluster((kind, 8, 50.0, 500.0), ("ring", 2, 25.0, 900.0)),
            collectives=collectives("ring", 2),
            network=network_model,  # type: ignore[arg-type]
        )
    )
    (drawing,) = network.drawings(Run(result))
    assert set(range(16)) <= set(drawing.places)
    ends = {end for link in drawing.links for end in (link.source, link.destination)}
    assert ends <= set(drawing.places)
    carried = sum(result.links.values("bytes"))
    assert not carried or sum(link.bytes for link in drawing.links) == carried


def test_a_fabric_is_drawn_with_its_devices_and_the_load_of_each_direction() -> None:
    result = shared()
    (drawing,) = network.drawings(Run(result))
    assert len(drawing.places) == 8 + 2 + 2
    assert len(drawing.links) == 2 * (8 + 4)
    assert sum(link.bytes for link in drawing.links) == sum(result.links.values("bytes"))
    assert [drawing.names[device] for device in (0, 8, 10)] == ["rank 0", "leaf 0", "spine 0"]
    of_ranks = [link for link in drawing.links if link.source == 0]
    assert len(of_ranks) == 1 and of_ranks[0].load == pytest.approx(
        of_ranks[0].bytes / (50 * result.makespan_ns)
    )


@pytest.mark.parametrize("made", [shared, lambda: uneven("store_and_forward")])
def test_the_load_of_a_link_over_time_has_the_mean_of_the_run(made: Any) -> None:
    run = Run(made())
    data = network.as_data(run)
    frames = data["over_time"]["frames"]
    shares = unpacked(run.columns)["load.share"]
    links = [link for drawing in data["drawings"] for link in drawing["links"]]
    places = [at for *_, at in links if at >= 0]
    assert places == list(range(len(shares) // frames)) and places
    for _, _, _, load, _, at in links:
        if at >= 0:
            mean = sum(shares[at * frames : (at + 1) * frames]) / frames / 1000
            assert mean == pytest.approx(load, abs=0.001)


def test_a_fabric_too_large_to_draw_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_drawing, "MOST_DEVICES", 11)
    run = Run(shared())
    assert network.drawings(run) == [] and network.as_data(run)["over_time"] is None
    assert "12 devices and 24 links are too many to draw" in network.section(run)


def test_the_busiest_links_name_who_sends_over_them() -> None:
    text = network.section(Run(shared()))
    assert "Who sends over the busiest links" in text
    assert "rank 3 to rank 4" in text and "(leaf up)" in text


def test_a_large_network_is_drawn_by_one_group_of_each_dimension() -> None:
    found = network.drawings(Run(many()))
    assert [len(drawing.links) for drawing in found] == [32, 64]
    assert "drawn with 32 of 8,192 members" in found[1].title


def test_what_a_collective_waited_for_spans_its_time() -> None:
    run = Run(uneven())
    waits.as_data(run)
    columns = unpacked(run.columns)
    for at, one in enumerate(run.classes):
        lengths = iter(columns[f"w{at}.length"])
        steps = columns[f"w{at}.steps"]
        for node, start, end in run.ran(one):
            if steps[node]:
                assert sum(next(lengths) for _ in range(steps[node])) == end - start


class Reader(HTMLParser):
    VOID = frozenset({"meta", "rect", "input", "line", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.scripts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("script", "style"):
            self.scripts.append(data)


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


@whole
def test_the_file_names_no_other_file_and_no_address(made: Any) -> None:
    text = html(made())
    reader = read(text)
    for tag, attributes in reader.found:
        assert tag not in ("link", "img", "iframe", "object")
        assert "src" not in attributes
        assert "style" not in attributes
        assert (attributes.get("href") or "#").startswith("#")
        assert not any(name.startswith("on") for name in attributes)
    addresses = set(re.findall(r"https?://[^\s\"'`)]+", text))
    # The name of a language, and where the chart library says that it is from.
    assert addresses <= {"http://www.w3.org/2000/svg", "https://github.com/leeoniya/uPlot"}


def test_the_policy_allows_just_the_script_and_the_style_of_the_page() -> None:
    reader = read(html(uneven()))
    (policy,) = [
        attributes["content"]
        for _, attributes in reader.found
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy is not None and policy.startswith("default-src 'none'")
    hashes = {base64.b64encode(sha256(text.encode()).digest()).decode() for text in reader.scripts}
    allowed = set(re.findall(r"'sha256-([^']+)'", policy))
    assert len(allowed) == 2 and allowed <= hashes


def test_hostile_names_are_text() -> None:
    text = html(uneven())
    assert "<img" not in text
    assert text.count("</script>") == len(re.findall(r"<script\b", text)) == 3
    assert any(EVIL in text for text in _texts(text))


def _texts(page_text: str) -> list[str]:
    about = json.loads(_script(page_text, "page-data"))
    content = zlib.decompress(base64.b64decode(_script(page_text, "page-columns")))
    texts: list[str] = json.loads(content[about["texts_at"] :])
    return texts


def _script(page_text: str, name: str) -> str:
    found = re.search(rf'<script [^>]*id="{name}">(.*?)</script>', page_text, re.DOTALL)
    assert found is not None
    return found[1]


def test_markup_escapes_texts_and_attributes() -> None:
    assert element("p", "<b>", title='"') == '<p title="&quot;">&lt;b&gt;</p>'
    assert element("p", Html("<br>"), hidden=True, id=None) == "<p hidden><br></p>"


def test_equal_results_give_equal_reports() -> None:
    assert html(step()) == html(step())


def test_a_run_that_was_not_recorded_says_what_is_missing() -> None:
    text = html(simulate(uneven().model.scenario))
    assert "was not recorded, so there is no critical path" in text
    assert "Bandwidth over time needs a recorded run" in text


def test_every_part_of_the_page_is_used_and_each_script_imports_earlier_ones() -> None:
    folder = Path(page.__file__).parent / "parts"
    scripts = [*shell._SHELL_SCRIPTS, *page._SCRIPTS]
    package = Path(shell.__file__).parents[2]
    source = "".join(file.read_text() for file in package.rglob("*.py"))
    for file in folder.iterdir():
        assert f'"{file.name}"' in source, f"no page uses {file.name}"
    for at, name in enumerate(scripts):
        text = shell.part(name)
        assert text.startswith(("// ", "/*! ")), f"{name} does not say what it is"
        for imported in re.findall(r'from "\./([^"]+)"', text):
            assert imported in scripts[:at], f"{name} imports {imported}, which comes later"


def test_a_report_of_131072_ranks_holds_classes_only() -> None:
    result = many()
    assert result.outcome.folded
    text = html(result)
    assert "131,072" in text
    assert len(text) < 400_000
    about = json.loads(_script(text, "page-data"))
    # Halves and doubles over the ring of 16 meet on its links, other ones at other places.
    assert [one["count"] for one in about["page"]["timeline"]["classes"]] == [131_072 // 8] * 8


def _lines(capsys: pytest.CaptureFixture[str]) -> Iterator[str]:
    return iter(capsys.readouterr().err.splitlines())


def test_the_command_writes_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    trace = TraceBuilder()
    trace.compute("kernel", duration_micros=5)
    for rank in range(2):
        trace.build().write(f"work.{rank}.et")
    Path("question.yaml").write_text(
        'workload: {traces: "work.{rank}.et"}\n'
        "cluster: {topology: [{kind: ring, size: 2, bandwidth: 1 GB/s, latency: 1 ns}]}\n"
    )
    assert main(["run", "question.yaml", "--report", "report.html"]) == 0
    text = Path("report.html").read_text()
    assert "5.000 us" in text and "Critical path" in text
    assert main(["run", "question.yaml", "--report", "nowhere/report.html"]) == 2
    assert "nowhere/report.html" in next(_lines(capsys))


def test_a_result_writes_its_report(tmp_path: Path) -> None:
    result: Result = uneven()
    result.to_report(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text() == html(result)


@pytest.mark.parametrize(
    ("name", "digest"),
    [
        ("uplot.js", "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f"),
        ("uplot.css", "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04"),
    ],
)
def test_the_chart_library_is_the_published_one(name: str, digest: str) -> None:
    text = shell.part(name)
    assert sha256(text.encode()).hexdigest() == digest
    assert name == "uplot.css" or "uPlot (v1.6.32)" in text[:80]
    notice = (ROOT / "NOTICE").read_text()
    assert name in notice and "uPlot 1.6.32" in notice
