"""What current models compute, forward and to generate a token, equals the closed forms."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.oracles import mixer_forms as forms
from tests.oracles.mixer_forms import Kind
from tests.workloads.models.test_hf_models import read
from yantra.workloads.operators.graph import Batch, Sequences
from yantra.workloads.serving import InferencePlan
from yantra.workloads.serving.stages import Stages

S, PAST, SEQUENCES = 10_000, 9_001, 3


class Expected:
    """The layers of a model, and its head of `vocab` columns."""

    def __init__(self, h: int, vocab: int, *layers: tuple[int, Kind]) -> None:
        self.head = 2 * h * vocab
        total = Kind(0)
        for count, layer in layers:
            total += layer.times(count)
        self.layers = total

    @property
    def forward(self) -> int:
        return S * (2 * self.layers.products + self.head) + self.layers.whole

    @property
    def token(self) -> int:
        return SEQUENCES * (2 * self.layers.products + self.head + self.layers.added)


def gqa(*sizes: int, **about: int | bool) -> Kind:
    return forms.attention(S, PAST, *sizes, **about)


def mla(*sizes: int, **about: object) -> Kind:
    return forms.latent(S, PAST, *sizes, **about)


def llama4(experts: int, dense: int, sparse: int) -> Expected:
    local, full = gqa(5120, 40, 8, 128, chunk=8192), gqa(5120, 40, 8, 128)
    return Expected(
        5120, 202048, (36, local), (12, full), (dense, forms.feed_forward(5120, 16384)),
        (sparse, forms.mixture(5120, experts, 1, 8192, 8192)),
    )  # fmt: skip


def gpt_oss() -> Expected:
    mixture = forms.mixture(2880, 128, 4, 2880)
    local, full = gqa(2880, 64, 8, 64, window=128), gqa(2880, 64, 8, 64)
    return Expected(2880, 201088, (18, local), (18, full), (36, mixture))


def gemma3() -> Expected:
    local, full = gqa(5376, 32, 16, 128, window=1024), gqa(5376, 32, 16, 128)
    return Expected(5376, 262208, (52, local), (10, full), (62, forms.feed_forward(5376, 21504)))


def gemma4() -> Expected:
    local, full = gqa(2816, 16, 8, 256, window=1024), gqa(2816, 16, 2, 512, shared=True)
    both = forms.feed_forward(2816, 2112) + forms.mixture(2816, 128, 8, 704)
    return Expected(2816, 262144, (25, local), (5, full), (30, both))


def qwen3_next() -> Expected:
    full = gqa(2048, 16, 2, 256, gate=16 * 256)
    linear = forms.gated_delta(S, 2048, 32, 16, 128, 128)
    mixture = forms.mixture(2048, 512, 10, 512, 512, gate=1)
    return Expected(2048, 151936, (12, full), (36, linear), (48, mixture))


def qwen35() -> Expected:
    full = gqa(5120, 24, 4, 256, gate=24 * 256)
    linear = forms.gated_delta(S, 5120, 48, 16, 128, 128)
    return Expected(
        5120, 248320, (16, full), (48, linear), (64, forms.feed_forward(5120, 17408))
    )  # fmt: skip


def qwen2_moe() -> Expected:
    mixture = forms.mixture(2048, 60, 4, 1408, 5632, gate=1)
    return Expected(2048, 151936, (24, gqa(2048, 16, 16, 128)), (24, mixture))


def deepseek() -> Expected:
    layer = mla(7168, 128, 1536, 512, 128, 64, 128, keys=2048, index=(64, 128))
    mixture = forms.mixture(7168, 256, 8, 2048, 2048)
    return Expected(
        7168, 129280, (61, layer), (3, forms.feed_forward(7168, 18432)), (58, mixture)
    )  # fmt: skip


def glm52() -> Expected:
    own = mla(6144, 64, 2048, 512, 192, 64, 256, keys=2048, index=(32, 128))
    other = mla(6144, 64, 2048, 512, 192, 64, 256, keys=2048)
    mixture = forms.mixture(6144, 256, 8, 2048, 2048)
    return Expected(
        6144, 154880, (21, own), (57, other), (3, forms.feed_forward(6144, 12288)), (75, mixture)
    )  # fmt: skip


def glm45() -> Expected:
    mixture = forms.mixture(5120, 160, 8, 1536, 1536)
    dense = forms.feed_forward(5120, 12288)
    return Expected(5120, 151552, (92, gqa(5120, 96, 8, 128)), (3, dense), (89, mixture))


def minimax_m2() -> Expected:
    mixture = forms.mixture(3072, 256, 8, 1536)
    return Expected(3072, 200064, (62, gqa(3072, 48, 8, 128)), (62, mixture))


def minimax_m3() -> Expected:
    """Its index scores every key by 4 heads of 128; 16 blocks of 128 keys are looked at."""
    full, chosen = gqa(6144, 64, 4, 128), gqa(6144, 64, 4, 128, window=16 * 128)
    index = Kind(6144 * (4 * 128 + 128), 2 * 4 * 128 * forms.seen(S), 2 * 4 * 128 * (PAST + 1))
    mixture = forms.mixture(6144, 128, 4, 3072, 3072)
    return Expected(
        6144, 200064, (3, full), (57, chosen + index), (3, forms.feed_forward(6144, 12288)),
        (57, mixture),
    )  # fmt: skip


def olmo_hybrid() -> Expected:
    linear = forms.gated_delta(S, 3840, 30, 30, 96, 192)
    full = gqa(3840, 30, 30, 128)
    return Expected(3840, 100352, (24, linear), (8, full), (32, forms.feed_forward(3840, 11008)))


def minimax_01() -> Expected:
    linear = forms.lightning(S, 6144, 64, 128, 256)
    mixture = forms.mixture(6144, 32, 2, 9216)
    return Expected(6144, 200064, (10, gqa(6144, 64, 8, 128)), (70, linear), (80, mixture))


def mimo() -> Expected:
    local = gqa(4096, 64, 8, 192, 128, window=128)
    full = gqa(4096, 64, 4, 192, 128)
    mixture = forms.mixture(4096, 256, 8, 2048)
    return Expected(
        4096, 152576, (39, local), (9, full), (1, forms.feed_forward(4096, 16384)), (47, mixture)
    )  # fmt: skip


def nemotron_nano() -> Expected:
    scan = forms.mamba2(S, 2688, 64, 64, 128, 8, 128)
    mixture = forms.mixture(2688, 128, 6, 1856, 3712, matrices=2)
    return Expected(2688, 131072, (23, scan), (6, gqa(2688, 32, 2, 128)), (23, mixture))


def nemotron_ultra() -> Expected:
    scan = forms.mamba2(S, 8192, 256, 64, 128, 8, 128)
    mixture = forms.mixture(8192, 512, 22, 5120, 10240, matrices=2, rows=2048)
    return Expected(8192, 131072, (48, scan), (12, gqa(8192, 64, 2, 128)), (48, mixture))


def granite() -> Expected:
    scan = forms.mamba2(S, 4096, 128, 64, 128, 1, 256)
    mixture = forms.mixture(4096, 72, 10, 768, 1536)
    return Expected(4096, 100352, (36, scan), (4, gqa(4096, 32, 8, 128)), (40, mixture))


def falcon() -> Expected:
    both = forms.mamba2(S, 5120, 32, 128, 256, 2, 256) + gqa(5120, 20, 4, 128)
    return Expected(5120, 261120, (72, both), (72, forms.feed_forward(5120, 21504)))


def jamba() -> Expected:
    return Expected(
        4096, 65536, (28, forms.mamba1(4096, 8192, 16, 256)), (4, gqa(4096, 32, 8, 128)),
        (16, forms.feed_forward(4096, 14336)), (16, forms.mixture(4096, 16, 2, 14336)),
    )  # fmt: skip


def lfm2() -> Expected:
    mixture = forms.mixture(2048, 32, 4, 1792)
    return Expected(
        2048, 65536, (18, forms.convolution(2048)), (6, gqa(2048, 32, 8, 64)),
        (2, forms.feed_forward(2048, 7168)), (22, mixture),
    )  # fmt: skip


def kimi_linear() -> Expected:
    mixture = forms.mixture(2304, 256, 8, 1024, 1024)
    return Expected(
        2304, 163840, (6, mla(2304, 32, 0, 512, 128, 64, 128)),
        (21, forms.kimi_delta(S, 2304, 32, 128)),
        (1, forms.feed_forward(2304, 9216)), (26, mixture),
    )  # fmt: skip


def command_a() -> Expected:
    local, full = gqa(12288, 96, 8, 128, window=4096), gqa(12288, 96, 8, 128)
    return Expected(12288, 256000, (48, local), (16, full), (64, forms.feed_forward(12288, 36864)))


def olmo3() -> Expected:
    local, full = gqa(5120, 40, 8, 128, window=4096), gqa(5120, 40, 8, 128)
    return Expected(5120, 100278, (48, local), (16, full), (64, forms.feed_forward(5120, 27648)))


def step() -> Expected:
    local, full = gqa(4096, 64, 8, 128, window=512, gate=64), gqa(4096, 64, 8, 128, gate=64)
    return Expected(
        4096, 128896, (33, local), (12, full), (3, forms.feed_forward(4096, 11264)),
        (42, forms.mixture(4096, 288, 8, 1280, 1280)),
    )  # fmt: skip


EXPECTED: dict[str, Callable[[], Expected]] = {
    "Llama-4-Scout": lambda: llama4(16, 0, 48),
    "Llama-4-Maverick": lambda: llama4(128, 24, 24),
    "gpt-oss-120b": gpt_oss,
    "Gemma-3-27B": gemma3,
    "Gemma-4-26B-A4B": gemma4,
    "Qwen3-Next-80B-A3B": qwen3_next,
    "Qwen3.5-27B": qwen35,
    "Qwen1.5-MoE-A2.7B": qwen2_moe,
    "DeepSeek-V3.2": deepseek,
    "GLM-5.2": glm52,
    "GLM-4.5": glm45,
    "MiniMax-M2.5": minimax_m2,
    "MiniMax-M3": minimax_m3,
    "OLMo-Hybrid-7B": olmo_hybrid,
    "MiniMax-Text-01": minimax_01,
    "MiMo-V2-Flash": mimo,
    "Nemotron-3-Nano-30B-A3B": nemotron_nano,
    "Nemotron-3-Ultra-550B-A55B": nemotron_ultra,
    "Granite-4.0-H-Small": granite,
    "Falcon-H1-34B": falcon,
    "Jamba-1.6-Mini": jamba,
    "LFM2-8B-A1B": lfm2,
    "Kimi-Linear-48B-A3B": kimi_linear,
    "Command-A": command_a,
    "OLMo-3-32B": olmo3,
    "Step-3.7-Flash": step,
}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_forward_pass_takes_the_operations_of_the_closed_form(name: str) -> None:
    assert read(name).flops(S) == EXPECTED[name]().forward


@pytest.mark.parametrize("name", EXPECTED)
def test_a_token_takes_the_operations_of_the_closed_form(name: str) -> None:
    batch = Batch((Sequences(SEQUENCES, 1, PAST),), all_logits=False)
    made = Stages(read(name), InferencePlan()).of(0, batch)
    assert sum(one.tensor_flops for one in made.forward.operations) == EXPECTED[name]().token
