"""Names of C++ kernels by what differs between them.

PyTorch's elementwise kernels share their first hundred characters: a return type, namespaces and
template arguments. What a person looks for is the functor and the type of its elements, which are
further behind.
"""

from __future__ import annotations

import re
from functools import lru_cache

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_RETURN_TYPE = re.compile(r"^(?:(?:void|static|inline|auto)\s+)+")
_ANONYMOUS = "(anonymous namespace)::"
_ADDRESS = re.compile(r"\s*(?:at\s+)?0x[0-9a-fA-F]{4,}")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Functions that only say how their argument is applied.
_WRAPPERS = _words("""
    elementwise_kernel vectorized_elementwise_kernel unrolled_elementwise_kernel
    index_elementwise_kernel elementwise_kernel_with_index legacy_elementwise_kernel
    vectorized_templated_elementwise_kernel distribution_elementwise_grid_stride_kernel
    reduce_kernel multi_tensor_apply_kernel Kernel Kernel2 device_kernel
    DeviceReduceKernel DeviceScanKernel DeviceRadixSortOnesweepKernel
""")
# Words inside of template arguments that are no functors: namespaces, types, helpers.
_NO_FUNCTORS = _words("""
    at native c10 cuda hip std cub thrust detail internal memory cutlass epilogue gemm kernel
    binary_internal foreach_internal type_traits anonymous namespace
    gpu_kernel_impl gpu_kernel_impl_nocast func_wrapper_t ReduceOp
    BinaryFunctor AUnaryFunctor BUnaryFunctor UnaryFunctor
    lambda operator const unsigned signed int long short char bool float double void auto true
    false BFloat16 Half OpaqueType complex array Params Policy DeviceReducePolicy
    TensorIterator TensorIteratorBase TensorListMetadata TrivialOffsetCalculator OffsetCalculator
    LoadWithoutCast StoreWithoutCast LoadWithCast StoreWithCast
""")
# How the types of elements are called elsewhere, in the order in which they are looked for.
_TYPES = (
    ("BFloat16", "bf16"),
    ("__nv_bfloat16", "bf16"),
    ("bfloat16_t", "bf16"),
    ("Float8_e4m3fn", "fp8"),
    ("Float8_e5m2", "fp8"),
    ("Half", "fp16"),
    ("__half", "fp16"),
    ("half_t", "fp16"),
    ("double", "fp64"),
    ("float", "fp32"),
)


@lru_cache(maxsize=4096)
def readable(name: str) -> str:
    """The kernel's name, what it applies, and its element type; other names as they are."""
    name = _ADDRESS.sub("", name)
    bare = _RETURN_TYPE.sub("", name).replace(_ANONYMOUS, "")
    arguments = bare.find("<")
    call = bare.find("(")
    cut = min((at for at in (arguments, call) if at > 0), default=-1)
    if cut < 0 or not _is_path(bare[:cut]):
        return name
    function = bare[:cut].rpartition("::")[2]
    inside = bare[cut:] if cut == arguments else ""
    words = _IDENTIFIER.findall(inside)
    element = _element_type(words)
    if function not in _WRAPPERS:
        return f"{function} {element}".rstrip()
    functor = next((word for word in words if word not in _NO_FUNCTORS), "")
    return " ".join(part for part in (_plain_functor(functor), element, _manner(function)) if part)


def _manner(wrapper: str) -> str:
    """How the functor is applied, in few letters: "vectorized", "reduce"."""
    if wrapper in ("Kernel", "Kernel2", "device_kernel"):
        return ""
    return wrapper.removesuffix("_kernel").removesuffix("_elementwise")


def _is_path(text: str) -> bool:
    """Whether this is a C++ name with its namespaces: no blanks, no slashes."""
    return all(_IDENTIFIER.fullmatch(part) for part in text.split("::"))


def _element_type(words: list[str]) -> str:
    """The first known type of elements among these words."""
    present = set(words)
    return next((short for long, short in _TYPES if long in present), "")


def _plain_functor(functor: str) -> str:
    """A functor without the words that each of them has."""
    for prefix in ("CUDAFunctor_", "CUDAFunctorOnSelf_", "CUDAFunctorOnOther_"):
        functor = functor.removeprefix(prefix)
    for suffix in ("CUDAKernelImpl", "_kernel_cuda", "_kernel_impl", "_kernel", "Functor", "Ops"):
        functor = functor.removesuffix(suffix)
    return functor
