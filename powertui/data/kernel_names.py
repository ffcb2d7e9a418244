"""What kind of work a kernel does, by the name of its function.

A compiled kernel's name is a C++ declaration: `void cudnn::cnn::wgrad_alg0_engine<float, 512>(int,
kernel_grad_params, …)`. The function's own name tells most; its template arguments tell more where
that name is general (`elementwise_kernel<…, direct_copy_kernel_cuda>`); its parameters tell
nothing: nearly every list of them holds "kernel", "reduced" or "const".
"""

from __future__ import annotations

import re
from functools import lru_cache

from powertui.patterns import late_pattern

# Names whose kind is kept: hosts of a run have the same ones, and each is asked about again and
# again. Chosen: more than the kernels of a program, and a few megabytes of the longest names.
KEPT_NAMES = 1 << 12

# Which names are functions of a device, and no calls on the host.
_DECLARED = late_pattern(
    r"^(?:void |_Z|std::enable_if)|kernel\w*\s*[<(]|\w\((?:at|c10|cub)::|\.kd$"
    r"|^[a-z_]\w*_(?:kernel(?:_\w+)?|triton)$",  # as Triton's compiler writes a Python function
    re.IGNORECASE,
)
# Collectives by their kernels: NCCL's before and since 2.19, RCCL's, MSCCL's and HCCL's, TensorRT's
# and vLLM's own all-reduce, and the ops of XLA. This is the one rule for work of devices.
_COLLECTIVE = late_pattern(
    r"nccl|rccl|msccl|hccl|cross_device_reduce"
    r"|^(?:all-reduce|all-gather|reduce-scatter|all-to-all)\b",
    re.IGNORECASE,
)
_NAMELESS = late_pattern(
    r"\((?:anonymous namespace|anonymous)\)(?:::)?|<unnamed>::|decltype\(\w+\)"
)

# The most telling first. Words are looked for in small letters; blanks are only for the eye.
_RULES: tuple[tuple[str, str], ...] = (
    (
        "communication",
        (
            "nccl | rccl | all_?reduce | all_?gather | all_?(?:to|2)_?all | reduce_?scatter | "
            "cross_device | nvshmem | multimem | deep_ep:: | userbuffers"
        ),
    ),
    (
        "normalization",
        r"""(?:batch|layer|group|instance|rms|ln|l2|qk)_?norm | normaliz | soft_?max | \bbn_ |
        _bn_ | gammabeta | rowwisemoments | nll | cross_?entropy | normalizedprob | \blrn |
        norm(?:forward|backward)""",
    ),
    (
        "optimizer",
        r"""optimizer | adam | adagrad | adadelta | rmsprop | momentum | \blamb_ | sgd | ftrl |
        apply(?:gradient|centered|power|proximal) | swa_ | lars""",
    ),
    ("memory", "nchwtonhwc | nhwctonchw | nchw2nhwc | nhwc2nchw"),
    (
        "convolution",
        r"""conv(?!er) | winograd | [dw]grad(?:_|\d|$) | fprop | im2d?2?col | col2im | fft[12]d_ |
        flip_filter | scudnn | implicit_?gemm | \bigemm_(?:fwd|bwd|wrw) | sp3asm | computewgrad |
        computeb?offsets""",
    ),
    (
        "matmul",
        r"""(?<!fb)gemm | gemv | \bcijk_ | split_?k | mat_?mul | mul_?mat | _mm(?:_|$|\d) |
        flash | fmha | attn | attention | cublas | cutlass | xmma | \bmma | dot_kernel |
        \bdot_ | epilogue | trsm | syrk | lstm | gru | rnn | delta_?rule | marlin |
        weight_only""",
    ),
    (
        "memory",
        r"""copy | memcpy | memset | transpose | permut | swap_?dim | catarray | concat |
        (?:^|[_:])cat(?:_|$) | pad(?:input|ding|ded|kernel|_|$) | gather | scatter | index |
        embedding | slice | stack | (?:^|[_:])tile(?:_|$) | swizzle | reorder | to_dense |
        one_?hot | bounds_check | lookup | expand_?input | kv_?(?:cache|buffer|indices) |
        get_?rows | nhwcto | (?:^|_)(?:write|split(?!_?k)) | nchw_to | nhwc_to | offsets_range
        | recat | compact | where_kernel | nonzero | shuffle | reverse | flip | roll_ |
        masked_select""",
    ),
    (
        "reduction",
        r"""reduc | scan | sort | pool | arg_?(?:max|min) | top_?[kp](?!erm) | cumsum |
        cumprod | histogram | segment | biasgrad | norm | \bsum | _sum | mean | unique |
        multinomial | bincount | (?<!up)(?<!down)(?<!grid_)sampl""",
    ),
    (
        "elementwise",
        r"""elementwise | pointwise | eigen_?meta | relu | gelu | silu | sigmoid | tanh | bias
        | scal(?:e|_) | random | philox | dropout | distribution | unroll | vectorized |
        fusion | fused | wrapped | loop_ | fill | clamp | cast | quant | float_to | to_float |
        add | mul | multi_tensor_apply | upsample | resize | interp | rope | rotary | swiglu |
        iota | range | compare | select | axpy | (?:^|_)op_?(?:generic)?_?tensor |
        generic_tensor""",
    ),
)


@lru_cache(KEPT_NAMES)
def is_collective(name: str) -> bool:
    """Whether work of a device with this name exchanges with other devices, all at once."""
    return _COLLECTIVE.search(name) is not None


def _pattern(words: str) -> re.Pattern[str]:
    return late_pattern("".join(words.split()))


_PATTERNS = tuple((kind, _pattern(words)) for kind, words in _RULES)

# Functions whose name says how they run; what they do, their template arguments say first.
_GENERAL = late_pattern(
    r"(?:^|:)(?:kernel\d*|device_kernel|globalkernel|kernel_entry|run_kernel|kentry)$"
)
_CARRIERS = late_pattern(
    r"elementwise_kernel|reduce_kernel|multi_tensor_apply|eigenmetakernel|for_each|transform|parallel_for"
)
_SHAPING = (
    "tensor(?:shuffling|padding|(?:striding)?slicing|concatenation|reverse|chipping|striding)op"
)
_CARRIED: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "optimizer",
        _pattern("adam | adagrad | rmsprop | sgdfunctor | lambfunctor | lambstage | ftrl"),
    ),
    (
        "memory",
        _pattern(
            f"copy_kernel | copy_device | gather | scatter | index_(?:put|copy|kernel) | {_SHAPING}"
        ),
    ),
    ("reduction", _pattern("tensorreductionop | tensortupleop | normfunctor")),
)
_TRITON = late_pattern(r"^triton_(?P<how>poi|red|per|tem|mm|bmm)")


# Families of kernels by how their names are made, before any rule reads single words in them: some
# have no declaration around them (cuBLAS, TensorRT-LLM, Triton, hipBLASLt), and others carry words
# of what they are built from ("cutlass", "softmax", "cache") and not of what they do.
_FAMILIES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (value, _pattern(words))
    for value, words in (
        ("communication", "^(?:nccl|rccl|msccl) | allreduce_fusion | \\bdeep_ep::"),
        (
            "memory",
            r"""fill_?buffer | ^subtensorop(?!\w*cast) | reshape_and_cache | concat_and_cache
            | finalize(?:moe|kernel|deepseek) | moe_align_block | permutekernel |
            (?:nchw|nhwc)to(?:nchw|nhwc)""",
        ),
        (
            "reduction",
            r"""moe::\S*routing | top_?k_?(?:gating_?)?softmax | (?:^|_)count_(?!er) |
            ^device(?:radixsort|scan|reduce|segmented|mergesort|select) |
            routing(?:main|index|histogram|init)\w*kernel | ^mlopooling |
            ^(?:sum|mean|prod|max|min|arg\w+)\w*(?:fwd|bwd)contiguous""",
        ),
        ("normalization", "^miopenlrn"),
        ("elementwise", "^betaonly | rope_?(?:append|update)"),
        (
            "convolution",
            r"""^igemm_ | s\d+cudnn | ^miopen\w*conv | ^miopencv(?:fwd|bwd) | ^miopengcnasm |
            sp3asmconv | ^im\dd2col | ^col2im\dd""",
        ),
        (
            "matmul",
            r"""^nvjet_ | _bmm_ | ^(?:bmm|gemm)_(?:e\dm\d|bfloat16|fp\d+|mxe\dm\d|mxint\d) |
            (?:^|[:_])cijk_ | gemm_softmax_gemm |
            (?:^|[:_\d])(?:mla_[ad]|fmoe_|f4gemm_|pa_[bf]) | _fwd_(?:grouped_)?kernel_stage\d
            | fmha | ^flash(?:::|_fwd|_bwd) | flash::flash_ | flashattn | _sdpa_ |
            _attn_(?:fwd|bwd) | (?:^|[_:])attention_ | attention_\dd | multihead_attention |
            (?:^|[:_])mha(?:_|$) | (?:prefill|decode)with\w*kvcache | merge_?(?:attn_?)?states
            | fused_moe | (?:^|_)chunk_(?:scan|state|fwd|bwd|gated|local|delta)""",
        ),
        (
            "elementwise",
            r"""elementwise_kernel_with_index | rotary | rope_ | activation\w*kernel |
            act_and_mul | ^miopen(?:neuron|active) | ^op(?:\dd)?tensor | ^subtensorop\w*cast |
            ^_\w*_quant(?:ize)?_""",
        ),
    )
)
_BARE = late_pattern(r"[\w:]+(?:\.kd)?")

# Operators that only move or make values: a fusion of nothing else is a copy.
_TRITON_MOVES = late_pattern(
    r"triton_poi_fused(?:_(?:_to_copy|_unsafe_view|as_strided|cat|clone|constant_pad_nd|contiguous|"
    r"copy|detach|embedding|empty|expand|flip|full|gather|index|index_put|index_select|permute|"
    r"reflection_pad\dd|repeat|replication_pad\dd|reshape|roll|scatter|select|slice|split|squeeze|"
    r"stack|t|transpose|unbind|unsqueeze|view|zeros|zeros_like))+_?\d*"
)
_XLA_FUSION = late_pattern(
    r"(?:(?:loop|input|nested|transpose|scatter)_)*(?P<ops>[a-z_]+?)_fusion(?:[._]\d+)*(?:\.kd)?"
    r"|wrapped_(?P<op>[a-z_]+?)(?:[._]\d+)*(?:\.kd)?"
)
_XLA_OPS = (
    ("convolution", late_pattern("convolution")),
    ("matmul", late_pattern(r"(?:^|_)dot(?:_|$)|gemm")),
    ("normalization", late_pattern("softmax")),
    ("reduction", late_pattern("reduce|sort|(?:^|_)top_?k")),
)
_XLA_MOVES = late_pattern(
    r"(?:bitcast|concatenate|copy|dynamic|gather|pad|reshape|reverse|scatter|slice|transpose|update|_)+"
)


def kind(name: str) -> str | None:
    """The category of a kernel's work, by its value; None for what is no kernel's name, "other" for
    a kernel that no rule knows.
    """
    triton = _TRITON.match(name)
    if triton is not None:
        return _triton(triton["how"], name.lower())
    fusion = _fusion(name)
    if fusion is not None:
        return fusion
    if _DECLARED.search(name) is None:
        return _family(name.lower()) if _BARE.fullmatch(name) else None
    head, arguments = (part.lower() for part in _declared(name))
    family = _family(head)
    if family is not None:
        return family
    if _GENERAL.search(head):
        return _family(arguments) or _first(arguments) or _first(head) or "other"
    if _CARRIERS.search(head):
        carried = next((value for value, pattern in _CARRIED if pattern.search(arguments)), None)
        if carried is not None:
            return carried
    function = head.rpartition("::")[2]
    return _first(function) or _first(head) or _first(arguments) or "other"


def kind_of_words(name: str) -> str | None:
    """The kind that words in a name speak of, such as that of an operator; None without any."""
    low = name.lower()
    return _family(low) or _first(low)


def _declared(name: str) -> tuple[str, str]:
    """(a function's own name with its namespaces, its template arguments) of a declaration; a
    mangled name is all of the first.
    """
    if name.startswith("_Z"):
        return name, ""
    text = _NAMELESS.sub("", name)
    depth = 0
    plain: list[str] = []
    arguments: list[str] = []
    for at, letter in enumerate(text):
        if letter == "<":
            depth += 1
            if depth == 1:
                arguments = []
        elif letter == ">" and depth and text[at - 1] != "-":
            depth -= 1
        elif depth:
            arguments.append(letter)
        elif letter == "(":
            break
        else:
            plain.append(letter)
    words = "".join(plain).split()
    return (words[-1] if words else ""), "".join(arguments)


def _first(text: str) -> str | None:
    return next((value for value, pattern in _PATTERNS if pattern.search(text)), None)


def _family(text: str) -> str | None:
    return next((value for value, pattern in _FAMILIES if pattern.search(text)), None)


def _triton(how: str, name: str) -> str:
    """Inductor's own kernels say how they run: pointwise, reduction, persistent reduction, a
    template of a product; and which operators they are made of.
    """
    if how in ("tem", "mm", "bmm"):
        return "convolution" if "conv" in name else "matmul"
    if re.search(r"norm|softmax|nll|cross_entropy", name):
        return "normalization"
    if how != "poi":
        return "reduction"
    return "memory" if _TRITON_MOVES.fullmatch(name) else "elementwise"


def _fusion(name: str) -> str | None:
    """XLA's fusions are called after the ops that they end with: `input_add_reduce_fusion`.

    None for a name that has another form.
    """
    match = _XLA_FUSION.fullmatch(name)
    if match is None:
        return None
    ops = match["ops"] or match["op"]
    for value, pattern in _XLA_OPS:
        if pattern.search(ops):
            return value
    return "memory" if _XLA_MOVES.fullmatch(ops) else "elementwise"
