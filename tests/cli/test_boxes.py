"""Boxes in commands: what `stay_in_box` takes, and what is refused as ambiguous."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.boxes import LISTED
from yantra.cli import main

JOB = """\
workload: {templates: job.yw}
cluster:
  topology: [{kind: switch, size: 4, bandwidth: 50 GB/s, latency: 500 ns}]
  device: {memory_bandwidth: 1 TB/s}
  fabric: pod.yaml
  routing: {kind: ecmp, options: {stay_in_box: VALUE}}
network: flow
collectives: {all_reduce: [ring], all_gather: [ring], reduce_scatter: [ring]}
"""


def run(inputs: Path, value: str) -> int:
    (inputs / "pod.yaml").write_text(LISTED)
    workload = f"workload train --hf-config {inputs / 'config.json'} --tp 2 --dp 2"
    assert main([*workload.split(), "-o", str(inputs / "job.yw")]) == 0
    scenario = JOB.replace(", options: {stay_in_box: VALUE}", "") if not value else JOB
    (inputs / "s.yaml").write_text(scenario.replace("VALUE", value))
    return main(["run", str(inputs / "s.yaml"), "--json"])


@pytest.mark.parametrize("value", ["true", "1", "false", "0", ""])
def test_stay_in_box_takes_true_and_false(inputs: Path, value: str) -> None:
    assert run(inputs, value) == 0


def test_stay_in_box_says_what_it_takes(inputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(inputs, "perhaps") == 2
    assert "stay_in_box: expected true or false, got 'perhaps'" in capsys.readouterr().err.replace(
        '\\"', "'"
    )


def test_two_meanings_are_an_ordinary_refusal(
    inputs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = LISTED.replace("[a, b]", "[a, b, inner]") + (
        "- {from: inner, to: leaf, bandwidth: 50 GB/s, latency: 500 ns}\n"
    )
    workload = f"workload train --hf-config {inputs / 'config.json'} --tp 2 --dp 2"
    assert main([*workload.split(), "-o", str(inputs / "job.yw")]) == 0
    (inputs / "pod.yaml").write_text(text)
    (inputs / "s.yaml").write_text(JOB.replace(", options: {stay_in_box: VALUE}", ""))
    assert main(["run", str(inputs / "s.yaml")]) == 3
    said = capsys.readouterr().err
    assert "state which is meant, stay_in_box: true or false" in said
    assert "internal error" not in said
