"""Which kernels run on tensor cores, and which ops could: by the names that TensorBoard's profiler
looks for.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import lru_cache

from powertui.patterns import late_pattern

# Parts of kernel names that only kernels on tensor cores have.
_USES = late_pattern(
    "16816|c1688|conv1x1|conv2d_c1_k1|dgrad_1x1_stride_2x2|direct_group|first_layer_wgrad_kernel|h1688|h884|hmma|i16832|i8816|"
    "s884|s1688|xmma_gemm|xmma_implicit_gemm|xmma_sparse_conv|xmma_sparse_gemm|xmma_warp_specialized_implicit_gemm"
)
# The same of AMD's: Tensile and MIOpen put the size of the matrix instruction into a name, or what
# only such kernels are called. Found by asking xprof 2.24.2 about 46,000 words.
_USES_AMDS = late_pattern(r"_MI\d+x\d+x\d+|Custom_Cijk_|gtcx|miopenSp3AsmConvRage")
# Names that others give, too: with AMD's ending for a kernel in a file.
_USES_AMDS_IN_FILE = late_pattern(
    r"(gemm_fusion|mfma|wmma|_xdl|aiter|FMHA_FWD|attn_fwd|moe_gemm|moe_mxgemm|bwd_kernel_).*\.kd$"
)
# Ops whose work tensor cores could do: those of TensorFlow, and two of JAX.
_ELIGIBLE = late_pattern(
    "(Conv2D|Conv2DBackpropFilter|Conv2DBackpropInput|Conv3D|DepthwiseConv2dNative|DepthwiseConv2dNativeBackpropFilter|"
    "DepthwiseConv2dNativeBackpropInput|/MatMul|FusedMatMul|/CudnnRNN|XlaDot|XlaDotV2|"
    "(?:^|/)dot_general|conv_general_dilated)$"
    "|BatchMatMul|CudnnRNNV|CudnnRNNForward|CudnnRNNBackprop"
)
# What only AMD's libraries and runtime call their kernels.
_AMD = late_pattern(r"^Cijk_|\.kd$|__amd_rocclr|^ck_tile|rocm|hipblas|miopen", re.IGNORECASE)
_EINSUM_OF_TWO = late_pattern(r"^[^,]+,[^,]+->[^,]*$")


@lru_cache(maxsize=1 << 14)
def used(kernel: str) -> bool:
    """Whether a kernel runs on tensor cores."""
    return any(pattern.search(kernel) for pattern in (_USES, _USES_AMDS, _USES_AMDS_IN_FILE))


def told(vendors: Collection[str], kernels: Iterable[str]) -> bool:
    """Whether names of kernels say what runs on tensor cores: NVIDIA's do.

    Where no maker is named, the kernels tell it.
    """
    known = {vendor for vendor in vendors if vendor}
    if known:
        return "AMD" not in known
    return not any(_AMD.search(name) for name in kernels)


def eligible(op: str, equation: str, kernel: str, *, named: bool) -> bool:
    """Whether an op could run on tensor cores.

    `named`: it is an op of a framework, which a kernel on tensor cores proves.
    """
    return (
        _ELIGIBLE.search(op) is not None
        or _EINSUM_OF_TWO.match(equation) is not None
        or (named and used(kernel))
    )
