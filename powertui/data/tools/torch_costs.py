"""FLOPs and bytes of PyTorch's operators from the shapes of their inputs (`record_shapes=True`):
matrix products, convolutions, attention. A multiply-add is two FLOPs.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from typing import Any

from powertui.data.hlo_costs import OpCost

_MAX_TEXT = 20_000  # letters of recorded shapes that are read
_WIDTHS = {
    "c10::BFloat16": 2,
    "c10::Half": 2,
    "at::Half": 2,
    "at::BFloat16": 2,
    "float": 4,
    "double": 8,
    "int": 4,
    "long": 8,
    "long int": 8,
    "signed char": 1,
    "unsigned char": 1,
    "c10::Float8_e4m3fn": 1,
    "c10::Float8_e5m2": 1,
    "c10::Float8_e4m3fnuz": 1,
    "c10::Float8_e5m2fnuz": 1,
}
_NO_SHAPES = "its shapes were not recorded"
_NO_RULE = "no rule for this operator"
_OTHER_SHAPES = "its shapes do not fit the operator"

_Dims = tuple[int, ...]


def has_rule(name: str) -> bool:
    """Whether the shapes of an operator's inputs can say what it costs."""
    return name in _RULES


def operator_cost(name: str, dims: str, types: str, concrete: str) -> OpCost:
    """Of one run of an operator, from what was recorded of its inputs."""
    rule = _RULES.get(name)
    if rule is None:
        return _unknown(_NO_RULE)
    if not dims:
        return _unknown(_NO_SHAPES)
    shapes = _listed(dims)
    if shapes is None:
        return _unknown(_OTHER_SHAPES)
    tensors = [_dims(shape) for shape in shapes]
    try:
        flops, output = rule(tensors, _listed(concrete) or [])
    except (IndexError, ValueError, TypeError):
        return _unknown(_OTHER_SHAPES)
    return OpCost(
        flops=flops,
        transcendentals=0.0,
        bytes=_bytes(tensors, _listed(types) or [], output),
    )


def _unknown(why: str) -> OpCost:
    return OpCost(
        flops=None,
        transcendentals=0.0,
        bytes=None,
        why=why,
    )


def _listed(text: str) -> list[Any] | None:
    """Lists and numbers as they were recorded. Never evaluated: only literals are read."""
    if not text or len(text) > _MAX_TEXT:
        return None
    try:
        read = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    if isinstance(read, list | tuple):
        return list(read)
    return None


def _dims(shape: Any) -> _Dims:
    """The dimensions of one input; () for what is no tensor."""
    if isinstance(shape, list | tuple) and all(type(dim) is int and dim >= 0 for dim in shape):
        return tuple(shape)
    return ()


def _bytes(tensors: Sequence[_Dims], types: Sequence[Any], output: float) -> float | None:
    """What an operator reads and writes, each value once; None for types without a known width."""
    total = 0.0
    first: int | None = None
    for shape, type_name in zip(tensors, types, strict=False):
        if not shape:
            continue
        width = _WIDTHS.get(str(type_name))
        if width is None:
            return None
        first = first or width
        total += width * math.prod(shape)
    if first is not None:
        return total + output * first
    return None


# ── the rules: (FLOPs, values of the result) ─────────────────────────────────────────────────────


def _mm(tensors: Sequence[_Dims], _concrete: Sequence[Any]) -> tuple[float, float]:
    return _product(*tensors[:2])


def _addmm(tensors: Sequence[_Dims], _concrete: Sequence[Any]) -> tuple[float, float]:
    """With the sum of what is added."""
    a, b = tensors[1:3]
    flops, output = _product(a, b)
    return flops + output, output


def _mv(tensors: Sequence[_Dims], _concrete: Sequence[Any]) -> tuple[float, float]:
    matrix, vector = tensors[:2]
    return _product(matrix, (*vector, 1))


def _addmv(tensors: Sequence[_Dims], _concrete: Sequence[Any]) -> tuple[float, float]:
    """With the sum of what is added."""
    flops, output = _mv(tensors[1:3], ())
    return flops + output, output


def _product(a: _Dims, b: _Dims) -> tuple[float, float]:
    """A product of matrices, or of as many of them as the first dimension counts."""
    *batch, rows, inner = a
    columns = b[-1]
    if b[-2] != inner or list(b[:-2]) != batch:
        raise ValueError
    products = math.prod(batch) * rows * columns
    output = float(products)
    return 2 * inner * output, output


def _convolution(tensors: Sequence[_Dims], concrete: Sequence[Any]) -> tuple[float, float]:
    """aten::convolution: its 3rd input is the bias, then stride, padding, dilation, and whether it
    is transposed.
    """
    has_bias = len(tensors[2]) == 1
    if str(concrete[6]) == "True":
        return _transposed_taps(tensors, concrete, has_bias)
    return _taps(
        tensors=tensors,
        concrete=concrete,
        stride=3,
        padding=4,
        dilation=5,
        has_bias=has_bias,
    )


def _library_convolution(tensors: Sequence[_Dims], concrete: Sequence[Any]) -> tuple[float, float]:
    """aten::cudnn_convolution: padding, stride, dilation behind the weights; no bias."""
    return _taps(
        tensors=tensors,
        concrete=concrete,
        stride=3,
        padding=2,
        dilation=4,
        has_bias=False,
    )


def _bias_first_convolution(
    tensors: Sequence[_Dims],
    concrete: Sequence[Any],
) -> tuple[float, float]:
    """aten::miopen_convolution, aten::mkldnn_convolution: the bias, then padding, stride,
    dilation.
    """
    return _taps(
        tensors=tensors,
        concrete=concrete,
        stride=4,
        padding=3,
        dilation=5,
        has_bias=len(tensors[2]) == 1,
    )


def _taps(
    tensors: Sequence[_Dims],
    concrete: Sequence[Any],
    stride: int,
    padding: int,
    dilation: int,
    has_bias: bool,
) -> tuple[float, float]:
    """Every value of the result sums over the kernel, as PyTorch and TraceLens count: the padding
    too.
    """
    inputs_of_all, weights = tensors[:2]
    batch, _, *inputs = inputs_of_all
    outputs, features, *kernel = weights
    strides = _numbers(concrete[stride], len(inputs))
    paddings = _numbers(concrete[padding], len(inputs))
    dilations = _numbers(concrete[dilation], len(inputs))
    spatial = [
        (size + 2 * pad - spread * (taps - 1) - 1) // step + 1
        for size, pad, spread, taps, step in zip(
            inputs, paddings, dilations, kernel, strides, strict=True
        )
    ]
    taps_of_kernel = math.prod(kernel)
    output = float(batch * outputs * math.prod(spatial))
    flops = 2 * output * features * taps_of_kernel
    return flops + output * has_bias, output


def _transposed_taps(
    tensors: Sequence[_Dims],
    concrete: Sequence[Any],
    has_bias: bool,
) -> tuple[float, float]:
    """Every value of the input is spread over the kernel: what `_taps` counts, the other way."""
    inputs_of_all, weights = tensors[:2]
    batch, channels, *inputs = inputs_of_all
    _, features, *kernel = weights
    strides = _numbers(concrete[3], len(inputs))
    paddings = _numbers(concrete[4], len(inputs))
    dilations = _numbers(concrete[5], len(inputs))
    extras = _numbers(concrete[7], len(inputs))
    spatial = [
        (size - 1) * step - 2 * pad + spread * (taps - 1) + extra + 1
        for size, step, pad, spread, taps, extra in zip(
            inputs, strides, paddings, dilations, kernel, extras, strict=True
        )
    ]
    groups = int(concrete[8])
    output = float(batch * features * groups * math.prod(spatial))
    values = batch * channels * math.prod(inputs)
    flops = 2 * values * features * math.prod(kernel)
    return flops + output * has_bias, output


def _convolution_backward(tensors: Sequence[_Dims], concrete: Sequence[Any]) -> tuple[float, float]:
    """aten::convolution_backward: the gradients of input and weights are each as many products as
    the convolution, that of the bias is a sum; its last input says which of them are wanted.
    """
    gradient, inputs, weights = tensors[:3]
    wanted = _listed(concrete[10])
    ranks = {len(gradient), len(inputs), len(weights)}
    if wanted is None or len(ranks) != 1:
        raise ValueError
    for_input, for_weights, for_bias = (flag is True for flag in wanted)
    # A transposed convolution meets its weights at each position of its input, another at each of
    # its output.
    is_transposed = str(concrete[7]) == "True"
    if is_transposed:
        batch, _, *positions = inputs
    else:
        batch, _, *positions = gradient
    places = batch * math.prod(positions)
    flops_each = 2 * places * math.prod(weights)
    flops = 0
    written = 0
    if for_input:
        flops += flops_each
        written += math.prod(inputs)
    if for_weights:
        flops += flops_each
        written += math.prod(weights)
    if for_bias:
        flops += math.prod(gradient)
        written += gradient[1]
    return float(flops), float(written)


def _numbers(text: Any, count: int) -> list[int]:
    """`[1, 1]`, or one number for all dimensions."""
    if isinstance(text, str):
        listed = _listed(text)
    else:
        listed = text
    if listed is None or not all(type(number) is int for number in listed):
        raise ValueError
    if len(listed) == 1:
        return list(listed) * count
    return list(listed)


def _attention(tensors: Sequence[_Dims], concrete: Sequence[Any]) -> tuple[float, float]:
    """softmax(Q·Kᵀ)·V for [batch, heads, length, width]; of a causal one half is computed."""
    return _heads(tensors, False, _is_true(concrete, 4))


def _flash(tensors: Sequence[_Dims], concrete: Sequence[Any]) -> tuple[float, float]:
    """aten::_flash_attention_forward: [batch, length, heads, width]; causal is its 9th input."""
    return _heads(tensors, True, _is_true(concrete, 8))


def _is_true(concrete: Sequence[Any], place: int) -> bool:
    return place < len(concrete) and str(concrete[place]) == "True"


def _heads(tensors: Sequence[_Dims], length_first: bool, causal: bool) -> tuple[float, float]:
    query, key, value = tensors[:3]
    if length_first:
        query, key, value = (
            (batch, heads, length, width) for batch, length, heads, width in (query, key, value)
        )
    batch, heads, length, width = query
    key_length = key[2]
    value_width = value[3]
    rows = batch * heads * length
    products = 2 * rows * key_length * (width + value_width)
    output = float(rows * value_width)
    if causal:
        return products / 2, output
    return float(products), output


_Rule = Callable[[Sequence[_Dims], Sequence[Any]], tuple[float, float]]
_RULES: dict[str, _Rule] = {
    "aten::mm": _mm,
    "aten::bmm": _mm,
    "aten::addmm": _addmm,
    "aten::baddbmm": _addmm,
    "aten::mv": _mv,
    "aten::addmv": _addmv,
    "aten::addmv_": _addmv,
    "aten::convolution": _convolution,
    "aten::_convolution": _convolution,
    "aten::cudnn_convolution": _library_convolution,
    "aten::miopen_convolution": _bias_first_convolution,
    "aten::mkldnn_convolution": _bias_first_convolution,
    "aten::convolution_backward": _convolution_backward,
    "aten::_scaled_dot_product_flash_attention": _attention,
    "aten::_scaled_dot_product_flash_attention_for_cpu": _attention,
    "aten::_flash_attention_forward": _flash,
}
