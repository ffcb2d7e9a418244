"""Protobuf messages made at run time: no generated code, so any protobuf from 4.21 on will do, pure
Python included.

For small messages only: `Event` reads tfevents; `XSpace` is what the tests hold the scanners
against (protobuf needs six times a profile's size in memory). The messages live in a pool of their
own, so a program that has TensorFlow loaded too sees no clash.

    from powertui.data.wire import schemas
    event = schemas.parsed("Event", record)
    event.wall_time, event.step, event.WhichOneof("what")

`parsed` raises `Undecodable` for bytes that are no such message (text that is no UTF-8 too),
whichever protobuf does the work: the compiled ones have one kind of error for that, the one in pure
Python (all that PyPI has for POWER) many.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from google.protobuf.message import Message

# message → fields as "name number type": [type] is repeated, {type} a map from int64, ":name" puts
# the field into a oneof, ":?" into one of its own, so that one can ask whether it is there. Only
# what a reader here looks at; protobuf keeps the rest as unknown fields. The profiler's results are
# in result_schemas.
_SCHEMAS: dict[str, str] = {
    # tensorflow/core/util/event.proto, framework/summary.proto, framework/tensor.proto
    "Event": """
        wall_time 1 double, step 2 int64,
        file_version 3 string :what, graph_def 4 bytes :what, summary 5 Summary :what,
        log_message 6 bytes :what, session_log 7 bytes :what, tagged_run_metadata 8 bytes :what,
        meta_graph_def 9 bytes :what
    """,
    "Summary": "value 1 [SummaryValue]",
    "SummaryValue": """
        node_name 7 string, tag 1 string, metadata 9 SummaryMetadata,
        simple_value 2 float :value, image 4 bytes :value, histo 5 bytes :value, audio 6 bytes
        :value, tensor 8 TensorProto :value
    """,
    "SummaryMetadata": (
        "plugin_data 1 PluginData, display_name 2 string, summary_description 3 "
        "string, data_class 4 int32"
    ),
    "PluginData": "plugin_name 1 string, content 2 bytes",
    "TensorProto": """
        dtype 1 int32, tensor_shape 2 TensorShape, version_number 3 int32, tensor_content 4 bytes,
        float_val 5 [float], double_val 6 [double], int_val 7 [int32], string_val 8 [bytes],
        int64_val 10 [int64], bool_val 11 [bool], half_val 13 [int32], uint32_val 16 [uint32],
        uint64_val 17 [uint64]
    """,
    "TensorShape": "dim 2 [TensorDim], unknown_rank 3 bool",
    "TensorDim": "size 1 int64, name 2 string",
    # tsl/profiler/protobuf/xplane.proto
    "XSpace": "planes 1 [XPlane], errors 2 [string], warnings 3 [string], hostnames 4 [string]",
    "XPlane": """
        id 1 int64, name 2 string, lines 3 [XLine], stats 6 [XStat],
        event_metadata 4 {XEventMetadata}, stat_metadata 5 {XStatMetadata}
    """,
    "XLine": """
        id 1 int64, display_id 10 int64, name 2 string, display_name 11 string,
        timestamp_ns 3 int64, duration_ps 9 int64, events 4 [XEvent]
    """,
    "XEvent": (
        "metadata_id 1 int64, offset_ps 2 int64 :data, num_occurrences 5 int64 :data, "
        "duration_ps 3 int64, stats 4 [XStat]"
    ),
    "XStat": """
        metadata_id 1 int64, double_value 2 double :value, uint64_value 3 uint64 :value, int64_value
        4 int64 :value, str_value 5 string :value, bytes_value 6 bytes :value, ref_value 7 uint64
        :value
    """,
    "XEventMetadata": (
        "id 1 int64, name 2 string, metadata 3 bytes, display_name 4 string, "
        "stats 5 [XStat], child_id 6 [int64]"
    ),
    "XStatMetadata": "id 1 int64, name 2 string, description 3 string",
    # tensorflow/core/profiler/protobuf/trace_events.proto; the entries of its maps by hand, with
    # keys as wide as any version's
    "TraceViewEntry": "key 1 int64, value 2 TraceViewDevice",
    "TraceViewDevice": "name 1 string, device_id 2 uint64, resources 3 [TraceViewLine]",
    "TraceViewLine": "key 1 int64, value 2 TraceViewResource",
    "TraceViewResource": "name 1 string, resource_id 2 uint64",
    "TraceViewEvent": "args 11 [TraceViewArg]",
    "TraceViewArg": "key 1 string, value 2 string",
    # protos/perfetto/trace: trace_packet, track_event, clock_snapshot, power_rails, process_tree
    "PerfettoInterned": """
        event_names 2 [PerfettoText], debug_annotation_names 3 [PerfettoText],
        debug_annotation_string_values 29 [PerfettoBytes]
    """,
    "PerfettoText": "iid 1 uint64, name 2 string",
    "PerfettoBytes": "iid 1 uint64, str 2 bytes",
    "PerfettoDefaults": (
        "timestamp_clock_id 58 uint32, track_event_defaults 11 PerfettoEventDefaults"
    ),
    "PerfettoEventDefaults": "track_uuid 11 uint64",
    "PerfettoTrack": """
        uuid 1 uint64, parent_uuid 5 uint64, name 2 string, static_name 10 string, atrace_name 13
        string, process 3 PerfettoProcess, thread 4 PerfettoThread, counter 8 PerfettoCounter
    """,
    "PerfettoProcess": "pid 1 int32, cmdline 2 [string], process_name 6 string",
    "PerfettoThread": "pid 1 int32, tid 2 int64, thread_name 5 string",
    "PerfettoCounter": (
        "type 1 int32, unit 3 int32, unit_name 6 string, unit_multiplier 4 "
        "int64, is_incremental 5 bool"
    ),
    "PerfettoClocks": "clocks 1 [PerfettoClock], primary_trace_clock 2 uint32",
    "PerfettoClock": (
        "clock_id 1 uint32, timestamp 2 uint64, is_incremental 3 bool, unit_multiplier_ns 4 uint64"
    ),
    "PerfettoTree": "processes 1 [PerfettoTreeProcess], threads 2 [PerfettoTreeThread]",
    "PerfettoTreeProcess": "pid 1 int32, cmdline 3 [string]",
    "PerfettoTreeThread": "tid 1 int32, name 2 string, tgid 3 int32",
    "PerfettoRails": "rail_descriptor 1 [PerfettoRail], energy_data 2 [PerfettoEnergy]",
    "PerfettoRail": "index 1 uint32, rail_name 2 string, subsys_name 3 string",
    "PerfettoEnergy": "index 1 uint32, timestamp_ms 2 uint64, energy 3 uint64",
    "PerfettoEvent": "debug_annotations 4 [PerfettoAnnotation]",
    "PerfettoFlows": """
        flow_ids 47 [fixed64], terminating_flow_ids 48 [fixed64], old_flow_ids 36 [uint64],
        old_terminating 42 [uint64]
    """,
    "PerfettoAnnotation": """
        name_iid 1 uint64, name 10 string, dict_entries 11 [PerfettoAnnotation], array_values 12
        [PerfettoAnnotation], bool_value 2 bool :value, uint_value 3 uint64 :value, int_value 4
        int64 :value, double_value 5 double :value, string_value 6 string :value, pointer_value 7
        uint64 :value, legacy_json_value 9 string :value, string_value_iid 17 uint64 :value
    """,
    # xla/service/hlo.proto, xla/xla_data.proto
    "HloProto": "hlo_module 1 HloModule, buffer_assignment 3 HloBufferAssignment",
    "HloModule": """
        name 1 string, entry_computation_name 2 string, computations 3 [HloComputation],
        id 5 int64, entry_computation_id 6 int64, stack_frame_index 17 HloFrames
    """,
    "HloComputation": "name 1 string, instructions 2 [HloInstruction], id 5 int64, root_id 6 int64",
    "HloInstruction": """
        name 1 string, opcode 2 string, shape 3 HloShape, metadata 7 HloMetadata,
        parameter_number 9 int64, fusion_kind 11 string, custom_call_target 28 string, id 35 int64,
        operand_ids 36 [int64], called_computation_ids 38 [int64], window 15 HloWindow,
        convolution_dimension_numbers 16 HloConvolution, dot_dimension_numbers 30 HloDot,
        feature_group_count 50 int64, batch_group_count 61 int64, backend_config 43 bytes
    """,
    "HloWindow": "dimensions 1 [HloWindowDimension]",
    "HloWindowDimension": """
        size 1 int64, stride 2 int64, padding_low 3 int64, padding_high 4 int64, window_dilation 5
        int64, base_dilation 6 int64
    """,
    "HloConvolution": """
        kernel_input_feature_dimension 3 int64, kernel_output_feature_dimension 4 int64,
        kernel_spatial_dimensions 6 [int64], input_batch_dimension 7 int64,
        input_feature_dimension 8 int64, input_spatial_dimensions 11 [int64],
        output_batch_dimension 9 int64, output_feature_dimension 10 int64,
        output_spatial_dimensions 12 [int64]
    """,
    "HloDot": "lhs_contracting_dimensions 1 [int64]",
    "HloMetadata": """
        op_type 1 string, op_name 2 string, source_file 3 string, source_line 4 int32,
        stack_frame_id 15 int32
    """,
    "HloFrames": "file_names 1 [string], file_locations 3 [HloLocation], stack_frames 4 [HloFrame]",
    "HloLocation": "file_name_id 1 int32, line 3 int32, column 4 int32",
    "HloFrame": "file_location_id 1 int32, parent_frame_id 2 int32",
    "HloBufferAssignment": """
        logical_buffers 1 [HloBuffer], buffer_allocations 3 [HloAllocation],
        heap_simulator_traces 4 [HloHeapTrace]
    """,
    "HloBuffer": "id 1 int64, size 2 int64, defined_at 3 HloDefined, color 4 int64",
    "HloDefined": "instruction_name 2 string, shape_index 3 [int64], instruction_id 4 int64",
    "HloAllocation": """
        index 1 int64, size 2 int64, is_thread_local 3 bool, is_reusable 4 bool,
        is_entry_computation_parameter 5 bool, maybe_live_out 7 bool, color 8 int64,
        assigned 9 [HloAssigned], is_tuple 11 bool, is_constant 12 bool
    """,
    "HloAssigned": "logical_buffer_id 1 int64, offset 2 int64, size 3 int64",
    "HloHeapTrace": "events 1 [HloHeapEvent], buffer_allocation_index 3 int64",
    "HloHeapEvent": """
        kind 1 int32, buffer_id 2 int64, instruction_name 4 string, share_with_canonical_id 5 int64
    """,
    "HloShape": (
        "element_type 2 int32, dimensions 3 [int64], tuple_shapes 4 [HloShape], layout 5 HloLayout"
    ),
    "HloLayout": "minor_to_major 1 [int64], tiles 6 [HloTile]",
    "HloTile": "dimensions 1 [int64]",
}

_PACKAGE = "powertui"


class Undecodable(ValueError):
    """Bytes that are not the message they should be."""


def parsed(name: str, data: bytes) -> Any:
    """These bytes as one of the messages above."""
    made = message(name)()
    try:
        size = made.MergeFromString(data)
    except (
        Exception
    ) as error:  # DecodeError, UnicodeDecodeError, struct.error, IndexError, RecursionError …
        raise Undecodable(f"{type(error).__name__}: {error}") from error
    if size < len(
        data
    ):  # the one that is compiled from C++ takes what stands before a group's end for the whole
        raise Undecodable(f"only {size} of its {len(data)} bytes are a message")
    return made


@cache
def message(name: str) -> type[Message]:
    """The class of one of the messages above."""
    from google.protobuf import message_factory

    pool = _pool(with_results=name not in _SCHEMAS)
    descriptor = pool.FindMessageTypeByName(f"{_PACKAGE}.{name}")
    if hasattr(message_factory, "GetMessageClass"):
        made: type[Message] = message_factory.GetMessageClass(descriptor)
    else:  # protobuf 4.21
        factory = message_factory.MessageFactory(pool)
        made = factory.GetPrototype(descriptor)  # type: ignore[attr-defined]
    return made


@cache
def _pool(*, with_results: bool) -> Any:
    from google.protobuf import descriptor_pb2, descriptor_pool

    messages = _SCHEMAS
    if with_results:
        from powertui.data.wire.result_schemas import RESULT_SCHEMAS

        messages = RESULT_SCHEMAS

    warnings.filterwarnings(
        "ignore", "Unexpected end-group tag", RuntimeWarning
    )  # `parsed` says it, as an error
    file = descriptor_pb2.FileDescriptorProto(
        name="powertui.proto",
        package=_PACKAGE,
        syntax="proto3",
    )
    for name, fields in messages.items():
        made = file.message_type.add(name=name)
        for line in fields.split(","):
            _add_field(made, line.split())
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return pool


def _add_field(made: Any, words: list[str]) -> None:
    from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field

    name, number, kind = words[:3]
    field = made.field.add(name=name, number=int(number), label=Field.LABEL_OPTIONAL)
    if kind[0] in "[{":
        field.label = Field.LABEL_REPEATED
    if kind[0] == "{":
        # a map is a repeated message with a key and a value, and a mark that it is one
        entry = made.nested_type.add(
            name="".join(part.title() for part in name.split("_")) + "Entry"
        )
        entry.options.map_entry = True
        _add_field(entry, ["key", "1", "int64"])
        _add_field(entry, ["value", "2", kind[1:-1]])
        kind = f"{made.name}.{entry.name}"
    kind = kind.strip("[]")
    if kind[0].isupper():
        field.type = Field.TYPE_MESSAGE
        field.type_name = f".{_PACKAGE}.{kind}"
    else:
        field.type = getattr(Field, f"TYPE_{kind.upper()}")
    if len(words) > 3:
        oneofs = [oneof.name for oneof in made.oneof_decl]
        if words[3] == ":?":
            oneof = f"{name}_if_there"
        else:
            oneof = words[3].lstrip(":")
        if oneof not in oneofs:
            made.oneof_decl.add(name=oneof)
            oneofs.append(oneof)
        field.oneof_index = oneofs.index(oneof)
