"""What a release builds fits the package's metadata."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_wheels_are_built_for_the_oldest_python_and_for_the_stable_interface() -> None:
    whole = project()
    oldest = whole["project"]["requires-python"].removeprefix(">=").replace(".", "")
    stable = whole["tool"]["scikit-build"]["wheel"]["py-api"]
    built = whole["tool"]["cibuildwheel"]["build"]
    assert built == [f"cp{oldest}-*", f"{stable}-*"] and int(stable[2:]) == int(oldest) + 1
    classifiers = whole["project"]["classifiers"]
    for version in (oldest, stable[2:]):
        assert f"Programming Language :: Python :: {version[0]}.{version[1:]}" in classifiers


def test_each_wheel_is_tried_by_a_script_that_needs_no_test_tools() -> None:
    (path,) = re.findall(r"\{project\}/(\S+)", project()["tool"]["cibuildwheel"]["test-command"])
    assert not re.search(
        r"^(?:import|from) (?!__future__|subprocess|sys|pathlib|tempfile)",
        (ROOT / path).read_text(encoding="utf-8"),
        re.MULTILINE,
    )


def test_a_release_publishes_only_what_every_machine_has_built() -> None:
    text = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
    jobs = yaml.safe_load(text)["jobs"]
    assert jobs["publish"]["needs"] == ["wheels", "source"]
    assert "refs/tags/v" in jobs["publish"]["if"]
    machines = jobs["wheels"]["strategy"]["matrix"]["os"]
    assert len([one for one in machines if one.startswith("ubuntu")]) == 2


def test_a_user_builds_without_warnings_that_are_errors() -> None:
    assert "-Werror" not in (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    assert "Werror" not in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
