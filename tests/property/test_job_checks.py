"""What `validate` says of a job, and what a run of it does, agree.

Random jobs of several ranks with computations, collectives over groups and messages, first put
together so that they can run one node after the other, then damaged: swapped, dropped, changed.

* No finding that matters: the job runs to the end on every cluster of one dimension, at any speed.
* A certain deadlock, and nothing else: no cluster runs it to the end.
* Every seeded defect is found, with its code.
"""

from __future__ import annotations

from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.jobs import GROUPS, RANKS, Job, ends, jobs, speeds, traces
from yantra.chakra.inspect.validate import check_traces

LEFT_TO_TIMING = {"order-left-to-timing", "skipped-node-has-children"}


@settings(max_examples=150)
@given(jobs(), st.lists(speeds, min_size=2, max_size=2, unique=True))
def test_what_is_free_of_findings_runs_to_the_end(job: Job, clusters: list[Any]) -> None:
    report = check_traces(traces(job), groups=GROUPS)
    assume(report.valid and not LEFT_TO_TIMING & report.codes)
    assert all(ends(job, *speed) for speed in clusters)


@settings(max_examples=60)
@given(jobs(chained=True))
def test_a_job_in_one_order_is_called_valid_and_runs(job: Job) -> None:
    report = check_traces(traces(job), groups=GROUPS)
    assert report.valid and not LEFT_TO_TIMING & report.codes, report.text()
    assert ends(job, 1.0, 30.0)


@settings(max_examples=150)
@given(jobs(chained=True, most=8), st.data())
def test_a_certain_deadlock_ends_on_no_cluster(job: Job, data: st.DataObject) -> None:
    """Swap what two nodes of a rank do: if that closes a circle of waiting, no run ends."""
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
    elif not found:
        assert ends(job, *data.draw(speeds))
