"""Statistics of public traces to the printed digit, and prefix hits by definition."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.serving.requests import samples
from tests.serving.requests.samples import SHARED, requests, small, tokens
from yantra.serving.requests import OWN, Requests, read

TRACES = SHARED / "golden" / "serving"


@pytest.mark.parametrize(
    ("name", "head", "prompt", "output"),
    [
        (
            "azure2023_code.csv.gz",
            "8,819 requests in 3,435.9 s, 2.567/s",
            "2,047.8 1,469 7,436 7,437",
            "27.9 13 252 1,899",
        ),
        (
            "azure2023_conv.csv.gz",
            "19,366 requests in 3,501.7 s, 5.530/s",
            "1,154.7 1,020 4,142 14,050",
            "211.1 129 601 1,000",
        ),
        (
            "mooncake_synthetic.jsonl.gz",
            "3,993 requests in 1,022.0 s, 3.907/s",
            "15,325.5 11,587 66,458 191,378",
            "149.1 69 769 893",
        ),
    ],
)
def test_public_traces_have_their_published_statistics(
    name: str, head: str, prompt: str, output: str
) -> None:
    if not (TRACES / name).exists():
        pytest.skip(f"no {name} beside the repository")
    printed, _, *rows = str(read(TRACES / name).statistics()).splitlines()
    assert printed == head
    assert [" ".join(row.split()[1:]) for row in rows] == [prompt, output]


def test_mooncakes_synthetic_trace_hits_as_its_hashes_do() -> None:
    path = TRACES / "mooncake_synthetic.jsonl.gz"
    if not path.exists():
        pytest.skip("no trace beside the repository")
    assert f"{read(path).ideal_hits():.2%}" == "63.96%"


def test_the_rows_of_a_sample_have_these_statistics(tmp_path: Path) -> None:
    (tmp_path / "azure.csv").write_text(samples.AZURE)
    assert str(read(tmp_path / "azure.csv").statistics()).splitlines() == [
        "12 requests in 9.4 s, 1.273/s",
        "tokens   mean  p50    p99    max",
        "prompt  429.3  381  1,313  1,313",
        "output   74.9   59    152    152",
    ]


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=300))
def test_a_percentile_is_the_least_value_that_so_many_do_not_exceed(lengths: list[int]) -> None:
    them = Requests.of(np.zeros(len(lengths)), lengths, 1)
    found = them.statistics().prompt
    for share, value in ((0.5, found.p50), (0.99, found.p99)):
        assert value == next(
            one for one in sorted(lengths) if np.mean(np.less_equal(lengths, one)) >= share - 1e-12
        )
    assert found.max == max(lengths)


def test_a_rate_is_only_said_where_arrivals_say_it() -> None:
    assert small().statistics().rate_per_s == 1.5
    assert small(arrival_ns=[4, 4, 4]).statistics().rate_per_s is None
    chained = small(after=[-1, 0, -1]).statistics()
    assert chained.rate_per_s is None
    assert str(chained).startswith("3 requests in 2.0 s, 1 of them after another\n")


def literal_hits(them: Requests, block: int) -> float:
    """The definition: every block against every text before it."""
    texts = [tokens(them, at, int(them.prompt[at] + them.output[at])) for at in range(len(them))]
    hits = total = 0
    for at, prompt in enumerate(them.prompt.tolist()):
        for end in [*range(block, prompt, block), prompt]:
            total += 1
            hits += any(
                (end % block == 0 or end in (them.prompt[k], len(texts[k])))
                and len(texts[k]) >= end
                and texts[k][:end] == texts[at][:end]
                for k in range(at)
            )
    return hits / total if total else 0.0


@given(requests(most=6, longest=20), st.integers(1, 8))
def test_hits_are_those_of_the_definition(them: Requests, block: int) -> None:
    assert them.ideal_hits(block) == literal_hits(them, block)


def test_a_turn_hits_the_conversation_so_far() -> None:
    turns = small(prompt=[64, 160, 256], output=32, spans=([0, 0, 1, 3], *_conversation()))
    assert turns.ideal_hits(32) == (0 + 3 + 6) / (2 + 5 + 8)


def _conversation() -> tuple[list[int], list[int]]:
    return [OWN, OWN, OWN + 1], [96, 96, 192]
