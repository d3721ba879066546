"""Operations and bytes of recorded operators: laws of shapes, and a table counted by hand.

Arguments: "bf16 2x3" is a tensor, a list of them a list of tensors, all else a plain value.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from yantra.tracing.pytorch.linked import EMPTY_IO, DeviceOp, Operator
from yantra.tracing.pytorch.tensors import Io
from yantra.tracing.pytorch.work.assign import Works, assigned, work_of
from yantra.tracing.pytorch.work.kernel_names import class_of, product_type
from yantra.tracing.pytorch.work.law import Work
from yantra.tracing.pytorch.work.operands import operands

_NAMES = {"f32": "float", "bf16": "c10::BFloat16", "f16": "c10::Half", "i64": "long int",
          "bool": "bool", "fp8": "c10::Float8_e4m3fn", "i8": "signed char"}  # fmt: skip


def _io(*arguments: Any) -> Io:
    shapes: list[Any] = []
    types: list[Any] = []
    values: list[Any] = []
    for one in arguments:
        if isinstance(one, list) and one and isinstance(one[0], str):
            made = [_io(part) for part in one]
            shapes.append([part.shapes[0] for part in made])
            types.append(f"GenericList[{','.join(part.types[0] for part in made)}]")
            values.append([])
        elif isinstance(one, str) and one.split(" ")[0] in _NAMES:
            kind, _, sides = one.partition(" ")
            shapes.append([int(side) for side in sides.split("x") if side])
            types.append(f"Tensor({_NAMES[kind]})")
            values.append([])
        else:
            shapes.append([])
            types.append("Scalar")
            values.append(one)
    return Io(values=values, shapes=shapes, types=types)


def work(name: str, *arguments: Any) -> Work | None:
    full = name if "::" in name or name[0] == "F" else f"aten::{name}"
    return work_of(operands(full, _io(*arguments)))


CONV = ("bf16 2x3x8x8", "bf16 16x3x3x3")
GRADIENT = ("bf16 2x16x8x8", *CONV, [16], [1, 1], [1, 1], [1, 1], False, [0, 0], 1)
HEADS = "bf16 2x128x4x64"  # batch, tokens, heads, width
FIRST = "bf16 2x4x128x64"  # batch, heads, tokens, width
FULL, HALF = 128 * 128, 128 * 129 // 2  # pairs
TENSOR = 2 * 128 * 4 * 64 * 2  # bytes of q, k, v or the result
ROWS = 2 * 4 * 128 * 4
LAYER = ("bf16 32x64", [64], "bf16 64", "bf16 64", 1e-5)

BY_HAND: list[tuple[str, tuple[Any, ...], int, int]] = [
    ("mm", ("bf16 2x3", "bf16 3x5"), 60, 2 * (6 + 15 + 10)),
    ("mm", ("f32 64x32", "f32 32x16"), 65536, 4 * (2048 + 512 + 1024)),
    ("addmm", ("f32 5", "f32 2x3", "f32 3x5", 1, 1), 60, 4 * (5 + 6 + 15 + 10)),
    ("addmm", ("f32 2x5", "f32 2x3", "f32 3x5", 0, 1), 60, 4 * (6 + 15 + 10)),
    ("_addmm_activation", ("f16 5", "f16 2x3", "f16 3x5"), 60, 2 * (5 + 6 + 15 + 10)),
    ("bmm", ("bf16 7x2x3", "bf16 7x3x5"), 420, 2 * (42 + 105 + 70)),
    ("baddbmm", ("f32 7x2x5", "f32 7x2x3", "f32 7x3x5", 1, 1), 420, 4 * (70 + 42 + 105 + 70)),
    ("addbmm", ("f32 2x5", "f32 7x2x3", "f32 7x3x5", 1, 1), 420, 4 * (10 + 42 + 105 + 10)),
    ("linear", ("bf16 4x2x3", "bf16 5x3", "bf16 5"), 240, 2 * (24 + 15 + 40)),
    ("matmul", ("f32 4x2x3", "f32 3x5"), 240, 4 * (24 + 15 + 40)),
    ("matmul", ("f32 4x1x2x3", "f32 6x3x5"), 4 * 6 * 60, 4 * (24 + 90 + 240)),
    ("mv", ("f32 4x3", "f32 3"), 24, 4 * (12 + 3 + 4)),
    ("addmv", ("f32 4", "f32 4x3", "f32 3", 1, 1), 24, 4 * (4 + 12 + 3 + 4)),
    ("dot", ("f32 9", "f32 9"), 18, 4 * 19),
    ("_scaled_mm", ("fp8 16x32", "fp8 32x48"), 2 * 16 * 32 * 48, 512 + 1536 + 2 * 768),
    ("_int_mm", ("i8 16x32", "i8 32x48"), 2 * 16 * 32 * 48, 512 + 1536 + 4 * 768),
    ("_grouped_mm", ("bf16 40x8", "bf16 4x8x6", "i64 4"), 2 * 40 * 8 * 6,
     2 * (320 + 192 + 240)),
    ("_grouped_mm", ("bf16 8x40", "bf16 40x6", "i64 4"), 2 * 40 * 8 * 6,
     2 * (320 + 240 + 4 * 48)),
    ("cudnn_convolution", (*CONV, [1, 1], [1, 1], [1, 1], 1), 2 * 2 * 16 * 64 * 27,
     2 * (384 + 432 + 2048)),
    ("cudnn_convolution", (*CONV, [0, 0], [2, 2], [1, 1], 1), 2 * 2 * 16 * 9 * 27,
     2 * (384 + 432 + 288)),
    ("miopen_convolution", (*CONV, None, [1, 1], [1, 1], [1, 1], 1), 2 * 2 * 16 * 64 * 27,
     2 * (384 + 432 + 2048)),
    ("convolution", (*CONV, None, [2, 2], [1, 1], [1, 1], False, [0, 0], 1),
     2 * 2 * 16 * 16 * 27, 2 * (384 + 432 + 512)),
    ("miopen_depthwise_convolution",
     ("f32 1x8x6x6", "f32 8x1x3x3", None, [1, 1], [1, 1], [1, 1], 8), 2 * 288 * 9,
     4 * (288 + 72 + 288)),
    ("convolution_backward", (*GRADIENT, [True, True, False]), 2 * 2 * 2048 * 27,
     2 * (2048 + 384 + 432 + 384 + 432)),
    ("convolution_backward", (*GRADIENT, "[False, True, False]"), 2 * 2048 * 27,
     2 * (2048 + 384 + 432)),
    ("_flash_attention_forward", (HEADS, HEADS, HEADS, None, None, 128, 128, 0.0, False),
     2 * 4 * FULL * 256, 4 * TENSOR + ROWS),
    ("_flash_attention_forward", (HEADS, HEADS, HEADS, None, None, 128, 128, 0.0, True),
     2 * 4 * HALF * 256, 4 * TENSOR + ROWS),
    ("_flash_attention_backward",
     (HEADS,) * 4 + (HEADS, "f32 2x4x128", None, None, 128, 128, 0.0, True),
     2 * 4 * HALF * (2 * 256 + 128), 8 * TENSOR + ROWS),
    ("_efficient_attention_forward",
     (HEADS, HEADS, HEADS, None, None, None, 128, 128, 0.0, 1), 2 * 4 * HALF * 256,
     4 * TENSOR + ROWS),
    ("_efficient_attention_backward",
     (HEADS,) * 4 + (None, HEADS, None, None, 128, 128, "f32 2x4x128", 0.0, 0, 0, 0),
     2 * 4 * FULL * 640, 8 * TENSOR + ROWS),
    ("_scaled_dot_product_cudnn_attention", (FIRST, FIRST, FIRST, None, True, 0.0, True),
     2 * 4 * HALF * 256, 4 * TENSOR + ROWS),
    ("_scaled_dot_product_flash_attention", (FIRST, "bf16 2x1x128x64", "bf16 2x1x128x64", 0.0,
     False), 2 * 4 * FULL * 256, 2 * TENSOR + 2 * TENSOR // 4 + ROWS),
    ("flash_attn::_flash_attn_forward", (HEADS, HEADS, HEADS, 0.0, 0.1, True),
     2 * 4 * HALF * 256, 4 * TENSOR + ROWS),
    ("flash_attn::_flash_attn_varlen_forward",
     ("bf16 256x4x64",) * 3 + ("i64 3", "i64 3", 128, 128, 0.0, 0.1, True),
     2 * 4 * HALF * 256, 4 * TENSOR + ROWS),
    ("native_layer_norm", LAYER, 7 * 2048, 2 * (2 * 2048 + 128)),
    ("native_layer_norm_backward",
     ("bf16 32x64", "bf16 32x64", [64], "f32 32x1", "f32 32x1", "bf16 64", "bf16 64", None),
     14 * 2048, 3 * 4096 + 2 * 128 + 2 * 128),
    ("_fused_rms_norm", ("bf16 32x64", [64], "bf16 64", 1e-5), 4 * 2048, 2 * (4096 + 64)),
    ("native_batch_norm", ("f32 2x8x4x4",) + ("f32 8",) * 4 + (True, 0.1, 1e-5), 7 * 256,
     4 * (512 + 32)),
    ("native_group_norm", ("f32 2x8x4x4", "f32 8", "f32 8", 2, 8, 16, 4, 1e-5), 7 * 256,
     4 * (512 + 16)),
    ("_softmax", ("bf16 4x8", -1, False), 160, 128),
    ("_softmax", ("bf16 4x8", -1, True), 160, 64 + 128),
    ("_softmax_backward_data", ("f32 4x8", "f32 4x8", -1, 6), 160, 3 * 128),
    ("_log_softmax", ("f32 4x8", 1, False), 160, 256),
    ("nll_loss_forward", ("f32 4x8", "i64 4", None, 1, -100), 4, 4 * 8 + 4 * 4 + 8),
    ("add", ("bf16 4x8", "bf16 4x8", 1), 32, 3 * 64),
    ("add", ("bf16 4x8", "bf16 8", 1), 32, 64 + 16 + 64),
    ("add_", ("f32 4x8", "f32 4x8", 1), 32, 3 * 128),
    ("mul", ("bf16 4x8", "f32 "), 32, 128),
    ("mul", ("f32 4x1", "f32 1x8"), 32, 16 + 32 + 128),
    ("gelu", ("bf16 4x8", "none"), 256, 128),
    ("gelu_backward", ("bf16 4x8", "bf16 4x8"), 256, 3 * 64),
    ("silu", ("bf16 4x8",), 160, 128),
    ("eq", ("i64 4x8", 0), 32, 256 + 32),
    ("where", ("bool 4x8", "f32 4x8", "f32 4x8"), 32, 32 + 3 * 128),
    ("sum", ("f32 4x8", [-1], False, None), 32, 128 + 16),
    ("mean", ("f32 4x8", None), 32, 128 + 4),
    ("argmax", ("f32 4x8", -1, False), 32, 128 + 32),
    ("copy_", ("bf16 4x8", "f32 4x8", False), 1, 64 + 128),
    ("fill_", ("f32 4x8", 0), 1, 128),
    ("cat", (["bf16 4x8", "bf16 2x8"], 0), 1, 2 * (64 + 32)),
    ("embedding", ("bf16 1000x16", "i64 4x6"), 1, 24 * 8 + 2 * 24 * 32),
    ("index_select", ("f32 10x16", 0, "i64 3"), 1, 24 + 2 * 3 * 64),
    ("gather", ("f32 10x16", 0, "i64 3x16"), 1, 48 * 8 + 2 * 48 * 4),
    ("embedding_dense_backward", ("f32 4x6x16", "i64 4x6", 1000, -1, False), 1,
     24 * 8 + 2 * 384 * 4),
    ("max_pool2d_with_indices", ("f32 1x2x8x8", [2, 2], [2, 2], [0, 0], [1, 1], False),
     32 * 4, 512 + 32 * (4 + 8)),
    ("_foreach_add_", (["f32 8", "f32 4"], ["f32 8", "f32 4"], 1), 12, 3 * 48),
    ("_foreach_mul_", (["f32 8", "f32 4"], 0.5), 12, 2 * 48),
    ("_fused_adamw_", (["f32 8", "f32 4"],) * 4 + ([], 0.1), 144, 7 * 48),
    ("upsample_nearest2d", ("f32 1x2x4x4", [8, 8], 2.0, 2.0), 1, 128 + 512),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "flops", "moved"), BY_HAND)
def test_operations_and_bytes_by_hand(
    name: str, arguments: tuple[Any, ...], flops: int, moved: int
) -> None:
    found = work(name, *arguments)
    assert found is not None
    assert (found.flops, found.bytes) == (flops, moved)


def test_the_table_has_sixty_operators() -> None:
    assert len({(name, str(arguments)) for name, arguments, _, _ in BY_HAND}) >= 60


sides = st.integers(1, 300)


@given(sides, sides, sides, st.integers(2, 5))
def test_operations_of_a_product_scale_with_each_side(m: int, n: int, k: int, by: int) -> None:
    def flops(*shape: int) -> int:
        found = work("mm", f"bf16 {shape[0]}x{shape[2]}", f"bf16 {shape[2]}x{shape[1]}")
        return 0 if found is None else found.flops

    whole = flops(m, n, k)
    assert by * whole == flops(by * m, n, k) == flops(m, by * n, k) == flops(m, n, by * k)


@pytest.mark.parametrize(
    "arguments",
    [("bf16 2x3", "bf16 4x5"), ("bf16 2x3",), ("bf16 2x3", None), (1, "bf16 3x5")],
)
def test_shapes_that_do_not_fit_tell_nothing(arguments: tuple[Any, ...]) -> None:
    assert work("mm", *arguments) is None


# ------------------------------------------------------------------- which kernel does it


def _operator(name: str, *arguments: Any) -> Operator:
    import msgspec

    io = _io(*arguments)
    text = {"values": io.values, "shapes": io.shapes, "types": io.types}
    return Operator(0, 0, name, None, 1, [], Raw(msgspec.json.encode(text)), EMPTY_IO, 0, 10)


def _kernels(*named: tuple[str, int], parent: int | None = 0, first: int = 1) -> list[DeviceOp]:
    return [
        DeviceOp(at, name, "kernel", 0, 7, at * 100, took, at, parent)
        for at, (name, took) in enumerate(named, first)
    ]


def _given(operator: Operator, kernels: list[DeviceOp]) -> dict[int, Work]:
    return assigned(kernels, {0: operator}, Works())


@given(st.integers(1, 7))
def test_kernels_of_one_name_share_all_operations_once(count: int) -> None:
    operator = _operator("aten::mm", "bf16 13x7", "bf16 7x11")
    made = _given(operator, _kernels(*[("gemm", 5)] * count))
    assert sum(one.flops for one in made.values()) == 2 * 13 * 7 * 11
    assert sum(one.bytes for one in made.values()) == 2 * (91 + 77 + 143)


def test_helpers_count_bytes_and_no_operations() -> None:
    operator = _operator("aten::cudnn_convolution", *CONV, [1, 1], [1, 1], [1, 1], 1)
    kernels = _kernels(("nchwToNhwcKernel", 90), ("implicit_convolve_sgemm", 20), ("nhwcToNchw", 9))
    made = _given(operator, kernels)
    assert made[2].flops == 2 * 2048 * 27
    assert [made[at].flops for at in (1, 3)] == [1, 1]
    assert [made[at].bytes for at in (1, 3)] == [2 * 2 * 2048, 2 * 2 * 432]


def test_both_gradients_of_a_convolution_have_half_each() -> None:
    operator = _operator("aten::convolution_backward", *GRADIENT, [True, True, False])
    made = _given(operator, _kernels(("dgrad_engine", 50), ("transpose", 70), ("wgrad_alg0", 40)))
    assert made[1].flops == made[3].flops == 2 * 2048 * 27


def test_other_kernels_of_a_library_count_its_smaller_arguments() -> None:
    kernels = _kernels(("lookup_kernel", 50), ("sort_kernel", 20))
    table = _given(_operator("fbgemm::lookup", "f32 1000x16", "i64 4"), kernels)
    assert [table[at].bytes for at in (1, 2)] == [64000 + 32, 32]
    alone = _given(_operator("fbgemm::lookup", "f32 1000x16"), kernels)
    assert [alone[at].bytes for at in (1, 2)] == [64000, 64000]


def test_a_kernel_without_operator_takes_the_work_of_its_nearest_twin() -> None:
    operator = _operator("aten::mm", "bf16 64x64", "bf16 64x64")
    known, lost = _kernels(("gemm", 100)), _kernels(("gemm", 110), parent=None, first=2)
    far = _kernels(("gemm", 300), parent=None, first=3)
    made = _given(operator, known + lost + far)
    assert made[2] == made[1]
    assert 3 not in made


@pytest.mark.parametrize(
    ("kernel", "operands", "runs_in"),
    [
        ("ampere_sgemm_128x64_tn", "fp32", "fp32"),
        ("cutlass_80_tensorop_s1688gemm_256x64_16x4_nn_align4", "fp32", "tf32"),
        ("sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32", "fp32", "tf32"),
        ("Cijk_Alik_Bljk_SB_MT128x128x16", "fp32", "fp32"),
        ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n", "bf16", "bf16"),
        ("nvjet_hsh_128x256", "fp16", "fp16"),
        ("sm90_xmma_gemm_e4m3e4m3_e4m3f32_f32_tn_n", "", "fp8"),
        ("volta_h884gemm_64x128_ldg8_nn", "", "fp16"),
    ],
)
def test_the_name_of_a_kernel_tells_the_type_of_its_product(
    kernel: str, operands: str, runs_in: str
) -> None:
    assert product_type(kernel, operands) == runs_in


@pytest.mark.parametrize(
    ("kernel", "kind"),
    [
        ("void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits>", "attention"),
        ("Cijk_Alik_Bljk_BBS_BH_MT256x128x64", "gemm"),
        ("void cudnn::ops::nchwToNhwcKernel<float>", "layout"),
        ("sm80_xmma_fprop_implicit_gemm_tf32f32", "conv"),
        ("void at::native::vectorized_elementwise_kernel<4>", "elementwise"),
        ("void cublasLt::splitKreduce_kernel<32>", "partial"),
        ("unheard_of", ""),
    ],
)
def test_classes_by_name(kernel: str, kind: str) -> None:
    assert class_of(kernel) == kind
