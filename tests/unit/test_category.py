"""What kind of work names stand for: names as real profiles hold them."""

from __future__ import annotations

import pytest

from powertui.data import category
from powertui.data.category import CATEGORIES, CODES, Category
from powertui.terminal import theme

C = Category


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        # framework ops
        ("gradient_tape/sequential/dense/MatMul/MatMul_1:MatMul", C.MATMUL),
        ("sequential/conv2d/Conv2D:Conv2D", C.CONVOLUTION),
        ("gradient_tape/sequential/conv2d/Conv2DBackpropInput:Conv2DBackpropInput", C.CONVOLUTION),
        ("StatefulPartitionedCall/sequential_1/conv2d_1_2/Relu:_MklNativeFusedConv2D", C.CONVOLUTION),
        ("sequential/dense/Relu:Relu", C.ELEMENTWISE),
        ("Adam/Adam/update/ResourceApplyAdam:ResourceApplyAdam", C.OPTIMIZER),
        ("categorical_crossentropy/Sum:Sum", C.REDUCTION),
        ("max_pooling2d/MaxPool:MaxPool", C.REDUCTION),
        ("model/bn/FusedBatchNormV3:FusedBatchNormV3", C.NORMALIZATION),
        ("IteratorGetNext:IteratorGetNext", C.INPUT),
        ("Iterator::Root::Prefetch", C.INPUT),
        ("CollectiveReduceV2:CollectiveReduceV2", C.COMMUNICATION),
        ("FancyOp:NobodyKnows", C.HOST),
        # kernels
        ("volta_sgemm_128x64_nn", C.MATMUL),
        ("void cutlass::Kernel<cutlass_80_tensorop_f16_s16816gemm>(Params)", C.MATMUL),
        ("Cijk_Ailk_Bljk_HHS_BH_MT128x128x32_MI16x16x16x1_SN", C.MATMUL),
        ("implicit_convolve_sgemm", C.CONVOLUTION),
        ("ncclAllReduceRingLLKernel_sum_f32(ncclColl)", C.COMMUNICATION),
        ("MemcpyH2D", C.MEMORY),
        ("Memcpy HtoD (Pinned -> Device)", C.MEMORY),
        ("void Eigen::internal::EigenMetaKernel<Eigen::TensorEvaluator>", C.ELEMENTWISE),
        # compiler ops
        ("fusion.12", C.ELEMENTWISE),
        ("dot.5", C.MATMUL),
        ("convolution.3", C.CONVOLUTION),
        ("convert.3", C.ELEMENTWISE),
        ("all-reduce.3", C.COMMUNICATION),
        ("copy-start.1", C.MEMORY),
        ("reduce.7", C.REDUCTION),
        # host
        ("$core.py:123 apply_primitive", C.PYTHON),
        ("ExecutorState::Process", C.RUNTIME),
        ("PjitFunction(train_step)", C.RUNTIME),
        ("XlaCompile", C.COMPILE),
        ("BlockHostUntilReady", C.IDLE),
        ("train 12", C.OTHER),
        ("", C.OTHER),
    ],
)
def test_kinds(name: str, kind: Category) -> None:
    assert category.of(name) is kind


def test_every_kind_has_a_letter_of_its_own_a_meaning_and_colours() -> None:
    assert len(set(CODES.values())) == len(CATEGORIES) == len(CODES)
    assert set(category.MEANINGS) == set(CATEGORIES)
    assert {kind.value for kind in CATEGORIES} <= set(theme.CATEGORIES)


def test_a_name_of_a_megabyte_is_not_searched_through() -> None:
    assert category.of("%fusion = f32[" + "1," * 500_000 + "] all-reduce") is Category.ELEMENTWISE


def test_types_of_framework_ops() -> None:
    assert category.op_type("a/b:MatMul") == "MatMul"
    assert category.op_type("Iterator::Map") == "Dataset"
    assert category.op_type("EagerExecute: add") == ""
    assert category.op_type("ExecutorState::Process") == ""


def test_names_that_differ_in_a_number_are_looked_at_once() -> None:
    before = category._of.cache_info().misses
    for i in range(1000):
        assert category.of(f"fusion.{i}") is Category.ELEMENTWISE
        assert category.of(f"block_{i}/conv2d_{i}/Conv2D:Conv2D") is Category.CONVOLUTION
    assert category._of.cache_info().misses - before <= 2
    assert category.of("MemcpyH2D") is category.of("MemcpyD2H") is Category.MEMORY
