"""What kind of work names stand for: names as real profiles hold them."""

from __future__ import annotations

import pytest

from powertui.data import category
from powertui.data.category import CATEGORIES, CODES, Category
from powertui.terminal import theme

C = Category
WGRAD = "void cudnn::cnn::wgrad_alg0_engine"
EIGEN = "void Eigen::internal::EigenMetaKernel<Eigen::TensorEvaluator<Eigen::TensorAssignOp<Eigen::TensorMap<Eigen::Tensor"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        # framework ops
        ("gradient_tape/sequential/dense/MatMul/MatMul_1:MatMul", C.MATMUL),
        ("sequential/conv2d/Conv2D:Conv2D", C.CONVOLUTION),
        ("gradient_tape/sequential/conv2d/Conv2DBackpropInput:Conv2DBackpropInput", C.CONVOLUTION),
        (
            "StatefulPartitionedCall/sequential_1/conv2d_1_2/Relu:_MklNativeFusedConv2D",
            C.CONVOLUTION,
        ),
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
        (
            (
                f"{WGRAD}<float, 512, 6, 5, 3, 3, 3, false, 512>(int, int, int, float const*, int, "
                "float*, kernel_grad_params)"
            ),
            C.CONVOLUTION,
        ),
        (
            (
                f"{EIGEN}<float, 1, 1, long>, 16>, "
                "Eigen::TensorCwiseBinaryOp<Eigen::internal::scalar_sum_op<float>>>>>"
            ),
            C.ELEMENTWISE,
        ),
        (
            (
                "void fft2d_c2r_32x32<float, false, false, 0u>(float*, float2 const*, int, "
                "cudnn::reduced_divisor)"
            ),
            C.CONVOLUTION,
        ),
        (
            (
                "void tensorflow::functor::SwapDimension1And2InTensor3UsingTiles<unsigned int, "
                "256, 32, 32, false>(unsigned int*)"
            ),
            C.MEMORY,
        ),
        (
            (
                "void at::native::elementwise_kernel<128, 2, "
                "at::native::gpu_kernel_impl<at::native::direct_copy_kernel_cuda(at::T"
            ),
            C.MEMORY,
        ),
        (
            (
                "void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>, "
                "float>(int, int volatile*)"
            ),
            C.OPTIMIZER,
        ),
        (
            "void cutlass_cudnn::Kernel<cutlass_tensorop_s1688dgrad_optimized_tf32_128x128_nhwc_align4>(Params)",
            C.CONVOLUTION,
        ),
        (
            (
                "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, float, "
                "float>(cublasGemvParams)"
            ),
            C.MATMUL,
        ),
        (
            (
                "void (anonymous namespace)::softmax_warp_forward<float, float, float, 8, true, "
                "false>(float*, int)"
            ),
            C.NORMALIZATION,
        ),
        (
            (
                "void cub::DeviceRadixSortHistogramKernel<cub::DeviceRadixSortPolicy<long, int, "
                "int>::Policy900>(int*)"
            ),
            C.REDUCTION,
        ),
        ("volta_scudnn_128x64_relu_interior_nn_v1", C.CONVOLUTION),
        ("triton_poi_fused_add_mul_3", C.ELEMENTWISE),
        ("triton_per_fused_native_layer_norm_7", C.NORMALIZATION),
        ("triton_tem_fused_mm_2", C.MATMUL),
        ("void nobody::knows_kernel<int>(int)", C.OTHER),
        (
            "_send_StatefulPartitionedCall/adam/Const_0:_Send",
            C.MEMORY,
        ),  # between the devices of one machine: no collective
        ("IteratorGetNext/_1:_Recv", C.MEMORY),
        ("StatefulPartitionedCall/adam/x:_Arg", C.HOST),  # the scope says nothing of the op
        # PyTorch
        ("aten::mm", C.MATMUL),
        ("aten::addmm", C.MATMUL),
        ("autograd::engine::evaluate_function: MmBackward0", C.MATMUL),
        ("ConvolutionBackward0", C.CONVOLUTION),
        ("aten::_to_copy", C.MEMORY),
        ("aten::as_strided", C.MEMORY),
        ("aten::mul_", C.ELEMENTWISE),
        ("aten::native_layer_norm", C.NORMALIZATION),
        ("aten::_scaled_dot_product_flash_attention", C.MATMUL),
        ("record_param_comms", C.COMMUNICATION),
        ("c10d::allreduce_", C.COMMUNICATION),
        ("torch/nn/modules/module.py(1501): _call_impl", C.PYTHON),
        ("nn.Module: Linear_3", C.PYTHON),
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
    assert category.work_category(name) is kind


def test_every_kind_has_a_letter_of_its_own_a_meaning_and_colours() -> None:
    assert len(set(CODES.values())) == len(CATEGORIES) == len(CODES)
    assert set(category.MEANINGS) == set(CATEGORIES)
    assert {kind.value for kind in CATEGORIES} <= set(theme.CATEGORIES)


def test_a_name_of_a_megabyte_is_not_searched_through() -> None:
    assert (
        category.work_category("%fusion = f32[" + "1," * 500_000 + "] all-reduce")
        is Category.ELEMENTWISE
    )


def test_types_of_framework_ops() -> None:
    assert category.op_type("a/b:MatMul") == "MatMul"
    assert category.op_type("Iterator::Map") == "Dataset"
    assert category.op_type("EagerExecute: add") == ""
    assert category.op_type("ExecutorState::Process") == ""


def test_names_that_differ_in_a_number_are_looked_at_once() -> None:
    before = category._rule_category.cache_info().misses
    for i in range(1000):
        assert category.work_category(f"fusion.{i}") is Category.ELEMENTWISE
        assert category.work_category(f"block_{i}/conv2d_{i}/Conv2D:Conv2D") is Category.CONVOLUTION
    assert category._rule_category.cache_info().misses - before <= 2
    assert (
        category.work_category("MemcpyH2D")
        is category.work_category("MemcpyD2H")
        is Category.MEMORY
    )


# As CUTLASS, TensorRT-LLM, cuBLAS, FlashAttention, vLLM, hipBLASLt, MIOpen and aiter name them.
_KERNELS = (
    ("matmul", "nvjet_tst_128x256_64x4_1x2_h_bz_coopA_NTT"),
    ("matmul", "nvjet_sm100_tst_256x128_64x4_2x1_2cta_h_bz_NNT"),
    (
        "matmul",
        (
            "bmm_E2m1_E2m1E2m1_Fp32_t128x8x512u2_s6_et128x8_m128x8x64_cga1x1x1_16dp256b_TN_transOu"
            "t_schedP_bN_dynBatch_sm100a"
        ),
    ),
    (
        "matmul",
        (
            "bmm_Bfloat16_Bfloat16Bfloat16_Fp32_t128x16x256_s3_et64x16_m64x16x16_cga1x1x1_16dp256b"
            "_TN_transOut_noShflA_dsFp8_schedP_bN_rgTma_clmp_swiGlu_dynBatch_sm100f"
        ),
    ),
    (
        "matmul",
        (
            "gemm_Bfloat16_E4m3E4m3_Fp32_t128x128x128u2_s4_et64x128_m64x128x32_cga1x1x1_16dp256b_T"
            "N_schedS_sm100a"
        ),
    ),
    (
        "matmul",
        (
            "fmhaSm100aKernel_QkvBfloat16OBfloat16H128PagedKvCausalP64VarSeqQ128Kv128PersistentCon"
            "text"
        ),
    ),
    ("matmul", "flash::flash_fwd_kernel"),
    (
        "matmul",
        (
            "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_3_64x128x128_4x1x1_k"
            "ernel0_0"
        ),
    ),
    (
        "memory",
        (
            "void tensorrt_llm::kernels::cutlass_kernels::finalizeMoeRoutingKernel<__nv_bfloat16, "
            "__nv_bfloat16>(float)"
        ),
    ),
    (
        "memory",
        (
            "void moe::dev::finalize::finalizeKernel<moe::dev::finalize::KernelParams<cutlass::bfl"
            "oat16_t>>(moe::dev::finalize::KernelParams)"
        ),
    ),
    (
        "reduction",
        (
            "void moe::dev::routing::routingDeepSeek::routingMainKernel<moe::dev::routing::KernelP"
            "arams>(P)"
        ),
    ),
    ("memory", "void moe::dev::permute::permuteKernel<moe::dev::permute::KernelParams>(P)"),
    (
        "elementwise",
        (
            "void moe::dev::activation::activationDeepSeekKernel<moe::dev::activation::KernelParam"
            "s>(P)"
        ),
    ),
    ("memory", "void vllm::moe::moe_align_block_size_kernel<int>(int*)"),
    ("matmul", "fused_moe_kernel"),
    (
        "communication",
        (
            "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<2, "
            "__nv_bfloat16, 8>(P)"
        ),
    ),
    (
        "matmul",
        "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x192x64_MI16x16x1_SN_LDSB0_AFC1",
    ),
    ("convolution", "igemm_fwd_gtcx3_nhwc_fp16_bx0_ex1_bt256x128x32_wt32x32x8_ws1x1"),
    ("elementwise", "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*)"),
    ("matmul", "_attn_fwd"),
    ("matmul", "ck_tile::FmhaFwdKernel"),
    ("matmul", "aiter::fmha_v3_fwd_kernel"),
    (
        "elementwise",
        "void (anonymous namespace)::elementwise_kernel_with_index<int, at::native::arange>(P)",
    ),
    ("memory", "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16>(P)"),
)


@pytest.mark.parametrize(("kind", "name"), _KERNELS)
def test_kernels_of_libraries_have_the_kind_of_their_work(kind: str, name: str) -> None:
    assert category.work_category(name).value == kind
