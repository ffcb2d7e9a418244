"""PyTorch's operators, by whatever name they stand: `aten::mm`, `MmBackward0`, or that behind
`autograd::engine::…:`.
"""

from __future__ import annotations

from powertui.patterns import late_pattern

_NAME = late_pattern(
    r"^(?:autograd::engine::evaluate_function: "
    r")?(?:(?:aten|prims)::(?P<op>\w+)|(?P<grad>[A-Z]\w*)Backward\d*)$"
)
_KINDS = {
    "matmul": (
        "mm bmm addmm baddbmm linear scaledmm mv addmv addbmm tensordot dot vdot inner "
        "outer ger addr einsum intmm"
    ),
    "memory": """
        t view unsafeview asstrided transpose permute expand expandas reshape reshapealias
        contiguous clone copy to tocopy detach empty emptylike emptystrided newempty newzeros zeros
        zeroslike resize squeeze unsqueeze narrow select slice cat stack chunk split splitwithsizes
        unbind flatten unflatten flattendensetensors unflattendensetensors set liftfresh index
        indexput indexputimpl indexselect indexcopy gather scatter item localscalardense
        recordstream alias unfold repeat repeatinterleave roll flip maskedselect embedding pinmemory
        ispinned
    """,
    "elementwise": """
        zero fill ones oneslike add sub rsub mul div neg pow exp log log2 sqrt rsqrt silu gelu relu
        tanh sigmoid threshold clamp clampmin clampmax clampminmax eq ne lt le gt ge logicaland
        logicalor logicalnot where maskedfill nantonum logit arange scalartensor hardtanh abs sign
        cos sin erf reciprocal square lerp addcmul addcdiv dropout nativedropout bitwiseand
        bitwiseor remainder floor ceil round isnan bernoulli normal uniform randn rand softplus
        leakyrelu elu mseloss triu tril resolveconj resolveneg
    """,
    "reduction": """
        sum mean max min amax amin prod std var norm linalgnorm linalgvectornorm cumsum cumprod
        logsumexp argmax argmin topk sort any all unique bincount searchsorted
    """,
    "normalization": "nllloss nllloss2d nlllossnd crossentropyloss",
    "runtime": "resulttype stride size",
}
_BY_KEY = {key: kind for kind, keys in _KINDS.items() for key in keys.split()}
_DRESS = late_pattern(
    "_|backward$"
)  # what forward, backward and in-place forms of one operator differ in


def operator(name: str) -> str:
    """The operator that a name stands for, without its namespace and its wrapping; "" for what is
    none.
    """
    match = _NAME.match(name)
    return (match["op"] or match["grad"]) if match else ""


def kind(operator: str) -> str | None:
    """The category of an operator's work, by its value; None for one that is not known here."""
    return _BY_KEY.get(_DRESS.sub("", operator.lower()))
