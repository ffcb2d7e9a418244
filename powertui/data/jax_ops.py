"""Single operations of JAX, by the names under which its eager mode compiles and launches them."""

from __future__ import annotations

from powertui.patterns import late_pattern

# Taken from JAX 0.10: its primitives, and the functions of jax.numpy and jax.nn that are compiled
# by themselves. Names that a program may well give to a function of its own are left out: gradient,
# scan, call, solve, partition, trace.
_OPERATIONS = """
    abs absolute acos acosh add add_any all allclose angle any arange arccos arccosh arcsin
    arcsinh arctan arctan2 arctanh argmax argmin argpartition argsort around array asin asinh
    astype atan atan2 atanh average bernoulli bitcast_convert_type bitwise_and bitwise_not
    bitwise_or bitwise_xor broadcast broadcast_in_dim broadcast_to categorical cbrt ceil celu
    cholesky clamp clip concatenate conjugate conv conv_general_dilated convert_element_type
    convolve copy copysign cos cosh count_nonzero cross cumlogsumexp cummax cummin cumprod
    cumsum deg2rad device_put dft diag diagonal diff digamma digitize div divide divmod dot
    dot_general dropout dynamic_index_in_dim dynamic_slice dynamic_update_index_in_dim
    dynamic_update_slice eigh einsum elu eq equal erf erf_inv erfc exp exp2 expand_dims expm1
    eye fabs fft flip float_power floor floor_divide fmax fmin fmod fold_in full full_like
    gather ge gelu glu greater greater_equal gt hard_sigmoid hard_silu hard_swish hard_tanh
    heaviside hypot identity imag inner integer_pow inv invert iota is_finite isclose isfinite
    isinf isnan kron le leaky_relu left_shift less less_equal lexsort lgamma linspace log log10
    log1p log2 log_sigmoid log_softmax logaddexp logical_and logical_not logical_or logical_xor
    logistic logmeanexp logspace logsumexp lt lu matmul matvec max maximum mean median meshgrid
    min minimum mish mod moveaxis mul multi_slice multiply nan_to_num nanmax nanmean nanmedian
    nanmin nanstd nansum nanvar ne neg negative nextafter norm normal not_equal one_hot ones
    ones_like outer pad percentile permutation positive power prod put_along_axis qr quantile
    randint ravel real reciprocal reduce_all reduce_and reduce_any reduce_max reduce_min
    reduce_or reduce_prod reduce_sum reduce_window relu relu6 rem remainder reshape rev
    right_shift rint roll roll_dynamic roll_static rot90 round rsqrt scatter scatter_add
    searchsorted select_n selu shift_left sigmoid sign signbit silu sin sinh slice slogdet
    soft_sign softmax softplus solve_triangular sort split sqrt square squareplus squaring
    squeeze stack standardize std sub subtract sum svd swapaxes swish take take_along_axis tan
    tanh tensordot tile top_k transpose triangular_solve tril triu true_divide trunc
    truncated_normal uniform unique_sorted_mask unstack var vdot vecmat where xor zeros
    zeros_like
"""
_NAMES = frozenset(_OPERATIONS.split())
_OPERATION = late_pattern(r"^(?:PjitFunction\(|jit[_(])_?(?P<name>\w+?)\)?$")
_FAMILY = late_pattern(r"^(?:threefry|random_)")


def is_single_operation(name: str) -> bool:
    """Whether a launch is that of one operation of JAX, and of no function of the program."""
    match = _OPERATION.match(name)
    if match is None:
        return False
    return match["name"] in _NAMES or _FAMILY.match(match["name"]) is not None
