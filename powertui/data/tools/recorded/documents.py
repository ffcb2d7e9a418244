"""A result file of the profiler's own tools as a document: dictionaries, lists and plain values.

Protobuf results become the same kind of document as JSON ones, so that one set of rules makes
tables of both.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from powertui.data.formats.source import open_file
from powertui.data.limits import MemoryLimit
from powertui.data.logdir.entries import OtherFile
from powertui.data.wire import schemas
from powertui.errors import UnreadableFile

# The message in each protobuf result.
_MESSAGES = {
    "overview_page.pb": "OverviewPage",
    "input_pipeline.pb": "InputPipelineAnalysisResult",
    "tensorflow_stats.pb": "TfStatsDatabase",
    "framework_op_stats.pb": "TfStatsDatabase",
    "kernel_stats.pb": "KernelStatsDb",
}
# What a message of any type can hold, by the last part of its type's name.
_KNOWN_DETAILS = frozenset(
    (
        "PerGenericStepDetails",
        "GenericStepTimeBreakdown",
        "BottleneckAnalysis",
        "GenericRecommendation",
        "PerTpuStepDetails",
        "TpuStepTimeBreakdown",
        "TpuBottleneckAnalysis",
    )
)
# Documents take about ten times their text in memory (memory_profile.json of a T4: 9.6).
_MEMORY_OF_A_BYTE = 10

Document = Mapping[str, Any] | list[Any]


def readable_results(tool: str) -> bool:
    """Whether files of this suffix can be shown as tables."""
    return tool in _MESSAGES or tool.endswith((".json", ".json.gz"))


def read_document(file: OtherFile, limit: MemoryLimit) -> Document:
    """What a result file holds; nothing of an empty file.

    Raises `UnreadableFile`.
    """
    if not file.size:  # kernel_stats.pb of a run without a GPU has no byte, and is whole
        return {}
    source = open_file(file.path, limit)
    stored = source.stored()
    limit.check(file.path, stored.size * _MEMORY_OF_A_BYTE)
    data = stored.read(0, stored.size).tobytes()
    if file.tool in _MESSAGES:
        return _message(file, data)
    return _json(file, data)


def _message(file: OtherFile, data: bytes) -> dict[str, Any]:
    try:
        return _fields(schemas.parsed(_MESSAGES[file.tool], data))
    except (schemas.Undecodable, RecursionError) as error:
        raise UnreadableFile(
            file.path,
            f"is no {file.what} ({error})",
            hint="Copy it again from the machine that was profiled.",
        ) from None


def _fields(message: Any) -> dict[str, Any]:
    """Every field of a message, with the zeros that protobuf leaves out; of fields that came later
    those that are there.
    """
    if message.DESCRIPTOR.name == "ProtobufAny":
        return _unpacked(message)
    return {
        field.name: _field(message, field.name, is_message=field.message_type is not None)
        for field in message.DESCRIPTOR.fields
        if field.containing_oneof is None or message.HasField(field.name)
    }


def _field(message: Any, name: str, *, is_message: bool) -> Any:
    value = getattr(message, name)
    if isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, bytes):
        return value.hex()
    if not is_message:
        return list(value)
    if hasattr(value, "DESCRIPTOR"):
        if message.HasField(name):
            return _fields(value)
        return {}
    return [_fields(item) for item in value]


def _unpacked(message: Any) -> dict[str, Any]:
    """What a message of any type holds; of an unknown type only what it is."""
    kind = message.type_url.rpartition("/")[2].rpartition(".")[2]
    if kind in _KNOWN_DETAILS:
        return _fields(schemas.parsed(kind, message.value))
    if kind:
        return {"type": kind, "bytes": len(message.value)}
    return {}


def _json(file: OtherFile, data: bytes) -> Document:
    try:
        document = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise UnreadableFile(
            file.path,
            f"is not a JSON document ({type(error).__name__}: {error})",
            hint="Copy it again from the machine that was profiled.",
        ) from None
    if isinstance(document, dict | list):
        return document
    raise UnreadableFile(file.path, "holds one value and no table")
