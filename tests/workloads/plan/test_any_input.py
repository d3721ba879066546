"""Any input for a plan or a job gives a plan or a ConfigError."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from yantra.base.errors import YantraError
from yantra.workloads import job_file
from yantra.workloads.plan import names
from yantra.workloads.plan.plan import Plan

ANY = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 2**70),
    st.floats(),
    st.text(max_size=4),
    st.sampled_from(["zipf:1", "tp-cp-ep-dp-pp", "full", "a2a", "bf16", "no_shard", "float32"]),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=2), st.integers(), max_size=1),
)
NAMES = st.sampled_from([*names.known_names(), "no_dropout", "--tp", "unknown"])


@given(st.dictionaries(NAMES, ANY, max_size=5))
def test_any_values_are_a_plan_or_an_error(given_fields: dict[str, Any]) -> None:
    with suppress(YantraError):
        assert Plan.of(given_fields).ranks >= 1


KEYS = st.sampled_from(["model", "plan", "sequence", "seq", "name", "hf_config", "tp", "n_layer"])
TREES = st.recursive(ANY, lambda inner: st.dictionaries(KEYS, inner, max_size=3), max_leaves=6)
FLOW = st.one_of(TREES.map(str), st.text(max_size=40), TREES.map(lambda tree: f"model: {tree}"))


@given(FLOW)
def test_any_text_is_a_job_or_an_error(text: str) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "job.yaml"
        path.write_text(text, encoding="utf-8", errors="replace")
        with suppress(YantraError):
            job_file.resolve(job_file.read(path))
