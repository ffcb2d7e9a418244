"""Which ops the names of events stand for, by the rules of TensorFlow's profiler.

An op is written `name:Type`; an iterator `Iterator::…`; a copy by CUPTI's words. Whatever has
another form is a mark that a program or a runtime set, and no op.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from powertui.data import category, texts
from powertui.data.asked import Compat
from powertui.data.model import Bools, Int32s, Names
from powertui.data.name_shapes import has_instance_number, name_shapes
from powertui.data.tools import launched_kinds
from powertui.named_tuples import NamedTuple
from powertui.patterns import late_pattern

_DATASET = "Dataset"
_NAMED_BEFORE_COLON = ("tf", "jax")  # ops of these forms are written name:Type
UNKNOWN = "Unknown"

_NAME = late_pattern(r"[A-Za-z0-9.][A-Za-z0-9_./>\\-]*")
_NAME_TF2 = late_pattern(
    r"[A-Za-z0-9.][A-Za-z0-9_./\\]*"
)  # up to TensorFlow 2.1x: layout optimisers' names with a - were unknown
# Functions of TensorFlow that XLA compiles: "__inference_train_12:__inference_train_12".
_FUNCTION = late_pattern(r"_[A-Za-z0-9_./>\\-]*")
_TYPE = late_pattern(r"[A-Z_][a-zA-Z0-9_]*")
_JAX_TYPE = late_pattern(r"[a-z_][a-z0-9_]*(?:\[.*\])?", re.DOTALL)
_COPY = late_pattern(r"MEMCPY(?:HToD|DToH|DToD|HToH)", re.IGNORECASE)
_TAIL = late_pattern(r"_\d+$")


class OpName(NamedTuple):
    """One op: its name without the type, its type, and which of the forms it has ("" for none of
    them).
    """

    name: str
    type: str
    form: str  # "tf", "jax", "dataset", "copy", "hlo", "torch"; "" for none


def parsed(full: str, compat: Compat = "corrected") -> OpName:
    """What a full name stands for."""
    name, colon, op_type = full.partition(":")
    unknown = OpName(full, "" if compat == "xprof" else UNKNOWN, "")
    if not colon:
        copy = _COPY.match(full)
        if copy is not None:
            return OpName(full, _copy_type(copy[0]), "copy")
        return unknown
    # "Iterator::Prefetch": the name of a tf.data iterator has its path behind the colon.
    if name == "Iterator":
        return OpName(full, _DATASET, "dataset")
    pattern = _NAME_TF2 if compat == "tf2" else _NAME
    is_name = pattern.fullmatch(name) is not None
    if is_name and _TYPE.fullmatch(op_type):
        return OpName(name, op_type, "tf")
    if not is_name and not _may_be_function(name, compat):
        return unknown
    if _JAX_TYPE.fullmatch(op_type):
        return OpName(name, op_type.partition("[")[0], "jax")
    if not op_type:
        # "dense/MatMul_1:": the type is the end of the path, without an instance's number.
        derived = _TAIL.sub("", name.rpartition("/")[2])
        if is_name or _TYPE.fullmatch(derived) or _JAX_TYPE.fullmatch(derived):
            return OpName(name, derived, "tf")
    return unknown


def _may_be_function(name: str, compat: Compat) -> bool:
    """Whether what is no name of an op may have a type of JAX's form all the same; to the converter
    of 2026 every text may.
    """
    if compat == "xprof":
        return True
    return compat == "corrected" and _FUNCTION.fullmatch(name) is not None


_INSTANCE = late_pattern(r"(?:\.\d+)+$")


def of_hlo(provenance: str, compat: Compat = "corrected") -> OpName:
    """The framework's op that an HLO op came of.

    JAX names no type: it is the end of the path, without an instance's number.
    """
    if ":" in provenance:
        return parsed(provenance, compat)
    end_of_path = provenance.rpartition("/")[2]
    return OpName(provenance, _TAIL.sub("", end_of_path) or UNKNOWN, "")


def hlo(name: str) -> OpName:
    """An op of XLA's: its type is its name without the number of the instance."""
    return OpName(name, _INSTANCE.sub("", name) or UNKNOWN, "hlo")


def torch(name: str) -> OpName:
    """An operator of PyTorch's: its type is the kind of its work."""
    kind = launched_kinds.operator_kind(name) or category.work_category(name)
    return OpName(name, kind.value, "torch")


def _copy_type(text: str) -> str:
    """In whatever case it is written, as TensorFlow's profiler calls it: MemcpyHToD."""
    return f"Memcpy{text[-4].upper()}To{text[-1].upper()}"


class OpTable:
    """Ops by the order in which they came up.

    Names are told apart; a further type of the same name changes nothing. An op is made when it is
    looked at: a program may have a million, and a page shows ten.
    """

    def __init__(self) -> None:
        self._number: dict[str, int] = {}
        self._likes: list[OpName] = []  # for each op one of its type and form
        self.names: list[str] = []

    def index(self, op: OpName) -> int:
        """The number of an op."""
        return self.number(op.name, op)

    def number(self, name: str, like: OpName) -> int:
        """The number of the op of this name; a new one is of the type and form of another."""
        count = len(self.names)
        number = self._number.setdefault(name, count)
        if number == count:
            self.names.append(name)
            self._likes.append(like)
        return number

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, number: int) -> OpName:
        like = self._likes[number]
        return OpName(self.names[number], like.type, like.form)

    def __iter__(self) -> Iterator[OpName]:
        return map(self.__getitem__, range(len(self)))


def op_numbers(names: Names, used: Bools, table: OpTable, compat: Compat) -> Int32s:
    """For each name the number of its op in the table, -1 for what is no op.

    Only names that are used are looked at, and each shape of them is parsed once.
    """
    shapes = name_shapes(names)
    ops = shapes.answers(lambda name: parsed(name, compat))
    has_numbers = [has_instance_number(f":{op.type}") for op in ops]
    is_op = np.array([bool(op.form) for op in ops], np.bool_)
    op_of_name = np.full(len(names), -1, np.int32)
    rows = np.flatnonzero(used & is_op.take(shapes.of_name))
    for begin in range(0, len(rows), texts.BATCH):
        batch = rows[begin : begin + texts.BATCH]
        numbers = []
        for shape, text in zip(
            shapes.of_name[batch].tolist(),
            names.texts(batch).strings(),
            strict=True,
        ):
            op = ops[shape]
            if has_numbers[shape]:
                op = parsed(text, compat)
            name = text.partition(":")[0] if op.form in _NAMED_BEFORE_COLON else text
            numbers.append(table.number(name, op))
        op_of_name[batch] = numbers
    return op_of_name
