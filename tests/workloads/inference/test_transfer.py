"""Keys and values between two grids: every byte, for every pair of splits."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest

from tests.oracles import transformer_forms as forms
from tests.workloads.inference.jobs import DENSE, LATENT, made
from yantra.base.errors import ConfigError
from yantra.chakra import NodeType
from yantra.workloads.models.assemble import model_of
from yantra.workloads.models.blocks.mamba2 import Mamba2
from yantra.workloads.models.blocks.single_layer import SingleLayer
from yantra.workloads.models.transformer import Transformer
from yantra.workloads.serving import InferencePlan
from yantra.workloads.templates import Workload

BATCH, PROMPT = 4, 32


def moved(workload: Workload) -> Counter[tuple[int, int]]:
    """Bytes of keys and values by (source, target), as the ranks that receive them say."""
    found: Counter[tuple[int, int]] = Counter()
    sent: Counter[tuple[int, int, int]] = Counter()
    for rank in range(workload.ranks):
        for node in workload.trace(rank):
            if " cache of " not in node.name:
                continue
            values = {one.name: one.value for one in node.attributes}
            if node.type == NodeType.COMM_SEND:
                sent[rank, values["comm_dst"], values["comm_tag"]] += values["comm_size"]
            else:
                found[values["comm_src"], rank] += values["comm_size"]
                sent[values["comm_src"], rank, values["comm_tag"]] -= values["comm_size"]
    assert not any(sent.values())
    return found


def disaggregated(
    t: Transformer, source: InferencePlan, target: InferencePlan, **job: object
) -> Workload:
    return made(
        t, source, decode_plan=target, phase="disaggregated", batch=BATCH, prompt=PROMPT, **job
    )


SPLITS = [(tp, pp, dp) for tp, pp, dp in product((1, 2, 4), (1, 2), (1, 2)) if tp * pp * dp <= 4]


@pytest.mark.parametrize("source", SPLITS, ids=str)
@pytest.mark.parametrize("target", SPLITS, ids=str)
def test_the_cache_arrives_once_and_whole(
    source: tuple[int, int, int], target: tuple[int, int, int]
) -> None:
    plans = [InferencePlan(tp=tp, pp=pp, dp=dp) for tp, pp, dp in (source, target)]
    work = disaggregated(DENSE, *plans)
    found = moved(work)
    whole = BATCH * PROMPT * forms.kv_bytes_per_token(DENSE)
    assert sum(found.values()) == whole == work.about["transfer_bytes"]
    received = Counter[int]()
    for (_, rank), size in found.items():
        received[rank] += size
    assert set(received.values()) == {whole // plans[1].ranks}


@pytest.mark.parametrize("tps", list(product((1, 2, 8), (1, 4, 8))), ids=str)
def test_every_copy_that_decode_keeps_arrives(tps: tuple[int, int]) -> None:
    """Latent rows are whole on every rank of tp; 4 key-value heads on 8 ranks twice."""
    for t, copies in ((LATENT, tps[1]), (DENSE, max(tps[1] // 4, 1))):
        work = disaggregated(t, InferencePlan(tp=tps[0]), InferencePlan(tp=tps[1]))
        whole = BATCH * PROMPT * forms.kv_bytes_per_token(t)
        assert sum(moved(work).values()) == copies * whole


def test_copies_share_the_work_of_sending() -> None:
    found = moved(disaggregated(LATENT, InferencePlan(tp=4), InferencePlan(ep=4)))
    each = PROMPT * forms.kv_bytes_per_token(LATENT)
    assert found == {(rank, 4 + rank): each for rank in range(4)}


@pytest.mark.parametrize("chunk", [None, 12])
def test_layer_by_layer_and_at_the_end_the_same_bytes_go(chunk: int | None) -> None:
    plans = InferencePlan(tp=2, pp=2), InferencePlan(tp=4)
    found = [
        moved(disaggregated(DENSE, *plans, transfer=how, max_num_batched_tokens=chunk))
        for how in ("layer", "end")
    ]
    assert found[0] == found[1]


def test_a_layer_leaves_right_after_its_attention() -> None:
    work = disaggregated(DENSE, InferencePlan(), InferencePlan(tp=2))
    trace = work.template("prefill.stage0-tp0")
    names = {node.id: node.name for node in trace}
    after = {
        node.name: [names[id] for id in node.data_deps]
        for node in trace
        if node.type == NodeType.COMM_SEND
    }
    assert after["send cache of layers.2"] == ["layers.2.attention.core"]
    assert after["send first tokens"] == ["head.sample"]


def test_decode_begins_when_all_has_come() -> None:
    work = disaggregated(DENSE, InferencePlan(), InferencePlan())
    trace = work.template("decode.stage0")
    arriving = {node.id for node in trace if node.type == NodeType.COMM_RECV}
    assert len(arriving) == DENSE.num_layers + 1
    first = next(node for node in trace if node.name == "embedding.word")
    assert set(first.data_deps) == arriving


def test_equal_splits_need_no_classes_beyond_stages() -> None:
    plan = InferencePlan(tp=2, pp=2, dp=2)
    work = disaggregated(DENSE, plan, plan)
    assert len(work.templates) == 4
    assert {one.grid for one in work.classes} == {"prefill", "decode"}


def test_impossible_pairs_are_refused() -> None:
    with pytest.raises(ConfigError, match="decode_plan: disaggregated: expected the plan"):
        made(DENSE, phase="disaggregated", batch=1)
    with pytest.raises(ConfigError, match="kv_cache_dtype: both plans must have the same"):
        disaggregated(DENSE, InferencePlan(), InferencePlan(kv_cache_dtype="fp8"))
    with pytest.raises(ConfigError, match="decode: batch: 4 sequences on dp = 8"):
        disaggregated(DENSE, InferencePlan(), InferencePlan(dp=8))
    with pytest.raises(ConfigError, match="decode_plan: only the phase disaggregated"):
        made(DENSE, decode_plan=InferencePlan())


WINDOWED = DENSE.replace(window_size=10, window_attn_skip_freq=(1, 0, 1, 0))
STATES = model_of(DENSE).replace(
    layers=(
        SingleLayer(hidden=256, block=Mamba2(hidden=256, heads=8, head_dim=64, state=16)),
        *model_of(DENSE).layers[:2],
    )
)


@pytest.mark.parametrize("transfer", ["layer", "end"])
@pytest.mark.parametrize("chunk", [None, 24])
def test_behind_a_window_only_what_it_reaches_is_sent(transfer: str, chunk: int | None) -> None:
    work = made(
        WINDOWED, InferencePlan(dp=2), phase="disaggregated", batch=BATCH, prompt=PROMPT,
        decode_plan=InferencePlan(dp=2), transfer=transfer, max_num_batched_tokens=chunk,
    )  # fmt: skip
    per_layer = forms.kv_bytes_per_token(DENSE) // 4
    expected = BATCH * per_layer * (2 * 10 + 2 * PROMPT)
    assert work.about["transfer_bytes"] == sum(moved(work).values()) == expected


@pytest.mark.parametrize("transfer", ["layer", "end"])
@pytest.mark.parametrize("chunk", [None, 24])
def test_a_state_is_sent_once_when_its_prompt_is_done(transfer: str, chunk: int | None) -> None:
    work = made(
        STATES, InferencePlan(dp=2), phase="disaggregated", batch=BATCH, prompt=PROMPT,
        decode_plan=InferencePlan(dp=4), transfer=transfer, max_num_batched_tokens=chunk,
    )  # fmt: skip
    rows = STATES.kv_bytes_per_token() * PROMPT
    expected = BATCH * (rows + STATES.state_bytes_per_sequence())
    assert work.about["transfer_bytes"] == sum(moved(work).values()) == expected
