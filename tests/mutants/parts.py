"""The parts of the core that mutants are made of, and the tests that must notice them in less than
two minutes; `native/**/*.test.cpp` run first.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

NATIVE = Path(__file__).resolve().parents[2] / "native"
LAWS = "tests/native/test_native_parts.py::test_a_part_keeps_its_laws"


class Part(NamedTuple):
    files: tuple[str, ...]
    tests: tuple[str, ...]


def room(name: str) -> tuple[str, ...]:
    """Return the tests beside the core of a folder and of those in it."""
    beside = sorted((NATIVE / name).rglob("*.test.cpp"))
    return tuple(f"{LAWS}[{test.relative_to(NATIVE)}]" for test in beside)


FOLDED = ("tests/property/test_shortcuts.py", "tests/property/test_folding.py")

PARTS = {
    "fast-forward": Part(
        (
            "native/fold/shortcuts/fast_forward.cpp",
            "native/fold/shortcuts/fast_forward_state.hpp",
            "native/fold/shortcuts/moving_on.cpp",
            "native/fold/shortcuts/state_visitors.hpp",
            "native/collective/runtime/state.hpp",
            "native/execution/state.hpp",
            "native/transport/state.hpp",
            "native/fold/repetition.cpp",
        ),
        FOLDED,
    ),
    "closed forms": Part(
        (
            "native/collective/exchange/closed.hpp",
            "native/fold/shortcuts/closed_form.cpp",
            "native/fold/shortcuts/known_phases.hpp",
        ),
        FOLDED,
    ),
    "order guard": Part(
        (
            "native/fold/runtime/tick_order.hpp",
            "native/fold/runtime/send_order.hpp",
            "native/fold/runtime/order_guard.cpp",
        ),
        (*FOLDED[::-1], "tests/unit/test_resources.py"),
    ),
    "classes": Part(
        (
            "native/fold/folding.cpp",
            "native/fold/refinement.cpp",
            "native/fold/signatures.cpp",
            "native/fold/neighbourhoods.cpp",
            "native/fold/destinations.cpp",
            "native/fold/rank_names.cpp",
            "native/fold/representatives.cpp",
            "native/fold/link_classes.cpp",
            "native/fold/search_budget.hpp",
            "native/fold/runtime/folded_links.cpp",
        ),
        (*FOLDED[::-1], "tests/unit/test_folding_cli.py"),
    ),
    "exchange machine": Part(
        (
            "native/collective/exchange/*.cpp",
            *(
                f"native/collective/exchange/{name}.hpp"
                for name in (
                    "beginnings",
                    "departures",
                    "exchange",
                    "hand_overs",
                    "in_step",
                    "law",
                    "packets",
                    "peers",
                    "phase_times",
                    "rounds",
                    "single",
                )
            ),
            "native/transport/peer_tables.hpp",
        ),
        (
            "tests/property/test_engine_laws.py",
            "tests/golden/test_derivations.py",
            "tests/unit/test_deadlock.py",
            "tests/unit/test_native_semantics.py",
            "tests/property/test_folding.py",
            "tests/property/test_shortcuts.py",
            "tests/golden/test_recorded.py",
            "--deselect=tests/golden/test_recorded.py::test_every_rank_finishes_when_and_in_the_order_"
            "that_astra_sim_printed[many_ranks]",
        ),
    ),
    "packet": Part(
        ("native/network/packet/**/*.cpp", "native/network/packet/**/*.hpp"),
        (
            *room("network/packet"),
            "tests/unit/test_packets.py",
            "tests/unit/test_packet_network.py",
            "tests/unit/test_packet_episodes.py",
            "tests/unit/test_packet_repeats.py",
            "tests/unit/test_packet_steering.py",
            "tests/unit/test_packet_threads.py",
            "tests/unit/test_packet_timers.py",
        ),
    ),
    "flow": Part(
        ("native/network/flow/**/*.cpp", "native/network/flow/**/*.hpp"),
        (
            *room("network/flow"),
            "tests/unit/test_flow_network.py",
            "tests/unit/test_network_flows.py",
            "tests/golden/test_max_min_flows.py",
        ),
    ),
    "wire reader": Part(
        ("native/base/wire.hpp", "native/trace/decode.cpp"),
        (
            "tests/unit/test_chakra_core.py",
            "tests/unit/test_chakra_malformed.py",
            "tests/property/test_chakra_oracle.py",
            "tests/property/test_chakra_layouts.py",
            "tests/property/test_chakra_roundtrip.py",
        ),
    ),
}

# Not what runs, but what tests of it use.
NOT_OF_A_PART = re.compile(r"(?:\.test\.cpp|/(?:test|test_settings|probe)\.hpp)$")

# Statements that do not belong to the part: what a recorded run notes.
LEFT_OUT = ("probe_.",)

# Objects compiled with one of these are left as they are: the second of two copies of a source.
SECOND_COPIES = ("-DYANTRA_RECORDED",)

NOT_REBUILT = ("native/bind/",)


def laws(file: str) -> tuple[str, ...]:
    """Return the tests beside the core that include or name a file, or have its name."""
    name = file.removeprefix("native/")
    beside = NATIVE / name.replace(".cpp", ".test.cpp")
    return tuple(
        f"{LAWS}[{test.relative_to(NATIVE)}]"
        for test in sorted(NATIVE.rglob("*.test.cpp"))
        if test == beside or name in test.read_text()
    )
