"""Samples of traces in each form, and lists of requests for laws."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from yantra.serving.requests import OWN, Requests

SHARED = Path(__file__).resolve().parents[3].parent / "shared"

# The first rows of Azure's conversation trace of 2023 (CC-BY 4.0, AzurePublicDataset).
AZURE = """\
TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:15:46.6805900,374,44
2023-11-16 18:15:50.9951690,396,109
2023-11-16 18:15:51.2224670,879,55
2023-11-16 18:15:51.3910170,91,16
2023-11-16 18:15:52.5732450,91,16
2023-11-16 18:15:52.9921190,381,84
2023-11-16 18:15:54.4260870,1313,142
2023-11-16 18:15:54.9320210,388,84
2023-11-16 18:15:55.0176690,242,14
2023-11-16 18:15:55.1455750,209,152
2023-11-16 18:15:55.3808030,394,124
2023-11-16 18:15:56.1080580,394,59
"""
AZURE_2024 = """\
TIMESTAMP,ContextTokens,GeneratedTokens
2024-05-10 00:00:00.009930+00:00,2162,5
2024-05-10 00:00:00.017335+00:00,2399,6
"""
# As Mooncake's: times in ms, blocks of 512 tokens.
MOONCAKE = """\
{"timestamp": 0, "input_length": 1100, "output_length": 6, "hash_ids": [0, 1, 2]}
{"timestamp": 40, "input_length": 1300, "output_length": 4, "hash_ids": [0, 1, 3]}
{"timestamp": 1040, "input_length": 1100, "output_length": 3, "hash_ids": [0, 1, 2]}
"""
BURSTGPT = """\
Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type
5,ChatGPT,472,18,490,Conversation log
45,ChatGPT,1087,0,1087,Conversation log
118.5,GPT-4,417,276,693,Conversation log
"""
VLLM = """\
gpu,arrival_s,input_tokens,output_tokens,ttft_s,tpot_s
A,0.0,2358,531,0.68943,0.031851
A,0.2651,1034,1,0.30253,
B,0.0,100,7,0.1,0.01
"""
BENCH = (
    '{"date": "x", "input_lens": [5, 6, 7], "output_lens": [3, 1, 0], "errors": ["", "", "no"],'
    ' "start_times": [100.5, 100.25, 101], "ttfts": [0.5, 0.2, 0], "itls": [[0.1, 0.3], [], []]}'
)
SHAREGPT = (
    '[{"id": "a", "conversations": ['
    '{"from": "human", "value": "twelve chars"}, {"from": "gpt", "value": "12345678", "tokens": 9},'
    '{"from": "human", "value": "more"}, {"from": "gpt", "value": "end"}]},'
    ' {"id": "b", "conversations": [{"from": "human", "value": "no answer"}]}]'
)
OWN_CSV = """\
arrival_s,prompt,output,limit,priority,user,session,after,delay_s,prefix,prefix_tokens
0,100,10,20,1,anna,3,,,system,64
0.000000001,150,5,,,ben,,,,system,64
,120,7,,,anna,3,0,2.5,r0,105
"""
ALL = (AZURE, AZURE_2024, MOONCAKE, BURSTGPT, VLLM, BENCH, SHAREGPT, OWN_CSV)


def small(**columns: Any) -> Requests:
    """Three requests, a second apart."""
    given: dict[str, Any] = {"arrival_ns": [0, 10**9, 2 * 10**9], "prompt": 100, "output": 10}
    return Requests.of(**(given | columns))


@st.composite
def requests(draw: st.DrawFn, most: int = 8, longest: int = 10**6) -> Requests:
    """Any requests: some follow others, some go on from others' conversations."""
    size = draw(st.integers(0, most))
    arrival = np.cumsum(draw(st.lists(st.integers(0, 10**15), min_size=size, max_size=size)))
    tokens = st.integers(1, longest)
    prompt = draw(st.lists(tokens, min_size=size, max_size=size))
    output = draw(st.lists(tokens, min_size=size, max_size=size))
    more = draw(st.lists(st.integers(0, 9), min_size=size, max_size=size))
    after = [draw(st.integers(-1, at - 1)) for at in range(size)]
    spans: list[list[tuple[int, int]]] = []
    for at in range(size):
        spans.append([])
        end = 0
        for _ in range(draw(st.integers(0, 3))):
            source = draw(st.integers(0, 9) | st.just(2**61 + 5))
            most_end = prompt[at]
            if at and draw(st.booleans()):
                other = draw(st.integers(0, at - 1))
                source, most_end = OWN + other, min(most_end, prompt[other] + output[other])
            if end < most_end:
                end = draw(st.integers(end + 1, most_end))
                spans[-1].append((source, end))
    flat = np.array([span for one in spans for span in one], np.int64).reshape(-1, 2)
    return Requests.of(
        np.array(arrival, np.int64),
        prompt,
        output,
        limit=np.add(output, more).astype(np.int64),
        priority=draw(st.lists(st.integers(-3, 3), min_size=size, max_size=size)),
        user=draw(st.lists(st.integers(0, 2**31 - 1), min_size=size, max_size=size)),
        session=draw(st.lists(st.integers(-1, 2**60), min_size=size, max_size=size)),
        after=np.array(after, np.int64),
        delay_ns=[0 if one < 0 else draw(st.integers(0, 10**12)) for one in after],
        spans=(np.cumsum([0, *map(len, spans)]), flat[:, 0], flat[:, 1]),
    )


def tokens(them: Requests, request: int, until: int | None = None) -> list[tuple[int, int]]:
    """The name of each token of a prompt: the definition, read literally."""
    sources, ends = them.spans_of(request)
    length = int(them.prompt[request]) if until is None else until
    named = []
    for position in range(length):
        held = [int(source) for source, end in zip(sources, ends, strict=True) if position < end]
        named.append((held[0] if held else OWN + request, position))
    return named
