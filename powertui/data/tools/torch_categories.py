"""The categories that TraceLens puts PyTorch's operators and calls into."""

from __future__ import annotations

import re

_GRAPH = re.compile(r"cudagraph|graphlaunch", re.IGNORECASE)

_ATEN = {
    "GEMM": "mm addmm bmm baddbmm _scaled_mm",
    "CONV_fwd": "convolution miopen_convolution cudnn_convolution",
    "CONV_bwd": "convolution_backward",
    "reduce": "sum mean max min norm linalg_norm std var logsumexp cumsum cumprod prod amin amax",
    "elementwise": """
        copy copy_ clamp_min clamp_min_ clamp_max clamp_max_ sigmoid rsqrt silu neg pow div div_ mul
        mul_ add add_ sigmoid_backward threshold_backward replication_pad1d replication_pad2d
        replication_pad3d upsample_nearest1d upsample_nearest2d upsample_nearest3d
    """,
    "SDPA_fwd": """
        _scaled_dot_product_flash_attention _scaled_dot_product_efficient_attention
        _scaled_dot_product_cudnn_attention _efficient_attention_forward
    """,
    "SDPA_bwd": """
        _scaled_dot_product_flash_attention_backward
        _scaled_dot_product_efficient_attention_backward
        _scaled_dot_product_cudnn_attention_backward _efficient_attention_backward
    """,
}
_CATEGORIES = {
    f"aten::{name}": category for category, names in _ATEN.items() for name in names.split()
}
_OTHERS = {  # of other libraries, by their whole names
    "GEMM": (
        "trtllm::cublas_scaled_mm bitsandbytes::int8_linear_matmul tex_ts::te_gemm_ts "
        "vllm::gemm_with_dynamic_quant"
    ),
    "CONV_fwd": "ConvBias_ ConvBiasReLU_",
    "CONV_bwd": "ConvBias_Backward ConvBiasReLU_Backward",
    "SDPA_fwd": """
        FlashAttnFunc flash_attn::_flash_attn_forward flash_attn::_flash_attn_varlen_forward
        flash_attn_3::fwd aiter::_flash_attn_forward aiter::wrapper_fmha_v3_fwd aiter::mha_fwd
        aiter::fmha_v3_fwd
    """,
    "SDPA_bwd": """
        FlashAttnFuncBackward FusedAttnFuncBackward flash_attn::_flash_attn_backward
        flash_attn::_flash_attn_varlen_backward aiter::_flash_attn_backward
        aiter::wrapper_fmha_v3_bwd aiter::mha_bwd
    """,
}
_CATEGORIES |= {name: category for category, names in _OTHERS.items() for name in names.split()}
_NORM = re.compile(
    r"aten::(?:(?:native_|miopen_|cudnn_)?"
    r"(?:batch|layer|group|instance)_norm(?P<backward>_backward)?|"
    r"_fused_rms_norm(?P<rms>_backward)?|(?:native_|miopen_|cudnn_)?(?P<plain>rms_norm_backward))"
)


def category_of(name: str, kernel: str) -> str:
    """The category that TraceLens puts an operator into, by its name, else by its first kernel."""
    by_name = _CATEGORIES.get(name)
    if by_name is not None:
        return by_name
    norm = _NORM.fullmatch(name)
    if norm is not None:
        is_backward = norm["backward"] or norm["rms"] or norm["plain"]
        return "NORM_bwd" if is_backward else "NORM_fwd"
    if name.startswith("triton"):
        return "triton"
    if name.startswith("record_param_comms"):
        return "record_param_comms"
    # Kernels of PyTorch's own name what they do; of other libraries TraceLens says "other".
    if kernel.startswith("void at::native"):
        for word in ("elementwise", "reduce", "multi_tensor_apply"):
            if word in kernel:
                return word
    return "other"


def call_category(name: str) -> str:
    """The category of a call that no operator is around."""
    return "graph" if _GRAPH.search(name) else "runtime"
