"""What kind of work an event's name stands for: a handful of categories that color the timeline
and group tables.

Profiles name work in several tongues: framework ops (`dense/MatMul:MatMul`, `aten::mm`), compiler
ops (`fusion.12`, `all-reduce.3`), kernels as C++ declares them (`kernel_names.py`) and bare ones
(`volta_sgemm_128x64_nn`). The rules below read all of them, the most telling first. Of a framework
op its type tells, not the scopes that it lies in. A name that no rule knows is "other" (or "host"
when it has the form of a framework op): a guess would be worse than none.
"""

from __future__ import annotations

import enum
import re
import zlib
from functools import lru_cache

from powertui.data import kernel_names, torch_ops
from powertui.named_tuples import NamedTuple
from powertui.patterns import late_pattern


class Category(str, enum.Enum):
    """The kinds. `code` is the letter that tells them apart where colors do not."""

    MATMUL = "matmul"
    CONVOLUTION = "convolution"
    ELEMENTWISE = "elementwise"
    REDUCTION = "reduction"
    NORMALIZATION = "normalization"
    MEMORY = "memory"
    COMMUNICATION = "communication"
    INPUT = "input"
    OPTIMIZER = "optimizer"
    COMPILE = "compile"
    PYTHON = "python"
    HOST = "host"
    RUNTIME = "runtime"
    IDLE = "idle"
    OTHER = "other"

    @property
    def code(self) -> str:
        return CODES[self]

    @property
    def number(self) -> int:
        return _NUMBERS[self]


CATEGORIES: tuple[Category, ...] = tuple(Category)
_NUMBERS = {category: number for number, category in enumerate(CATEGORIES)}

CODES: dict[Category, str] = {
    Category.MATMUL: "M",
    Category.CONVOLUTION: "C",
    Category.ELEMENTWISE: "E",
    Category.REDUCTION: "R",
    Category.NORMALIZATION: "N",
    Category.MEMORY: "Y",  # copY, memorY
    Category.COMMUNICATION: "X",  # eXchange
    Category.INPUT: "I",
    Category.OPTIMIZER: "U",  # Update
    Category.COMPILE: "J",  # Jit
    Category.PYTHON: "P",
    Category.HOST: "H",
    Category.RUNTIME: "T",  # runTime
    Category.IDLE: "Z",
    Category.OTHER: "O",
}

MEANINGS: dict[Category, str] = {
    Category.MATMUL: "matrix products",
    Category.CONVOLUTION: "convolutions",
    Category.ELEMENTWISE: "element-wise work and fusions",
    Category.REDUCTION: "reductions",
    Category.NORMALIZATION: "normalization, softmax",
    Category.MEMORY: "copies, layout changes, allocation",
    Category.COMMUNICATION: "collectives, send and receive",
    Category.INPUT: "input pipeline",
    Category.OPTIMIZER: "optimizer and variables",
    Category.COMPILE: "tracing and compilation",
    Category.PYTHON: "Python",
    Category.HOST: "framework ops on the host",
    Category.RUNTIME: "runtime, launches, executors",
    Category.IDLE: "waiting",
    Category.OTHER: "everything else",
}

SHORT_NAMES: dict[Category, str] = {  # what a legend has room for
    Category.MATMUL: "matrix products",
    Category.CONVOLUTION: "convolutions",
    Category.ELEMENTWISE: "element-wise",
    Category.REDUCTION: "reductions",
    Category.NORMALIZATION: "normalization",
    Category.MEMORY: "copies",
    Category.COMMUNICATION: "collectives",
    Category.INPUT: "input",
    Category.OPTIMIZER: "optimizer",
    Category.COMPILE: "compilation",
    Category.PYTHON: "Python",
    Category.HOST: "host ops",
    Category.RUNTIME: "runtime",
    Category.IDLE: "waiting",
    Category.OTHER: "other",
}

# Patterns by kind; blanks are only for the eye (one that is meant is \x20). The most telling come
# first: `conv2d_backprop_input` is a convolution although it says input, `ncclAllReduce` exchanges
# although it reduces.
_WORDS: dict[Category, str] = {
    Category.PYTHON: r"""
        ^\$ | ^<frozen\x20 | ^<built-in | ^<string> | \.py:\d+ | \.py\(\d+\) | ^nn\.module:
    """,
    Category.COMMUNICATION: r"""
        all[-_\x20]?reduce | all[-_\x20]?gather | reduce[-_\x20]?scatter |
        all[-_\x20]?(?:to|2)[-_\x20]?all | collective | \bnccl | \brccl |
        ^(?:send|recv)(?:-done)?(?:\.\d+)?$ | ncclkernel | ^c10d:: | record_param_comms |
        cross[-_\x20]?replica
    """,
    Category.INPUT: r"""
        ^iterator\b | iterator(?:get)?next | iterator:: | \bdataset | dataset(?:v\d)?\b | tf[._]data
        | infeed | decode_?(?:jpeg|png|image|raw) | parse_?example | prefetch(?:generator)? |
        shuffle | batch(?:v2|dataset)$ | record_?reader | tfrecord | readfile
    """,
    Category.CONVOLUTION: r"""
        conv(?:olution|olve)?(?:[\dv_\x20.\-]|$|nd|lstm) | depthwise | winograd | _dgrad | _wgrad |
        fprop | implicit_gemm | scudnn | cudnn.*conv | miopen.*conv | ^im2d2col
    """,
    Category.MATMUL: r"""
        mat_?mul | (?<!fb)gemm | ^cijk_ | gemv | ^attn_ |
        (?:^|[/_.:\-\x20])dot(?:[_.\-]|$|general|product) | einsum | cublas | cutlass | tensordot |
        \bmma | xdot | _rnn | cudnnrnn | attention | fmha | sdpa | \blstm | \bgru
    """,
    Category.COMPILE: r"""
        compil | graph_?building | auto_?tun | hlo.?pass | xla.?pass | \bllvm | \bptx |
        optimizegraph | grappler | lower(?:ing|jaxpr) | trace_to_jaxpr | \btracing\b |
        deserialize.?executable | \bcodegen\b | \bpass:
    """,
    Category.NORMALIZATION: r"""
        (?:batch|layer|group|instance|rms).?norm | soft_?max | normaliz | _bn_ | \bbn_ | \blrn\b |
        cross_?entropy | cudnn\W*norm
    """,
    Category.OPTIMIZER: r"""
        adam | \bsgd\b | momentum | rmsprop | adagrad | optimi[sz]er | apply_?gradient |
        resource_?apply | assign(?:add|sub)?(?:variable|moving)? | weight_?decay | update_?variable
        | readvariable
    """,
    Category.IDLE: r"""
        \bidle\b | \bwait | \bawait | ^np\.asarray\(jax\.array\) | sleep |
        block_?(?:host_?)?until | synchroni[sz]e | \bpoll\b | \bpark\b | futex |
        cond_?wait | acquire_?lock | semaphore | \bbarrier\b
    """,
    Category.MEMORY: r"""
        mem_?cpy | mem_?set | (?:^|[-_/.\x20:])copy | copy(?:start|done) | transpose | reshape |
        h2d | d2h | d2d | htod | dtoh | transfer | concat | \bslice | ^stridedslice | ^expanddims |
        ^squeeze | ^reverse | gather | (?<!and[-_])scatter | \bpad(?:v2)?\b | (?:un)?pack\b | alloc
        | deallocat | \bfree\b | swizzle | nchwtonhwc | nhwctonchw | bitcast | tile\b |
        (?:un)?stack\b | split | literal | buffer
    """,
    Category.REDUCTION: r"""
        reduc | select[-_]and[-_]scatter |
        (?:^|[/_.:\-\x20])(?:arg_?)?(?:sum|mean|max|min|prod)(?:[_.\-:]|$) | max_?pool | avg_?pool
        | l2loss | \bnorm\b | top_?k | \bsort | argmax | argmin | cumsum | count_?nonzero
    """,
    Category.ELEMENTWISE: r"""
        fusion | fused | relu | sigmoid | tanh | gelu | \bexp\b | \blog\b | sqrt | \bpow | square |
        bias_?add | (?:^|[/_.:\-\x20])(?:add(?:v2|n)?|sub|mul|div|neg|cast|select|equal|
        greater|less|where|fill|real_?div|maximum|minimum|clip|convert|broadcast\w*|identity|iota|
        compare)(?:[_.\-:\d]|$) | elementwise | pointwise | loop_ | dropout | random | philox |
        \brng\b | wrapped_ | threshold | clamp | silu | ^logical_?(?:and|or|not|xor) | ^bitwise |
        ^selectv\d | ^reciprocal | ^floor(?:mod|div)? | ^(?:greater|less|not)_?equal | ^divnonan |
        ^(?:ones|zeros)like | ^onehot | ^range$
    """,
    Category.RUNTIME: r"""
        executor | eager | ^tfe_ | functionrun | sessionrun | rungraph |
        launch | ^cu(?:launch|mem|stream|event|ctx|module|device|graph|func) | ^hip | cuda | \bhip |
        pjrt | pjit | thunk | kernel | threadpool | tpu_?execute | program | runtime | client |
        dispatch | schedul | session | while | partitionedcall | traceme | tfrt | execute | ^process
        | callback | enqueue | region
    """,
}


class _Rule(NamedTuple):
    """Texts that need no regular expression are looked for as they are: ten times as fast, and
    there may be many names.
    """

    kind: Category
    texts: tuple[str, ...]
    pattern: re.Pattern[str]

    def holds(self, name: str) -> bool:
        return any(text in name for text in self.texts) or self.pattern.search(name) is not None


def _rule(kind: Category, words: str) -> _Rule:
    texts: list[str] = []
    patterns: list[str] = []
    for word in " ".join(words.split()).split(" | "):
        if re.fullmatch(r"(?:[a-z0-9:]|_\??)+", word):
            texts.extend({word.replace("?", ""), word.replace("_?", "")})
        else:
            patterns.append(word.replace(" ", ""))
    return _Rule(
        kind=kind,
        texts=tuple(texts),
        pattern=late_pattern("|".join(patterns) or "(?!)"),
    )


_RULES = tuple(_rule(kind, words) for kind, words in _WORDS.items())

_OP = late_pattern(r"(?P<name>[A-Za-z0-9_.][\w.\\/>-]*):(?P<type>[A-Za-z_]\w*)$")
_INSTANCE = late_pattern(r"(?<=[._\-/:# ])\d+")  # numbers of instances say nothing of the kind
_NUMBERED = late_pattern(r"(?:[._-]\d+)+$")
_READ_LETTERS = 400  # of a name; chosen, not measured
# Calls whose ops run on other threads meanwhile: all that the calling thread does is wait for them.
# Those of TensorFlow's runtime, and PyTorch's backward pass, which runs on the autograd engine's
# threads (on the CPU alone it runs inside the call, which then has no time of its own).
HAND_OVER = frozenset(
    (
        "KernelAndDeviceFunc::Run",
        "FunctionRun",
        "SessionRun",
        "Session::Run",
        "RunGraph",
        "DirectSession::Run",
        "EagerKernelExecute",
        "EagerExecute",
        "EagerLocalExecute",
        "<built-in method run_backward of torch._C._EngineBase object>",
    )
)

# TensorFlow's hand-overs between the devices of one machine: copies, and no talk with others.
_RENDEZVOUS = frozenset(("_Send", "_Recv", "_HostSend", "_HostRecv"))


def op_type(name: str) -> str:
    """The type of a framework op written as name:Type; "" for every other name."""
    if name.startswith("Iterator:"):
        return "Dataset"
    match = _OP.match(name)
    return match["type"] if match else ""


def work_category(name: str) -> Category:
    """The kind of work that a name stands for."""
    # HLO text can be megabytes, and begins with what it is.
    return _rule_category(_INSTANCE.sub("0", name[:_READ_LETTERS]))


@lru_cache(maxsize=1 << 16)
def _rule_category(name: str) -> Category:
    kind = op_type(name)
    if kind in _RENDEZVOUS:
        return Category.MEMORY
    if kind and kind != "Dataset":
        return _by_rules(kind.lower()) or Category.HOST
    operator = torch_ops.operator(name)
    if operator:
        operator_kind = torch_ops.kind(operator)
        if operator_kind:
            return Category(operator_kind)
        return _by_rules(operator.lower()) or Category.OTHER
    kernel_kind = kernel_names.kind(name)
    if kernel_kind is not None:
        return Category(kernel_kind)
    return _by_rules(name.lower()) or Category.OTHER


def _by_rules(lower_name: str) -> Category | None:
    """The category of the first rule that holds."""
    if not lower_name:
        return None
    return next((rule.kind for rule in _RULES if rule.holds(lower_name)), None)


def shade(name: str) -> int:
    """A number that is stable for an op, whatever its instance number: picks one of a category's
    few shades.
    """
    return zlib.crc32(_NUMBERED.sub("", name[:_READ_LETTERS]).encode("utf-8", "replace")) & 0xFF
