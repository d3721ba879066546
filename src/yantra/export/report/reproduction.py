"""The scenario as text to copy, and the versions that made the result."""

from __future__ import annotations

import platform
import sys

from yantra.base.errors import ConfigError
from yantra.export.report.markup import Head, Html, element, facts, join, table
from yantra.export.report.run import Run
from yantra.scenario import ChakraFiles, Scenario, Templates, Traces, WorkloadFile, text
from yantra.scenario.origin import digests, files_of

_MOST_GROUPS = 2_000
_MOST_FILES = 64


def section(run: Run) -> Html:
    from yantra import __version__

    scenario, first = _with_files(run.result.model.scenario)
    versions = [
        ("Yantra", __version__),
        ("Python", platform.python_version()),
        ("system", sys.platform),
    ]
    return join(
        [
            element("p", first, class_="note") if first else None,
            element(
                "p",
                "Save this as scenario.yaml and run ",
                element("code", "yantra run scenario.yaml --report report.html"),
                ":",
            ),
            element(
                "div",
                element("button", "Copy", type="button", class_="copy"),
                element("pre", text.to_yaml(scenario), id="scenario-text", tabindex=0),
                class_="copied",
            ),
            facts(versions),
            _files(run.result.model.scenario),
        ]
    )


def _files(scenario: Scenario) -> Html | None:
    names = list(files_of(scenario))
    if len(names) > _MOST_FILES:
        return element("p", f"It reads {len(names):,} files.", class_="note")
    try:
        found = digests(scenario)
    except ConfigError as error:
        return element("p", f"No digests of its files: {error}", class_="note")
    rows = [[name, element("code", digest)] for name, digest in found.items()]
    heads = [Head("file", False), Head("SHA-256", False)]
    return table("Files it reads", heads, rows) if rows else None


def _with_files(scenario: Scenario) -> tuple[Scenario, str]:
    workload = scenario.workload
    if isinstance(workload, Templates):
        first = "The workload was only in memory; save it as workload.yw first (Workload.save)."
        return scenario.replace(workload=WorkloadFile(path="workload.yw")), first
    if isinstance(workload, Traces):
        first = "The traces were only in memory; write each to trace.<rank>.et first (Trace.write)."
        groups = workload.groups
        if len(groups) > _MOST_GROUPS:
            first += f" Its {len(groups):,} groups are left out here."
            groups = ()
        return scenario.replace(workload=ChakraFiles(prefix="trace", groups=groups)), first
    return scenario, ""
