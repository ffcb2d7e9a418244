"""What the names of events stand for on the threads of a host: a framework's call, an operation, a
frame of Python, a wait.
"""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Collection

import numpy as np

from powertui.data import torch_ops
from powertui.data.category import Category, work_category
from powertui.data.model import Bools, ProcessKind, Trace, UInt8s
from powertui.data.name_shapes import READ_CHARACTERS, beginning, name_shapes
from powertui.data.opened import Profile
from powertui.data.wire.types import CODES
from powertui.patterns import late_pattern

_COMPILED = late_pattern(r"compiled", re.IGNORECASE)
_COMPILE = late_pattern(
    r"graph_building|_compile\.|dynamo_timed|backend_compile|lower_sharding|trace_to_jaxpr"
    r"|::Compile|JitCompiler|XlaCompile|OptimizeGraph|TracingCompile"
)
_COLLECTIVE = late_pattern(
    r"(?i)^(?:psum|pmean|all[-_]?reduce|all[-_]?gather|reduce[-_]?scatter|all[-_]?to[-_]?all"
    r"|collective[-_]?(?:reduce|gather|permute|broadcast)|rendezvous|wait: pending_threads"
    r"|gloo:|mpi:|nccl:|c10d::)"
)
_WAITING_FRAME = late_pattern(
    r"(?i)\b(?:sleep|acquire|join|select|poll|recv(?:_into)?|accept|try_to_block|block_until_ready"
    r"|wait|epoll|_wait_for_tstate_lock)\b"
)
_CALLED_PYTHON = late_pattern(
    r"PyFunc\b|PyFunc:|PyFuncStateless|^(?:pure|io|debug)_callback|xla_(?:ffi_)?python_\w*callback"
)
_PROGRAM = late_pattern(r"^ThunkExecutor::Execute|^XlaModule|^Torch-Compiled Region")
_FUNCTION = late_pattern(r"^EagerLocalExecute: __inference_")
_COPY = late_pattern(
    r"^(?:tf\.constant|convert_to_tensor|EagerCopyToDevice|.*_EagerConst"
    r"|aten::(?:copy_|_to_copy|clone|contiguous)$)"
)
# Operators of PyTorch that describe the same memory anew: nothing is copied.
_VIEW = late_pattern(
    r"^aten::(?:alias|as_strided|detach|expand|narrow|permute|_reshape_alias|select|slice|squeeze"
    r"|t|transpose|unbind|unsqueeze|view)$"
)
# Operators that read one number, and wait for a device that may hold it.
_READ = late_pattern(r"^aten::(?:item|_local_scalar_dense)$")
# On a host PyTorch's products look at their arguments with these, two or three each; on a device it
# had 0.02 to 0.07 a product in four traces.
_ARGUMENT_OF_HOST = "aten::resolve_conj"
_PRODUCTS = ("aten::mm", "aten::addmm")
# XLA's threads for the CPU, and TensorFlow's operators of oneDNN, which are for the CPU alone.
POOL_OF_XLA = late_pattern(r"^tf_XLA\w*Cpu")
_OP_OF_HOST = late_pattern(r":_Mkl\w+$")
_FUSION = late_pattern(r"_fusion(?:\.\d+)*$")
_PROFILER = late_pattern(r"profiler\w*\.py(?::\d+|\(\d+\):) (?:stop|start|_stop|_start|trace\b)")
_OPERATIONS = frozenset(
    (
        Category.MATMUL,
        Category.CONVOLUTION,
        Category.ELEMENTWISE,
        Category.REDUCTION,
        Category.NORMALIZATION,
        Category.OPTIMIZER,
        Category.HOST,
    )
)


class NameClass(enum.IntEnum):
    """What a name stands for on a thread of the host."""

    SILENT = 0
    WAIT = 1
    FRAME = 2
    WAITING_FRAME = 3
    RUNTIME = 4
    OPERATION = 5
    COPY = 6
    COMPILE = 8
    COLLECTIVE = 9
    PROFILER = 10
    PROGRAM = 11
    INPUT_AHEAD = 7  # preparing batches
    CALLED_PYTHON = 13  # an operation that calls a function of Python
    FUNCTION = 12  # a call of a function of TensorFlow: by itself it only prepares


# Calls of the framework, of whatever kind.
CALLS = (
    NameClass.RUNTIME,
    NameClass.OPERATION,
    NameClass.COPY,
    NameClass.INPUT_AHEAD,
    NameClass.CALLED_PYTHON,
    NameClass.COMPILE,
    NameClass.COLLECTIVE,
    NameClass.PROGRAM,
    NameClass.FUNCTION,
)


# What an event says of the events inside it, where these say nothing themselves.
_INHERITED = (
    NameClass.CALLED_PYTHON,
    NameClass.INPUT_AHEAD,
    NameClass.OPERATION,
    NameClass.COPY,
    NameClass.COLLECTIVE,
)
_INHERITING = (NameClass.SILENT, NameClass.RUNTIME, NameClass.WAIT)


@functools.cache
def inheritance() -> UInt8s:
    """[class of an event, class of one inside it]: what the inner one counts for.

    A call inside an operation counts for that operation, and all that is done to compile for
    compiling.
    """
    table: UInt8s = np.tile(np.arange(CODES, dtype=np.uint8), (CODES, 1))
    for outer in _INHERITED:
        table[outer, list(_INHERITING)] = outer
    table[NameClass.COMPILE] = NameClass.COMPILE
    return table


def any_class(classes: UInt8s, chosen: Collection[NameClass]) -> Bools:
    """Which of these are one of the chosen ones: a look into a table of 256, faster than `isin`."""
    is_chosen = np.zeros(256, np.bool_)
    is_chosen[list(chosen)] = True
    return np.asarray(is_chosen.take(classes), np.bool_)


def name_classes(profile: Profile) -> UInt8s:
    """What each name of a trace stands for on a host, as `NameClass`. Made once."""
    names = profile.trace.names
    return profile.cached("name classes", lambda: name_shapes(names).numbers(name_class, np.uint8))


def computes_on_host(profile: Profile) -> bool:
    """Whether what the program computes certainly runs on the host. A trace without devices may be
    that of a program whose device was not recorded: any of its operators may wait for it.
    """
    return profile.cached("computes on host", lambda: _computes_on_host(profile))


def _computes_on_host(profile: Profile) -> bool:
    trace = profile.trace
    if any(
        process.kind is ProcessKind.DEVICE and process.event_count for process in trace.processes
    ):
        return False
    if any(POOL_OF_XLA.search(track.name) for _, _, track in trace.threads()):
        return True
    if name_shapes(trace.names).found(_OP_OF_HOST).any():
        return True
    return _multiplies_on_host(trace)


def _multiplies_on_host(trace: Trace) -> bool:
    """Whether PyTorch looks at the arguments of its products as it does on a host."""
    is_argument = beginning(trace.names, _ARGUMENT_OF_HOST, whole=True)
    is_product = beginning(trace.names, *_PRODUCTS, whole=True)
    if not is_argument.any() or not is_product.any():
        return False
    argument_count = 0
    product_count = 0
    for _, _, track in trace.threads():
        argument_count += np.count_nonzero(is_argument.take(track.events.name))
        product_count += np.count_nonzero(is_product.take(track.events.name))
    return argument_count > product_count > 0


def without_copies(profile: Profile) -> Bools:
    """Which names of a trace stand for operators that neither copy nor compute."""
    shapes = name_shapes(profile.trace.names)
    is_without_copy = shapes.found(_VIEW)
    reads = shapes.found(_READ)
    if reads.any() and computes_on_host(profile):
        is_without_copy |= reads
    return is_without_copy


def name_class(name: str) -> NameClass:
    """What one name stands for on a thread of a host."""
    short = name[:READ_CHARACTERS]
    category = work_category(short)
    if category is Category.PYTHON:
        return _frame_class(short)
    if _COLLECTIVE.search(short) or category is Category.COMMUNICATION:
        return NameClass.COLLECTIVE
    if _COMPILE.search(short) or (category is Category.COMPILE and not _COMPILED.search(short)):
        return NameClass.COMPILE
    if _CALLED_PYTHON.search(short):
        return NameClass.CALLED_PYTHON
    if category is Category.INPUT:
        return NameClass.INPUT_AHEAD
    if _PROGRAM.search(short):
        return NameClass.PROGRAM
    if _FUNCTION.search(short):
        return NameClass.FUNCTION
    if category is Category.IDLE:
        return NameClass.WAIT
    if category is Category.MEMORY or _COPY.search(short):
        # A fusion that copies is part of a compiled program: nobody asked for a copy.
        if _FUSION.search(short):
            return NameClass.OPERATION
        return NameClass.COPY
    if category in _OPERATIONS:
        return NameClass.OPERATION
    if category is Category.OTHER and torch_ops.operator(short):
        return NameClass.OPERATION  # of whatever kind it is, it is no call around operators
    return NameClass.RUNTIME


def _frame_class(name: str) -> NameClass:
    if _PROFILER.search(name):
        return NameClass.PROFILER
    if _WAITING_FRAME.search(name):
        return NameClass.WAITING_FRAME
    return NameClass.FRAME
