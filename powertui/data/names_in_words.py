"""Long names by what differs between them: kernels of C++, and ops that are one word.

PyTorch's elementwise kernels share their first hundred characters: a return type, namespaces and
template arguments. What a person looks for is the functor and the type of its elements, which are
further behind.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_WORD = re.compile(r"\w+")
_RETURN_TYPE = re.compile(r"^(?:(?:void|static|inline|auto)\s+)+")
_ANONYMOUS = "(anonymous namespace)::"
_ADDRESS = re.compile(r"\s*(?:at\s+)?0x[0-9a-fA-F]{4,}")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Functions that only say how their argument is applied.
_WRAPPERS = _words("""
    elementwise_kernel elementwise_kernel_manual_unroll
    vectorized_elementwise_kernel unrolled_elementwise_kernel
    index_elementwise_kernel elementwise_kernel_with_index legacy_elementwise_kernel
    vectorized_templated_elementwise_kernel distribution_elementwise_grid_stride_kernel
    reduce_kernel multi_tensor_apply_kernel Kernel Kernel2 device_kernel
    DeviceReduceKernel DeviceScanKernel DeviceRadixSortOnesweepKernel
    EigenMetaKernel
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
    Eigen TensorEvaluator TensorAssignOp TensorMap Tensor MakePointer GpuDevice half
    TensorCwiseNullaryOp TensorCwiseUnaryOp TensorCwiseBinaryOp TensorCwiseTernaryOp
    TensorReshapingOp scalar_left scalar_right
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
    ("half", "fp16"),
    ("double", "fp64"),
    ("float", "fp32"),
)


# AMD's matrix products: "Cijk_Ailk_Bljk_BBS_BH_MT128x128x64_…". Behind the order of the indices
# stands the type of the elements, behind MT the tile that a work group computes.
_TENSILE = re.compile(r"Cijk_A[ilk]+_B[jlk]+_(I8|F8|B8|[HBSDCZ]).*?_MT(\d+x\d+x\d+)_")
_TENSILE_TYPES = {
    "H": "fp16",
    "B": "bf16",
    "S": "fp32",
    "D": "fp64",
    "I8": "int8",
    "F8": "fp8",
    "B8": "bf8",
    "C": "complex64",
    "Z": "complex128",
}
# Ops of TensorFlow and of its libraries are one word of many parts.
_OP = re.compile(r"_?[A-Z][A-Za-z0-9]*")
_MIN_LONG_OP = 16
# Which library's form of an op it is: behind the op, because the op is what one looks for.
_LIBRARIES = (
    ("_MklNative", " mkl"),
    ("_Mkl", " mkl"),
    ("_OneDnn", " onednn"),
    ("_Cudnn", " cudnn"),
)
_OP_WORDS = (
    ("BackpropFilter", " filter grad"),
    ("BackpropInput", " input grad"),
    ("WithBias", " + bias"),
    ("_Fused", "fused "),
    ("Fused", "fused "),
    ("Gradient", " grad"),
    ("Grad", " grad"),
    ("SparseSoftmaxCrossEntropyWithLogits", "sparse cross-entropy"),
    ("SoftmaxCrossEntropyWithLogits", "cross-entropy"),
    ("ResourceApply", "apply "),
    ("Experimental", "exp. "),
)
_MAX_DIFFERENCE = 16  # characters of what differs, behind a name


@lru_cache(maxsize=4096)
def readable(name: str) -> str:
    """The kernel's name, what it applies, and its element type; other names as they are."""
    name = _ADDRESS.sub("", name)
    bare = _RETURN_TYPE.sub("", name).replace(_ANONYMOUS, "")
    cuts = [at for at in (bare.find("<"), bare.find("(")) if at > 0]
    if not cuts or not _is_path(bare[: min(cuts)]):
        return name
    function = bare[: min(cuts)].rpartition("::")[2]
    arguments = bare[min(cuts) :]
    template_words = _IDENTIFIER.findall(arguments) if arguments[0] == "<" else []
    element = _element_type(template_words)
    if function not in _WRAPPERS:
        return f"{function} {element}".rstrip()
    # What a wrapper applies says more than its own name.
    functors = [word for word in template_words if word not in _NO_FUNCTORS]
    functor = _plain_functor(functors[0] if functors else "")
    return " ".join(filter(None, (functor, element, _manner(function))))


def in_words(name: str) -> str:
    """A kernel by what differs, an op that is one long word in words: "Conv2D filter grad + bias".

    In front of an op may be its layer.
    """
    name = readable(name)
    product = _TENSILE.match(name)
    if product is not None:
        return f"product {_TENSILE_TYPES[product[1]]} tile {product[2]}"
    layer, dot, op = name.rpartition(" · ")
    if len(op) < _MIN_LONG_OP or not _OP.fullmatch(op):
        return name
    library = ""
    for prefix, short in _LIBRARIES:
        if op.startswith(prefix):
            op = op[len(prefix) :]
            library = short
            break
    for word, plain_words in _OP_WORDS:
        op = op.replace(word, plain_words)
    op = " ".join(op.split())
    return f"{layer}{dot}{op}{library}"


def type_in_words(op_type: str) -> str:
    """The type of an op without its library and what was fused to it: "Conv2D filter grad"."""
    words = in_words(op_type)
    for _, library in _LIBRARIES:
        words = words.removesuffix(library)
    for fused in ("fused ", "_Fused", "Fused"):
        words = words.removeprefix(fused)
    return words.removesuffix(" + bias")


def with_fused(path: str, op_type: str) -> str:
    """The path of an op with what it was fused from: ".../Relu" of type _FusedConv2D is a
    convolution first, "…/Conv2D + Relu".
    """
    scope, slash, last = path.rpartition("/")
    if "Fused" not in op_type or not last or last in op_type:
        return path
    return f"{scope}{slash}{type_in_words(op_type)} + {last}"


def in_distinct_words(names: Sequence[str]) -> list[str]:
    """All names in words. Where different ones read alike, what differs stands behind them."""
    texts = [in_words(name) for name in names]
    alike: dict[str, set[str]] = {}
    for name, text in zip(names, texts, strict=True):
        alike.setdefault(text, set()).add(name)
    differences: dict[str, str] = {}
    for group in alike.values():
        if len(group) > 1:
            differences.update(_differences(group))
    out = []
    for name, text in zip(names, texts, strict=True):
        out.append(f"{text} {differences[name]}" if name in differences else text)
    return out


def _differences(group: set[str]) -> dict[str, str]:
    """Of each name of a group what no other has: a word of it, else where they part."""
    words = {name: _IDENTIFIER.findall(name) for name in group}
    counts = Counter(word for found in words.values() for word in set(found))
    differences: dict[str, str] = {}
    for name, found in words.items():
        own = next((word for word in found if counts[word] == 1), "")
        if own:
            differences[name] = own[:_MAX_DIFFERENCE]
    rest = sorted(group - differences.keys())
    if rest:
        start = shared_start(rest)
        end = shared_start(sorted(name[::-1] for name in rest))
        for name in rest:
            differences[name] = _piece(name, start, end)
    return differences


def _piece(name: str, start: int, end: int) -> str:
    """What is between the parts that names share at their start and at their end."""
    while 0 < start < len(name) and name[start - 1].isalnum():  # whole words
        start -= 1
    piece = name[start : max(start + 1, len(name) - end)]
    word = _WORD.match(piece)
    return word[0] if word else piece[:_MAX_DIFFERENCE]


def shared_start(texts: Sequence[str]) -> int:
    """How many characters the first and the last of sorted texts, and so all of them, share."""
    pairs = zip(texts[0], texts[-1], strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), len(texts[0]))


def _manner(wrapper: str) -> str:
    """How the functor is applied, in few letters: "vectorized", "reduce"."""
    if wrapper in ("Kernel", "Kernel2", "device_kernel"):
        return ""
    if wrapper == "EigenMetaKernel":
        return "Eigen"
    manner = wrapper.removesuffix("_manual_unroll").removesuffix("_kernel")
    return manner.removesuffix("_elementwise")


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
    if functor.startswith("Tensor") and functor.endswith("Op"):  # Eigen's own: TensorConversionOp
        return functor[len("Tensor") : -len("Op")]
    if functor.startswith("scalar_") and functor.endswith("_op"):
        return functor[len("scalar_") : -len("_op")]
    return functor
