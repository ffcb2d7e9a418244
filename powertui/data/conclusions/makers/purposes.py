"""What functions and operations are for, as far as their names show.

Operators have names with other meanings: the backward pass of PyTorch is "evaluate_function", a
logarithm is "log", and memory is given another size by "resize". They have no purpose.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum

from powertui.data import torch_ops
from powertui.data.category import Category, op_type, work_category
from powertui.data.jax_ops import is_single_operation
from powertui.patterns import late_pattern


class Purpose(Enum):
    """What a function is for, as far as its name shows."""

    GARBAGE = "garbage"
    CHECKPOINT = "checkpoint"
    VALIDATION = "validation"
    LOGGING = "logging"
    CALLBACK = "callback"
    INPUT = "input"
    WAIT = "wait"


_WORDS: dict[Purpose, tuple[str, ...]] = {
    # The most telling first: a callback that saves is a checkpoint.
    Purpose.GARBAGE: (
        r"\bgc\W+collect\b",
        r"built-in (?:function|method) collect\b",
        r"\$gc\b",
    ),
    Purpose.CHECKPOINT: (
        r"check_?point",
        r"\bsavez?(?:_|\b)|_save(?:_|\b)",
        # json.dump writes whatever somebody wants to read: "dump in __init__.py" of Python's json.
        r"serializ|pickle|state_dict|orbax",
        r"(?<!__init__\.py:\d{3} )(?<!__init__\.py\(\d{3}\): )\bdump",
        r"SaveV2|SaveSlices|ShardedFilename",
    ),
    Purpose.VALIDATION: (
        r"(?:^|[^a-z])(?:eval|valid(?!ate_?(?:input|arg|shape))|test_step|predict)",
    ),
    Purpose.LOGGING: (
        r"summary|histogram|add_scalar|metrics?_writer|report",
        r"(?:write|record|flush|append|post|push|send|publish|upload)_(?:scalars?|metrics?|stat(?:s|istics)|loss(?:es)?)\b",
        r"(?:^|[^a-z])log(?:s|ger|ging|_|\b)|\bprint\b",
        r"wandb|mlflow|tensorboard",
    ),
    Purpose.CALLBACK: (r"callback|\bon_(?:train|test|epoch|batch|predict)|_hook\b",),
    Purpose.INPUT: (
        r"__getitem__|data_?load|pre_?fetch|collate|decode|augment|resize|im_?read|pre_?process|tokeni[sz]",
        r"(?:^|[^a-z])(?:load|read|fetch|prepare)_|next_batch|next_data|transform_",
    ),
    Purpose.WAIT: (r"\b(?:sleep|acquire|lock|select|poll|recv|wait|accept)\b",),
}
_PURPOSES = tuple(
    (purpose, late_pattern("|".join(words), re.IGNORECASE)) for purpose, words in _WORDS.items()
)
# Operations that decide what a stretch between steps is for, however short they are.
DECISIVE: tuple[tuple[Purpose, re.Pattern[str]], ...] = (
    (Purpose.LOGGING, late_pattern(r"Write\w*Summary|FlushSummaryWriter|HistogramSummary")),
    (Purpose.CHECKPOINT, late_pattern(r"SaveV2|ShardedFilename|MergeV2Checkpoints|torch::save")),
)
# PyTorch's own names, an op of TensorFlow alone or called eagerly, and instructions of XLA.
_TORCH = late_pattern(r"^(?:aten|prims|autograd::engine|torch::autograd)::")
# Python that compiles a program, and the code that it makes: nothing there knows what it is
# for, though "eval_frame.py" and "eval_jaxpr" sound so.
_COMPILER = late_pattern(
    r"<eval_with_key>|eval_frame|guard_eval|(?:partial|abstract)_eval|eval_(?:jaxpr|shape)"
    r"|torch[/\\](?:_dynamo|_inductor|_functorch|_subclasses|_logging|fx)[/\\]|torch[/\\]_guards\.py"
)
_BARE_OP = late_pattern(
    r"^(?:Eager(?:Local)?Execute: )?[A-Z][A-Za-z0-9]*$"
    r"|^[a-z][a-z_-]*(?:\.\d+)+$|_fusion(?:\.\d+)*$"
)
_NUMERIC = frozenset(
    (
        Category.MATMUL,
        Category.CONVOLUTION,
        Category.ELEMENTWISE,
        Category.REDUCTION,
        Category.NORMALIZATION,
        Category.OPTIMIZER,
        Category.MEMORY,
    )
)


def purpose_of(names: Iterable[str]) -> Purpose | None:
    """What the first of the purposes is that any of these names shows."""
    telling = [name for name in names if not _computes(name)]
    for purpose, pattern in _PURPOSES:
        if any(pattern.search(name) for name in telling):
            return purpose
    return None


def _computes(name: str) -> bool:
    """Whether it is an operator on numbers, whose name is no word about the program."""
    if (
        _TORCH.match(name)
        or _COMPILER.search(name)
        or torch_ops.operator(name)
        or is_single_operation(name)
    ):
        return True
    is_op = bool(op_type(name)) or _BARE_OP.search(name) is not None
    return is_op and work_category(name.rpartition(": ")[2]) in _NUMERIC
