"""Tables of rocprofv3 and traces of TensorFlow that are large in one respect."""

from __future__ import annotations

from collections.abc import Callable

from tests.adversarial.sizes.protobuf import length_delimited, messages, number
from tests.adversarial.sizes.shapes import Pieces, Shape, joined

_ROCPROF_HEAD = (
    '"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name",'
    '"Correlation_Id",'
    '"Start_Timestamp","End_Timestamp","LDS_Block_Size","Scratch_Size","VGPR_Count",'
    '"Accum_VGPR_Count","SGPR_Count",'
    '"Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y",'
    '"Grid_Size_Z"\n'
)


def _dispatches(row: Callable[[int], tuple[str, int, str]]) -> Callable[[int], Pieces]:
    """rocprofv3's table: (agent, queue, kernel) of each dispatch."""

    def text(i: int) -> str:
        agent, queue, kernel = row(i)
        return (
            f'"KERNEL_DISPATCH","{agent}",{queue},0,1,{i},1,"{kernel}",{i},{1000 + i},{1001 + i},'
            "0,0,0,0,0,1,1,1,1,1,1"
        )

    def pieces(count: int) -> Pieces:
        yield _ROCPROF_HEAD.encode()
        yield from joined((text(i) for i in range(count)), "\n")
        yield b"\n"

    return pieces


ROCPROF = (
    Shape(
        "rocprof: agents",
        "1_kernel_trace.csv",
        _dispatches(lambda i: (f"Agent {i}", 1, "k")),
        300_000,
    ),
    Shape(
        "rocprof: queues", "1_kernel_trace.csv", _dispatches(lambda i: ("Agent 4", i, "k")), 300_000
    ),
    Shape(
        "rocprof: kernels",
        "1_kernel_trace.csv",
        _dispatches(lambda i: ("Agent 4", 1, f"k{i}")),
        300_000,
    ),
)

_TF_DEVICE = length_delimited(
    1, number(1, 1) + length_delimited(2, length_delimited(1, b"host") + number(2, 1))
)


def _tf_event(i: int, device: int = 1, resource: int = 1, name: bytes = b"op") -> bytes:
    return length_delimited(
        4,
        number(1, device)
        + number(2, resource)
        + length_delimited(3, name)
        + number(9, i)
        + number(10, 1),
    )


def _tf_device(i: int) -> bytes:
    return length_delimited(
        1, number(1, i) + length_delimited(2, length_delimited(1, b"d%d" % i) + number(2, i))
    ) + _tf_event(i, device=i)


TF_TRACE = (
    Shape("tf_trace: devices", "host.trace", messages(_tf_device), 300_000),
    Shape(
        "tf_trace: resources",
        "host.trace",
        messages(lambda i: _tf_event(i, resource=i), _TF_DEVICE),
        300_000,
    ),
    Shape(
        "tf_trace: names",
        "host.trace",
        messages(lambda i: _tf_event(i, name=b"op%d" % i), _TF_DEVICE),
        500_000,
    ),
)
