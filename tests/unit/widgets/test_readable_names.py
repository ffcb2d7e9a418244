"""Long names of kernels are shown by what differs between them."""

from __future__ import annotations

import pytest

from powertui.data.names_in_words import in_words, readable, with_fused
from powertui.plain import width
from powertui.view.readable_names import distinct

ELEMENTWISE = "void at::native::vectorized_elementwise_kernel<4, at::native::"
NOCAST = (
    "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::"
)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (
            ELEMENTWISE + "CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul> >(int, at::x)",
            "add bf16 vectorized",
        ),
        (
            NOCAST + "BinaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, "
            "at::native::binary_internal::MulFunctor<float> > >(at::TensorIteratorBase&)",
            "Mul bf16 elementwise",
        ),
        (
            NOCAST + "direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()()"
            " const::{lambda(float)#1}>(int)",
            "direct_copy fp32 elementwise",
        ),
        (
            ELEMENTWISE + "(anonymous namespace)::silu_kernel(at::TensorIteratorBase&)"
            "::{lambda(c10::BFloat16)#1}, std::array<char*, 2ul> >(int)",
            "silu bf16 vectorized",
        ),
        (
            "void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16>(int)",
            "cunn_SoftMaxForward bf16",
        ),
        (
            "void cutlass::Kernel2<cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_nn_align1>(x)",
            "cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_nn_align1",
        ),
        (
            "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Traits<64, cutlass::bfloat16_t>>(x)",
            "flash_fwd_kernel bf16",
        ),
    ],
)
def test_a_kernel_is_named_by_what_it_applies(name: str, shown: str) -> None:
    assert readable(name) == shown


@pytest.mark.parametrize(
    "name",
    [
        "aten::mm",
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_cublas",
        "model/conv2d/Conv2D:Conv2D",
        "threading.py(1032): _bootstrap",
        "Iterator::Model::Prefetch",
        "fusion.12 (f32[3,4])",
        "a < b",
        "(",
        "<",
        "",
        "日本語<x>",
    ],
)
def test_other_names_stay(name: str) -> None:
    assert readable(name) == name


def test_an_address_that_changes_with_each_run_goes() -> None:
    assert readable("<built-in method run_backward of object at 0x7f3d5c0>") == (
        "<built-in method run_backward of object>"
    )


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("_MklNativeConv2DBackpropFilterWithBias", "Conv2D filter grad + bias mkl"),
        ("_MklNativeFusedConv2D", "fused Conv2D mkl"),
        ("conv2d_1_2 · Conv2DBackpropInput", "conv2d_1_2 · Conv2D input grad"),
        ("SparseSoftmaxCrossEntropyWithLogits", "sparse cross-entropy"),
        ("ResourceApplyAdam", "apply Adam"),
        ("MaxPool", "MaxPool"),
        (
            "Cijk_Alik_Bljk_B_BS_BH_Bias_HA_S_SAV_UserArgs_MT256x128x64_MI16x16x1_SN",
            "product bf16 tile 256x128x64",
        ),
        ("Cijk_Ailk_Bjlk_SB_MT64x16x16_MI16x16x1_SN_LDSB0", "product fp32 tile 64x16x16"),
        ("Cijk_Ailk_Bjlk_I8II_BH_MT64x16x16_MI16x16x1", "product int8 tile 64x16x16"),
        ("ExecutorState::ProcessAsync::Done", "ExecutorState::ProcessAsync::Done"),
        ("StatefulPartitionedCall/adam/Mul_19", "StatefulPartitionedCall/adam/Mul_19"),
    ],
)
def test_an_op_that_is_one_long_word_is_told_in_words(name: str, shown: str) -> None:
    assert in_words(name) == shown


KERNEL = "void gemm_kernel_with_a_long_prefix_that_all_of_them_share_"


@pytest.mark.parametrize(
    "names",
    [
        [f"{KERNEL}{number}_and_a_long_ending_that_they_share_too" for number in range(5)],
        [f"sm90_xmma_gemm_bf16_tilesize{size}x128x64_cublas_end" for size in (64, 128, 256, 32, 8)],
        [f"_MklNativeConv2DBackprop{end}" for end in ("Filter", "Input", "FilterWithBias")],
        ["_MklNativeMaxPoolGradient", "_MklNativeMaxPoolGradientWithBias"],
        [f"void at::native::CatArrayBatchedCopy<float, {n}, 64, 64>(int)" for n in (1, 2, 4)],
        ["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac"],
    ],
)
@pytest.mark.parametrize("cells", [18, 24, 30])
def test_rows_that_differ_never_look_alike(names: list[str], cells: int) -> None:
    shown = distinct(names, cells)
    assert len(set(shown)) == len(names)
    assert all(width(text) <= cells for text in shown)


def test_the_same_name_twice_is_shown_twice() -> None:
    assert distinct(["a" * 40, "a" * 40], 10) == ["aaaaa…aaaa"] * 2


def eigen(expression: str) -> str:
    """A kernel of Eigen as TensorFlow's profiles name it."""
    evaluator = (
        f"Eigen::TensorEvaluator<Eigen::TensorAssignOp<{expression}> const, Eigen::GpuDevice>"
    )
    return f"void Eigen::internal::EigenMetaKernel<{evaluator}, int>({evaluator}, int)"


def of_half(rest: str, element: str = "Eigen::half") -> str:
    return f"Eigen::TensorMap<Eigen::Tensor<{element}, 1, 1, int>, 16, Eigen::MakePointer>, {rest}"


def test_kernels_of_eigen_are_called_by_what_they_do() -> None:
    product = "Eigen::internal::scalar_product_op<Eigen::half, Eigen::half>"
    names = [
        eigen(of_half(f"Eigen::TensorCwiseBinaryOp<{product}>")),
        eigen(of_half(f"Eigen::TensorCwiseUnaryOp<Eigen::internal::scalar_left<{product}>>")),
        eigen(of_half(f"Eigen::TensorCwiseUnaryOp<Eigen::internal::scalar_right<{product}>>")),
        eigen(of_half("Eigen::TensorConversionOp<Eigen::half, bool const>")),
        eigen(of_half("Eigen::TensorConversionOp<Eigen::half, float const>")),
        eigen(of_half("Eigen::TensorConversionOp<float, Eigen::half const>", element="float")),
    ]
    assert distinct(names, 40) == [
        "product fp16 Eigen TensorCwiseBinar",
        "product fp16 Eigen scalar_left",
        "product fp16 Eigen scalar_right",
        "Conversion fp16 Eigen bool",
        "Conversion fp16 Eigen Eigen",
        "Conversion fp16 Eigen float",
    ]


@pytest.mark.parametrize(
    ("path", "op_type", "shown"),
    [
        ("model/conv2d_1/Relu", "_MklNativeFusedConv2D", "model/conv2d_1/Conv2D + Relu"),
        ("dense/BiasAdd", "_FusedMatMul", "dense/MatMul + BiasAdd"),
        ("bn/FusedBatchNormV3", "FusedBatchNormV3", "bn/FusedBatchNormV3"),
        ("conv2d_1/Relu", "Relu", "conv2d_1/Relu"),
        ("", "_FusedMatMul", ""),
    ],
)
def test_an_op_that_was_fused_says_from_what(path: str, op_type: str, shown: str) -> None:
    """A convolution that was called Relu was taken for one in the wrong color."""
    assert with_fused(path, op_type) == shown
