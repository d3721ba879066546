"""The MSCCL programs of the golden set: all well-formed ones are proven, run, and match upstream.

Tests of the set are skipped without it: ../shared/golden, or YANTRA_GOLDEN. `recorded` holds
programs of our own and what they took, for everybody else.
"""

from __future__ import annotations

import json
import os
import tarfile
from functools import cache
from pathlib import Path

import pytest

from yantra.base.errors import ConfigError, UnsupportedError
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.collectives.msccl import Sizes, parse_program, prove, traces, upstream_traces
from yantra.collectives.msccl.traces import write
from yantra.compile import compile
from yantra.run.simulate import run_native
from yantra.scenario import Collectives, Custom, Device, Dimension, Scenario, Topology, Traces

ROOT = Path(os.environ.get("YANTRA_GOLDEN", Path(__file__).parents[3] / "shared" / "golden"))
ARCHIVE = ROOT / "chakra" / "msccl.tar.xz"
DATA = Path(__file__).parent / "data" / "msccl"
MIB = 1 << 20
MALFORMED = "simple_custom"
KINDS = {
    "allgather": CollectiveType.ALL_GATHER,
    "alltoall": CollectiveType.ALL_TO_ALL,
    "reducescatter": CollectiveType.REDUCE_SCATTER,
}

golden = pytest.mark.skipif(not ARCHIVE.exists(), reason="the golden set is not here")


@cache
def files() -> dict[str, bytes]:
    found = {}
    if ARCHIVE.exists():
        with tarfile.open(ARCHIVE) as archive:
            for member in archive:
                content = archive.extractfile(member) if member.isfile() else None
                if content is not None:
                    found[member.name.partition("/")[2]] = content.read()
    return found


def programs() -> list[str]:
    return sorted(Path(name).stem for name in files() if name.endswith(".xml"))


def finish(xml: bytes, size: int, folder: Path, sizes: Sizes) -> list[int]:
    """Return when each GPU has run the program as a collective of `size`, in ns."""
    proof = prove(parse_program(xml))
    made = traces(proof, sizes)
    write(made, str(folder / "c"))
    kind = KINDS.get(proof.collective, CollectiveType.ALL_REDUCE)
    step = TraceBuilder()
    step.collective(kind, size)
    network = Dimension(kind="fully_connected", size=len(made), bytes_per_ns=50, latency_ns=500)
    scenario = Scenario(
        workload=Traces(traces=(step.build(),) * len(made)),
        topology=Topology(dimensions=(network,)),
        device=Device(memory_bytes_per_s=50e9),
        collectives=Collectives(**{kind.name.lower(): Custom(prefix=str(folder / "c"))}),
    )
    model = compile(scenario)
    outcome = run_native(model)
    return [int(tick) // model.ticks_per_ns for tick in outcome.finish]


@golden
@pytest.mark.parametrize("name", [name for name in programs() if name != MALFORMED])
def test_a_golden_program_is_proven_and_runs_to_the_end(name: str, tmp_path: Path) -> None:
    xml = files()[f"xml/{name}.xml"]
    sized = finish(xml, MIB, tmp_path, Sizes(MIB, 0))
    assert all(time > 0 for time in sized)
    assert len(finish(xml, MIB, tmp_path, Sizes())) == len(sized)


@golden
def test_the_malformed_program_is_refused_with_line_and_reason() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_program(files()[f"xml/{MALFORMED}.xml"], "simple_custom.xml")
    assert str(caught.value) == (
        "simple_custom.xml:21: this is not well-formed XML: junk after document element; "
        "a file holds one <algo>"
    )


@golden
@pytest.mark.parametrize(
    ("form", "folder"), [("upstream-head", "et_head"), ("upstream-sized", "et_sized")]
)
def test_the_compatible_forms_are_upstreams_byte_for_byte(form: str, folder: str) -> None:
    converted = 0
    for name in programs():
        theirs = {
            path: data
            for path, data in files().items()
            if path.startswith(f"{folder}/{name}/") and path.endswith(".et")
        }
        if name == MALFORMED:
            continue
        program = parse_program(files()[f"xml/{name}.xml"])
        if not theirs:
            with pytest.raises(UnsupportedError):
                upstream_traces(program, form, MIB)  # type: ignore[arg-type]
            continue
        ours = upstream_traces(program, form, MIB)  # type: ignore[arg-type]
        assert {
            f"{folder}/{name}/{name}.{gpu}.et": t.to_bytes() for gpu, t in enumerate(ours)
        } == theirs
        converted += 1
    assert converted == {"upstream-head": 5, "upstream-sized": 8}[form]


@golden
def test_the_ring_of_msccl_tools_takes_what_its_closed_form_says(tmp_path: Path) -> None:
    """Fourteen messages of an eighth, each 500 ns and its bytes, and seven reductions of 3 x it."""
    chunk = MIB // 8
    expected = 14 * (500 + chunk / 50) + 7 * 3 * chunk / 50
    xml = files()["xml/allreduce_ring_8_1_1.xml"]
    assert finish(xml, MIB, tmp_path, Sizes()) == [int(expected)] * 8


RECORDED = json.loads((DATA / "recorded.json").read_text())


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_programs_are_proven_and_take_what_they_took(name: str, tmp_path: Path) -> None:
    expected = RECORDED[name]
    xml = (DATA / f"{name}.xml").read_bytes()
    assert list(prove(parse_program(xml)).lines) == expected["proof"]
    assert finish(xml, MIB, tmp_path, Sizes()) == expected["finish_ns"]
