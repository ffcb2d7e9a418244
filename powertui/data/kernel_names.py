"""What kind of work a kernel does, by the name of its function.

A compiled kernel's name is a C++ declaration: `void cudnn::cnn::wgrad_alg0_engine<float, 512>(int,
kernel_grad_params, …)`. The function's own name tells most; its template arguments tell more where
that name is general (`elementwise_kernel<…, direct_copy_kernel_cuda>`); its parameters tell
nothing: nearly every list of them holds "kernel", "reduced" or "const".
"""

from __future__ import annotations

import re

# Which names are functions of a device, and no calls on the host.
_DECLARED = re.compile(
    r"^(?:void |_Z|std::enable_if)|kernel\w*\s*[<(]|\w\((?:at|c10|cub)::|\.kd$", re.IGNORECASE
)
_NAMELESS = re.compile(r"\((?:anonymous namespace|anonymous)\)(?:::)?|<unnamed>::|decltype\(\w+\)")

# The most telling first. Words are looked for in small letters; blanks are only for the eye.
_RULES: tuple[tuple[str, str], ...] = (
    (
        "communication",
        (
            "nccl | rccl | all_?reduce | all_?gather | all_?to_?all | reduce_?scatter | "
            "cross_device | nvshmem | multimem"
        ),
    ),
    (
        "normalization",
        r"""(?:batch|layer|group|instance|rms|ln)_?norm | soft_?max | \bbn_ | _bn_ | gammabeta |
        rowwisemoments | nll | cross_?entropy | normalizedprob | \blrn |
        norm(?:forward|backward)""",
    ),
    (
        "optimizer",
        r"""adam | adagrad | adadelta | rmsprop | momentum | \blamb_ | sgd | ftrl |
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
        r"""(?<!fb)gemm | gemv | \bcijk_ | split_?k | mat_?mul | _mm(?:_|$|\d) | flash | fmha | attn
        | attention | cublas | cutlass | xmma | \bmma | dot_kernel | \bdot_ | epilogue | trsm | syrk
        | lstm | gru | rnn""",
    ),
    (
        "memory",
        r"""copy | memcpy | memset | transpose | permut | swap_?dim | catarray | concat |
        (?:^|[_:])cat(?:_|$) | pad(?:input|ding|_|$) | gather | scatter | index | embedding | slice
        | stack | (?:^|[_:])tile(?:_|$) | swizzle | reorder | to_dense | one_?hot | bounds_check |
        offsets_range | recat | compact | where_kernel | nonzero | shuffle | reverse | flip | roll_
        | masked_select""",
    ),
    (
        "reduction",
        r"""reduc | scan | sort | pool | arg_?(?:max|min) | top_?k | cumsum | cumprod | histogram |
        segment | biasgrad | norm | \bsum | _sum | mean | unique | multinomial | bincount""",
    ),
    (
        "elementwise",
        r"""elementwise | pointwise | eigen_?meta | relu | gelu | silu | sigmoid | tanh | bias |
        scal(?:e|_) | random | philox | dropout | distribution | unroll | vectorized | fusion |
        fused | wrapped | loop_ | fill | clamp | cast | quantize | float_to | to_float | add | mul |
        multi_tensor_apply | upsample | interp | rope | rotary | swiglu | iota | range | compare |
        select""",
    ),
)


def _pattern(words: str) -> re.Pattern[str]:
    return re.compile("".join(words.split()))


_PATTERNS = tuple((kind, _pattern(words)) for kind, words in _RULES)

# Functions whose name says how they run; what they do, their template arguments say first.
_GENERAL = re.compile(
    r"(?:^|[:_])(?:kernel\d*|device_kernel|globalkernel|kernel_entry|run_kernel)$"
)
_CARRIERS = re.compile(
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
    ("reduction", _pattern("tensorreductionop | tensortupleop")),
)
_TRITON = re.compile(r"^triton_(?P<how>poi|red|per|tem|mm|bmm)")


# Families of kernels by how their names are made, before any rule reads single words in them: some
# have no declaration around them (cuBLAS, TensorRT-LLM, Triton, hipBLASLt), and others carry words
# of what they are built from ("cutlass", "softmax", "cache") and not of what they do.
_FAMILIES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (value, _pattern(words))
    for value, words in (
        ("communication", "^(?:nccl|rccl|msccl) | allreduce_fusion"),
        (
            "memory",
            r"""reshape_and_cache | concat_and_cache | finalize(?:moe|kernel|deepseek) |
            moe_align_block | permutekernel | (?:nchw|nhwc)to(?:nchw|nhwc)""",
        ),
        ("reduction", r"moe::\S*routing | routing(?:main|index|histogram|init)\w*kernel"),
        ("convolution", r"^igemm_(?:fwd|bwd|wrw) | ^miopen\w*conv | sp3asmconv"),
        (
            "matmul",
            r"""^nvjet_ | ^(?:bmm|gemm)_(?:e\dm\d|bfloat16|fp\d+|mxe\dm\d|mxint\d) | ^cijk_ | fmha |
            ^flash(?:::|_fwd|_bwd) | flash::flash_ | flashattn | _sdpa_ | _attn_(?:fwd|bwd) |
            (?:^|[_:])attention_ | attention_\dd | multihead_attention |
            (?:^|:)mha_(?:fwd|bwd)?_?kernel | fused_moe | deep_gemm""",
        ),
        (
            "elementwise",
            r"elementwise_kernel_with_index | rotary | rope_ | activation\w*kernel | act_and_mul",
        ),
    )
)
_BARE = re.compile(r"[\w:]+(?:\.kd)?")


def kind(name: str) -> str | None:
    """The category of a kernel's work, by its value; None for what is no kernel's name, "other" for
    a kernel that no rule knows.
    """
    triton = _TRITON.match(name)
    if triton is not None:
        return _triton(triton["how"], name.lower())
    if _DECLARED.search(name) is None:
        return _family(name.lower()) if _BARE.fullmatch(name) else None
    head, arguments = (part.lower() for part in _declared(name))
    family = _family(head)
    if family is not None:
        return family
    if _GENERAL.search(head):
        return _first(arguments) or _first(head) or "other"
    if _CARRIERS.search(head):
        carried = next((value for value, pattern in _CARRIED if pattern.search(arguments)), None)
        if carried is not None:
            return carried
    return _first(head) or _first(arguments) or "other"


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
    template of a product.
    """
    if how in ("tem", "mm", "bmm"):
        return "convolution" if "conv" in name else "matmul"
    if re.search(r"norm|softmax|nll|cross_entropy", name):
        return "normalization"
    return "elementwise" if how == "poi" else "reduction"
