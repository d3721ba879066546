"""What `validate` says of a job, and what a run of it does, agree.

Random jobs of several ranks can first run one node after the other, and are then damaged: nodes are
swapped, dropped, changed.

* No finding that matters: the job runs to the end on every cluster of one dimension, at any speed.
* A certain deadlock: no cluster runs it to the end.
* Damaged files end in a report or a YantraError.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.jobs import GROUPS, RANKS, Job, ends, jobs, speeds, traces
from tests.zoo import drawn
from yantra.base.errors import YantraError
from yantra.tracing.inspect.groups import process_groups, read_group_file
from yantra.tracing.inspect.rank_traces import load_job
from yantra.tracing.inspect.stats import as_dict, job_stats
from yantra.tracing.inspect.stats import report as stats_report
from yantra.tracing.inspect.validate import check_job, check_traces
from yantra.tracing.obfuscate import obfuscate


@drawn(60)
@given(jobs(), st.lists(speeds, min_size=2, max_size=2, unique=True))
def test_what_is_free_of_findings_runs_to_the_end(job: Job, clusters: list[Any]) -> None:
    report = check_traces(traces(job), groups=GROUPS)
    assume(report.valid and not report.left_to_timing)
    assert all(ends(job, *speed) for speed in clusters)


@settings(max_examples=60)
@given(jobs(chained=True))
def test_a_job_in_one_order_is_called_valid_and_runs(job: Job) -> None:
    report = check_traces(traces(job), groups=GROUPS)
    assert report.valid and "order-left-to-timing" not in report.codes, report.text()
    assert report.left_to_timing or ends(job, 1.0, 30.0)


@settings(max_examples=150)
@given(jobs(chained=True, most=8), st.data())
def test_a_certain_deadlock_ends_on_no_cluster(job: Job, data: st.DataObject) -> None:
    rank = data.draw(st.sampled_from([r for r in range(RANKS) if len(job[r]) > 1] or [0]))
    assume(len(job[rank]) > 1)
    at = data.draw(st.integers(0, len(job[rank]) - 2))
    first, second = job[rank][at : at + 2]
    first.type, second.type = second.type, first.type
    first.attributes, second.attributes = second.attributes, first.attributes
    report = check_traces(traces(job), groups=GROUPS)
    found = {finding.code for finding in report.findings if finding.severity == "error"}
    if found == {"deadlock"}:
        assert not ends(job, *data.draw(speeds))
    elif not found and not report.left_to_timing:
        assert ends(job, *data.draw(speeds))


@settings(max_examples=40)
@given(jobs(most=6), st.data())
def test_damaged_files_end_in_a_report(job: Job, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for rank, trace in enumerate(traces(job)):
            content = bytearray(trace.to_bytes())
            for _ in range(data.draw(st.integers(0, 4))):
                at = data.draw(st.integers(0, max(len(content) - 1, 0)))
                content[at : at + 1] = data.draw(st.binary(max_size=2))
            (Path(folder) / f"job.{rank}.et").write_bytes(content)
        pattern = f"{folder}/job.{{rank}}.et"
        report = check_job([pattern], groups=GROUPS)
        assert report.text() and report.as_dict()["exit_code"] in (0, 2)
        try:
            loaded = load_job([pattern])
            stats = job_stats(loaded, GROUPS)
            assert stats_report(stats) and as_dict(stats)
            obfuscate(loaded, level=data.draw(st.integers(1, 4)), key=b"k", groups=GROUPS)
        except YantraError as error:
            assert str(error)


@given(st.text(max_size=80) | st.sampled_from(['{"1": [0]}', '{"1": [0, 0]}', '{"1": 3}', "[]"]))
def test_any_text_is_a_group_file_or_a_mistake(text: str) -> None:
    assert isinstance(process_groups(text), list)
    assert isinstance(process_groups(repr([text])), list)
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        file.write(text.encode("utf-8", "replace").decode())
        file.flush()
        try:
            groups, _ = read_group_file(file.name)
        except YantraError as error:
            assert file.name in str(error)
        else:
            assert all(isinstance(ranks, tuple) and ranks for ranks in groups.values())
