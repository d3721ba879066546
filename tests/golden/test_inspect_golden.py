"""The checks and hiding on ASTRA-sim's golden inputs, beside the checkout; skipped without them.

* What upstream's master ran to the end has no errors, but for oddities that are named here.
* What is hidden of the symbolic tensor graphs runs within what is accepted, and still fits.
"""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from tests.archives import unpack
from yantra.run.obfuscate import Targets, obfuscate_job
from yantra.tracing.inspect.groups import Groups, read_group_file
from yantra.tracing.inspect.rank_traces import load_job
from yantra.tracing.inspect.validate import check_job, check_traces

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "golden" / "astra-sim"
CHECKED = ("E_p2p", "F_groups", "G_dag", "K_stg")
ODDITIES = {
    "send_without_recv": "send-without-receive",  # the message is lost
    "dup_id_Ring": "duplicate-id",  # the nodes are merged
    "part_cycle_Ring": "cycle",  # the nodes never run
}

pytestmark = pytest.mark.skipif(not SHARED.exists(), reason="the golden sets are not here")


def cases(archive: str, folder: Path) -> list[Path]:
    with tarfile.open(SHARED / f"{archive}.tar.gz") as files:
        unpack(files, folder)
    return sorted(path.parent for path in folder.rglob("expected.json"))


def groups_of(case: Path) -> Groups | None:
    path = next((p for p in (case / "comm_group.json", case / "groups.json") if p.exists()), None)
    return None if path is None else read_group_file(path)[0]


@pytest.mark.parametrize("archive", CHECKED)
def test_what_upstream_runs_has_no_errors(archive: str, tmp_path: Path) -> None:
    seen = 0
    for case in cases(archive, tmp_path):
        said = json.loads((case / "expected.json").read_text())
        if said.get("master/unaware", {}).get("status") != "ok":
            continue
        prefix = json.loads((case / "case.json").read_text()).get("prefix", "workload")
        report = check_job([case / f"{prefix}.{{rank}}.et"], groups=groups_of(case))
        found = {finding.code for finding in report.findings if finding.severity == "error"}
        assert found == ({ODDITIES[case.name]} if case.name in ODDITIES else set()), case.name
        seen += 1
    assert seen


@pytest.mark.parametrize("level", [1, 2, 3, 4])
def test_hidden_graphs_run_as_before(level: int, tmp_path: Path) -> None:
    for case in cases("K_stg", tmp_path):
        job = load_job([case / "workload.{rank}.et"])
        target = Targets(str(tmp_path / "hidden.{rank}.et"))
        groups = groups_of(case)
        done = obfuscate_job(job, target, level=level, key="golden", groups=groups)
        assert done.difference is not None and done.difference.accepted, case.name
        assert level > 2 or done.difference.share == 0
        hidden = [done.hidden.traces[rank] for rank in sorted(done.hidden.traces)]
        assert check_traces(hidden, groups=done.hidden.groups).valid
