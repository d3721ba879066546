"""Each form is read as it says, written requests come back, and what is wrong is one line."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.serving.requests import samples
from tests.serving.requests.samples import requests, small, tokens
from yantra.base.errors import ConfigError, YantraError
from yantra.base.notes import notes_to
from yantra.serving.requests import OWN, Requests, of_rows, read, read_log, write


def written(folder: Path, text: str | bytes, name: str = "trace") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(requests())
def test_written_requests_come_back(tmp_path: Path, them: Requests) -> None:
    if len(them):
        write(them, tmp_path / "own.csv")
        assert read(tmp_path / "own.csv") == them


def test_packed_files_come_back_the_same_bytes(tmp_path: Path) -> None:
    for _ in range(2):
        write(small(), tmp_path / "own.csv.gz")
    assert read(tmp_path / "own.csv.gz") == small()
    assert gzip.decompress((tmp_path / "own.csv.gz").read_bytes()).decode() == (
        "arrival_s,prompt,output\n0,100,10\n1,100,10\n2,100,10\n"
    )


@pytest.mark.parametrize("pack", [False, True])
def test_azures_dates_count_from_the_first(tmp_path: Path, pack: bool) -> None:
    text = samples.AZURE.encode()
    them = read(written(tmp_path, gzip.compress(text) if pack else text))
    assert them.arrival_ns[:3].tolist() == [0, 4314579000, 4541877000]
    assert them.prompt[:3].tolist() == [374, 396, 879]
    assert them.output[:3].tolist() == [44, 109, 55]


def test_azures_zones_count(tmp_path: Path) -> None:
    path = written(tmp_path, samples.AZURE_2024)
    assert read(path).arrival_ns.tolist() == [0, 7405000]
    moved = samples.AZURE_2024.replace("00:00:00.017335+00:00", "02:00:00.017335+02:00")
    assert read(written(tmp_path, moved)).arrival_ns.tolist() == [0, 7405000]


def test_mooncakes_blocks_are_spans(tmp_path: Path) -> None:
    them = read(written(tmp_path, samples.MOONCAKE))
    assert them.arrival_ns.tolist() == [0, 40 * 10**6, 1040 * 10**6]
    assert them.span_source.tolist() == [0, 1, 2, 0, 1, 3, 0, 1, 2]
    assert them.span_end.tolist() == [512, 1024, 1100, 512, 1024, 1300, 512, 1024, 1100]
    assert them.ideal_hits() == 5 / 9


def test_burstgpts_failed_requests_are_left_out_with_a_note(tmp_path: Path) -> None:
    said: list[str] = []
    with notes_to(said.append):
        them = read(written(tmp_path, samples.BURSTGPT))
    assert them.arrival_ns.tolist() == [5 * 10**9, 118_500_000_000]
    assert [note.partition(": ")[2] for note in said] == [
        "1 request without prompt or output left out, as failed ones are"
    ]


def test_a_log_has_what_was_measured(tmp_path: Path) -> None:
    path = written(tmp_path, samples.VLLM)
    log = read_log(path, only={"gpu": "A"})
    assert log.requests.prompt.tolist() == [2358, 1034]
    assert log.measured["ttft_s"].tolist() == [0.68943, 0.30253]
    np.testing.assert_array_equal(log.measured["tpot_s"], [0.031851, np.nan])
    assert len(read(path, only={"gpu": "B"})) == 1


def test_several_runs_in_a_file_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"line 4: .*'gpu' parts several runs, .*: gpu=A$"):
        read(written(tmp_path, samples.VLLM))
    with pytest.raises(ConfigError, match="has no requests with gpu=C; expected at least one"):
        read(written(tmp_path, samples.VLLM), only={"gpu": "C"})
    with pytest.raises(ConfigError, match=r"has no column 'gpus' to choose .* did you mean 'gpu'"):
        read(written(tmp_path, samples.VLLM), only={"gpus": "C"})


def test_a_benchmarks_lists_are_requests_in_order_of_their_start(tmp_path: Path) -> None:
    with notes_to(lambda _: None):
        log = read_log(written(tmp_path, samples.BENCH))
    assert log.requests.arrival_ns.tolist() == [0, 250_000_000]
    assert log.requests.prompt.tolist() == [6, 5]
    np.testing.assert_allclose(log.measured["ttft_s"], [0.2, 0.5])
    np.testing.assert_allclose(log.measured["tpot_s"], [np.nan, 0.2])
    np.testing.assert_allclose(log.measured["end_to_end_s"], [0.2, 0.9])


def test_a_conversation_goes_on_from_its_earlier_turns(tmp_path: Path) -> None:
    said: list[str] = []
    with notes_to(said.append):
        them = read(written(tmp_path, samples.SHAREGPT))
    assert (them.prompt.tolist(), them.output.tolist()) == ([3, 13], [9, 1])
    assert (them.after.tolist(), them.session.tolist()) == ([-1, 0], [0, 0])
    assert tokens(them, 1)[:12] == tokens(them, 0, 12)
    assert "one for 4 characters" in said[0]


def test_own_files_have_names_chains_and_prefixes(tmp_path: Path) -> None:
    them = read(written(tmp_path, samples.OWN_CSV))
    assert them.arrival_ns.tolist() == [0, 0, 1]
    assert them.prompt.tolist() == [100, 120, 150]
    assert them.limit.tolist() == [20, 7, 5]
    assert them.priority.tolist() == [1, 0, 0]
    assert them.user.tolist() == [0, 0, 1]
    assert them.session.tolist() == [3, 3, -1]
    assert them.after.tolist() == [-1, 0, -1]
    assert them.delay_ns.tolist() == [0, 2_500_000_000, 0]
    assert tokens(them, 1, 105) == tokens(them, 0, 105)
    assert tokens(them, 2)[:65] == [*tokens(them, 0)[:64], (OWN + 2, 64)]


def test_rows_are_those_of_a_file() -> None:
    rows: list[dict[str, Any]] = [
        {"arrival_s": 0, "prompt": 10, "output": 5, "prefix": [7, 8], "prefix_tokens": [2, 4]},
        {"arrival_s": 1.5, "prompt": 30, "output": 5, "prefix": "r0", "prefix_tokens": 15},
        {"arrival_s": 1.5, "prompt": 30, "output": 5, "prefix": "r0", "prefix_tokens": 3},
    ]
    them = of_rows(rows)
    assert them.span_source.tolist() == [7, 8, 7, 8, OWN, 7, 8]
    assert them.span_end.tolist() == [2, 4, 2, 4, 15, 2, 3]


def test_sorting_is_asked_for_and_stable(tmp_path: Path) -> None:
    path = written(tmp_path, "arrival_s,prompt,output,session\n5,1,1,0\n3,2,2,1\n3,3,3,0\n")
    with pytest.raises(ConfigError, match=r"line 3: arrival_s: .* got 3 after 5; sort the rows"):
        read(path)
    assert read(path, sort=True).prompt.tolist() == [2, 3, 1]


def test_times_are_exact_to_the_ns(tmp_path: Path) -> None:
    text = "arrival_s,prompt,output\n0.123456789,1,1\n9876543.123456789,1,1\n"
    path = written(tmp_path, text)
    assert read(path).arrival_ns.tolist() == [123456789, 9876543123456789]


def test_quotes_blank_lines_and_other_ends_of_lines_are_csv(tmp_path: Path) -> None:
    text = '\ufeff"arrival_s",prompt,output\r\n\r\n0,"10",5\r\n1,10.0, 5 \r\n'
    assert read(written(tmp_path, text)).prompt.tolist() == [10, 10]


def test_a_column_that_nobody_reads_is_told(tmp_path: Path) -> None:
    said: list[str] = []
    with notes_to(said.append):
        read(written(tmp_path, "arrival_s,prompt,output,prioriti\n0,1,1,5\n"))
    assert said == [
        f"{tmp_path}/trace: left out what this version of Yantra does not know: prioriti"
    ]


AZURE = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n"
LATER = "2023-11-16 18:15:50.9951690"
OWN_ROW = "arrival_s,prompt,output\n1,2,3\n"
PREFIX = "arrival_s,prompt,output,prefix,prefix_tokens\n1,20,3,,\n"
CHAIN = "arrival_s,prompt,output,after,delay_s\n1,2,3,,\n"
MOON = '{"timestamp": 0, "input_length": 600, "output_length": 6, "hash_ids": [0, 1]}\n'
WHOLE = "expected a whole number of tokens, got"
DATE = "TIMESTAMP: expected a date such as 2023-11-16 18:15:46.6805900, got"
NO_REQUESTS = "has no requests; expected at least one"
HASHES = "hash_ids: expected a list of numbers from 0 to 2^61, one for 512 tokens at most, got "


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            f"{AZURE}{LATER},-396,9\n",
            ", line 3: ContextTokens: expected at least 1 tokens, got -396",
        ),
        (f"{AZURE}{LATER},x,9\n", f", line 3: ContextTokens: {WHOLE} x"),
        (f"{AZURE}{LATER},3.5,9\n", f", line 3: ContextTokens: {WHOLE} 3.5"),
        (f"{AZURE}{LATER},,9\n", f", line 3: ContextTokens: {WHOLE} nothing"),
        (f"{AZURE}{LATER},3,0\n", ", line 3: GeneratedTokens: expected at least 1 tokens, got 0"),
        (
            f"{AZURE}{LATER},9999999999,9\n",
            ", line 3: ContextTokens: expected at most 1000000000 tokens, got 9999999999",
        ),
        (f"{AZURE}\n\nyesterday,1,9\n", f", line 5: {DATE} yesterday"),
        (
            f"{AZURE}2023-02-31 18:15:46.6805900,1,9\n",
            f", line 3: {DATE} 2023-02-31 18:15:46.6805900",
        ),
        (f"{AZURE}{LATER},3\n", ", line 3: expected 3 values, as the header has, got 2"),
        (
            "TIMESTAMP,ContextTokens,GeneratedTokens\n",
            ": has no requests behind its header; expected at least one",
        ),
        ("", ": empty; expected requests"),
        (
            "TIMESTAMP,ContextTokens\n1,2\n",
            ": lacks the column 'GeneratedTokens', taken as the form 'azure'",
        ),
        (
            "TIMESTAMP,ContextTokens,GeneratedToken\n1,2,3\n",
            ": lacks the column 'GeneratedTokens', taken as the form 'azure'; it has"
            " 'GeneratedToken'",
        ),
        (
            "foo,bar\n1,2\n",
            ': no known form of requests: has "foo", "bar"; known are azure, burstgpt, mooncake,'
            " own, sharegpt, vllm, vllm-bench",
        ),
        ("arrival_s,prompt,prompt\n1,2,3\n", ', line 1: two columns are named "prompt"'),
        (f"{OWN_ROW}-1,2,3\n", ", line 3: arrival_s: expected a time from 0 on, got -1"),
        (f"{OWN_ROW}nan,2,3\n", ", line 3: arrival_s: expected a time, got nan"),
        (
            f"{OWN_ROW}1e30,2,3\n",
            ", line 3: arrival_s: expected a time of 4.612e+09 at most, got 1e30",
        ),
        (f"{OWN_ROW}1_0,2,3\n", ", line 3: arrival_s: expected a time, got 1_0"),
        (
            f"{OWN_ROW}0.5,2,3\n",
            ", line 3: arrival_s: expected the order of arrival, got 0.5 after 1; sort the rows "
            "(in Python, read(path, sort=True) does)",
        ),
        (
            "arrival_s,prompt,output,limit\n1,2,3,2\n",
            ", line 2: limit: expected the output or more, got 2",
        ),
        (
            "arrival_s,prompt,output,priority\n1,2,3,high\n",
            ", line 2: priority: expected a whole number, got high",
        ),
        (
            f"{CHAIN},2,3,,1\n",
            ", line 3: arrival_s: expected a time, or a row in 'after', got nothing",
        ),
        (
            f"{CHAIN},2,3,1,1\n",
            ", line 3: after: expected an earlier row, the first being 0, got 1",
        ),
        (f"{CHAIN},2,3,0,-1\n", ", line 3: delay_s: expected a time from 0 on, got -1"),
        (
            f"{PREFIX}1,2,3,7,9\n",
            ", line 3: prefix_tokens: expected a position within the prompt, got 9",
        ),
        (
            f"{PREFIX}1,2,3,7,\n",
            ", line 3: prefix_tokens: expected tokens of 'prefix', got nothing",
        ),
        (
            f"{PREFIX}1,9,3,r1,1\n",
            ", line 3: prefix: expected an earlier row behind the letter, got r1",
        ),
        (
            f"{PREFIX}1,99,3,r0,24\n",
            ", line 3: prefix_tokens: expected at most the 23 tokens of row 0, got 24",
        ),
        (
            MOON + MOON.replace(', "output_length": 6', ""),
            f", line 2: output_length: {WHOLE} nothing",
        ),
        (MOON + MOON.replace("600", "true"), f", line 2: input_length: {WHOLE} true"),
        (
            MOON + MOON.replace('"timestamp": 0', '"timestamp": -5'),
            ", line 2: timestamp: expected a time from 0 on, got -5",
        ),
        (f"{MOON}\n{MOON[:-3]}", ", line 3, column 76: not JSON: expecting ',' delimiter"),
        (f"{MOON}[1]\n", ", line 2: expected an object with a request, got [1]"),
        (MOON + MOON.replace("[0, 1]", "[0, 1, 2]"), f", line 2: {HASHES}[0, 1, 2]"),
        (MOON + MOON.replace("[0, 1]", '[0, "x"]'), f', line 2: {HASHES}[0, "x"]'),
        (MOON + MOON.replace("[0, 1]", "7"), f", line 2: {HASHES}7"),
        ("[]", f": {NO_REQUESTS}"),
        ("[3]", ", item 0: expected an object with a request, got 3"),
        (
            '[{"conversations": 3}]',
            ", conversation 0: conversations: expected a list of turns, got 3",
        ),
        (
            '{"input_lens": [1, 2], "output_lens": [1], "start_times": [1, 2]}',
            ": output_lens: expected 2 values, as input_lens has, got 1",
        ),
        (
            '{"input_lens": [1, 2], "output_lens": [1, 2]}',
            ": lacks the column 'start_times', taken as the form 'vllm-bench'",
        ),
        (
            '{"input_lens": [1], "output_lens": [-2], "start_times": [1]}',
            ", request 0: output_lens: expected at least 0 tokens, got -2",
        ),
        (b"arrival_s,prompt,output\n1,2,\xff\n", ": not UTF-8 text at byte 28"),
        (gzip.compress(AZURE.encode() * 500, mtime=0)[:60], ": the gzip data is truncated"),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path: Path, text: str | bytes, said: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ConfigError) as refused:
        read(path)
    assert str(refused.value) == f"{path}{said}"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
@given(
    st.sampled_from(samples.ALL),
    st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 3), st.binary(max_size=3)), max_size=4),
)
def test_no_damage_makes_a_traceback(
    tmp_path: Path, text: str, damages: list[tuple[int, int, bytes]]
) -> None:
    content = text.encode()
    for at, gone, new in damages:
        at %= len(content) + 1
        content = content[:at] + new + content[at + gone :]
    with notes_to(lambda _: None):
        try:
            read(written(tmp_path, content), sort=True)
        except YantraError as error:
            assert "\n" not in str(error)
