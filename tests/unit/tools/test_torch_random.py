"""Random PyTorch traces against a reference that is written from TraceLens's rules, in plain
Python: several threads, devices and streams that overlap, collectives under computing, copies and
sets by every name, graphs, work of calls that are not there.
"""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from powertui.data import logdir
from powertui.data.opened import Opened
from powertui.data.tools import registry
from powertui.data.tools.registry import Question
from tests import answers

COMM = re.compile(r"nccl|rccl|cross_device_reduce", re.IGNORECASE)
COPY = re.compile(
    r"MEMORY_COPY_(HOST_TO_DEVICE|DEVICE_TO_HOST|DEVICE_TO_DEVICE)|__amd_rocclr_copyBuffer(Rect)?(Aligned)?(\.kd)?"
)
KERNELS = (
    "gemm_kernel",
    "void at::native::vectorized_elementwise_kernel<4>(int)",
    "ncclDevKernel_AllReduce_Sum_f32",
    "RCCL_ring",
    "vllm::cross_device_reduce_1stage<half>",
    "__amd_rocclr_copyBuffer.kd",
    "__amd_rocclr_copyBufferRectAligned",
    "__amd_rocclr_fillBufferAligned",
    "MEMORY_COPY_HOST_TO_DEVICE",
    "triton_poi_fused_add",
)
CALLS = (
    "cudaLaunchKernel",
    "cuLaunchKernelEx",
    "hipLaunchKernel",
    "cudaGraphLaunch",
    "cudaMemcpyAsync",
    "hipMemsetAsync",
)
OPS = ("aten::mm", "aten::add", "aten::conv2d", "execute", "MmBackward0", "record_param_comms")


class Work(NamedTuple):
    """What ran on a device."""

    category: str
    name: str
    stream: int
    start: float
    end: float
    correlation: int


class Host(NamedTuple):
    """An operator or a call, and what is above it."""

    name: str
    operator: bool
    parent: int


def write(path: Path, lot: random.Random) -> tuple[list[Host], dict[int, int], list[Work]]:
    """A trace: (host events, the call of each correlation, work of devices)."""
    events: list[dict[str, Any]] = []
    hosts: list[Host] = []
    call_of: dict[int, int] = {}
    works: list[Work] = []
    correlation = 1

    def host(cat: str, name: str, tid: int, lo: int, hi: int, parent: int, **args: Any) -> int:
        events.append(
            {
                "ph": "X",
                "cat": cat,
                "name": name,
                "pid": 99,
                "tid": tid,
                "ts": lo / 8,
                "dur": (hi - lo) / 8,
                "args": args,
            }
        )
        hosts.append(Host(name, cat == "cpu_op", parent))
        return len(hosts) - 1

    def fill(tid: int, lo: int, hi: int, parent: int, depth: int) -> None:
        nonlocal correlation
        at = lo + lot.randrange(1, 9)
        while at + 60 < hi:
            end = at + lot.randrange(50, max(51, (hi - at) // 2))
            if depth < 4 and lot.random() < 0.6:
                fill(
                    tid,
                    at,
                    end,
                    host(
                        "cpu_op",
                        lot.choice(OPS),
                        tid,
                        at,
                        end,
                        parent,
                        **{"External id": len(hosts)},
                    ),
                    depth + 1,
                )
            else:
                name = lot.choice(CALLS)
                cat = (
                    "cuda_driver" if name.startswith("cu") and name[2].isupper() else "cuda_runtime"
                )
                call_of[correlation] = host(
                    cat, name, tid, at, at + 8, parent, correlation=correlation
                )
                for _ in range(
                    lot.choice((0, 1, 1, 1, 4))
                    if name != "cudaGraphLaunch"
                    else lot.randrange(1, 9)
                ):
                    launched(at, correlation)
                correlation += 1
                end = at + 8
            at = end + lot.randrange(1, 40)

    def launched(at: int, key: int) -> None:
        kind = lot.choice(("kernel", "kernel", "kernel", "gpu_memcpy", "gpu_memset"))
        name = (
            lot.choice(KERNELS)
            if kind == "kernel"
            else "Memcpy HtoD (Host -> Device)"
            if kind == "gpu_memcpy"
            else "Memset (Device)"
        )
        lo = at + lot.randrange(20, 4000)
        hi = lo + lot.randrange(1, 900)
        stream, device = lot.choice((0, 7, 20)), lot.choice((0, 0, 1))
        args = {"device": device, "stream": stream, "correlation": key}
        events.append(
            {
                "ph": "X",
                "cat": kind,
                "name": name,
                "pid": device,
                "tid": stream,
                "ts": lo / 8,
                "dur": (hi - lo) / 8,
                "args": args,
            }
        )
        works.append(Work(kind, name, stream, lo / 8, hi / 8, key))

    for tid in range(1, lot.randrange(2, 4)):
        fill(tid, 0, lot.randrange(3000, 9000), -1, 0)
    for key in range(10**6, 10**6 + lot.randrange(5)):
        launched(lot.randrange(3000), key)
    for name in ("ProfilerStep#1", "nccl:all_reduce"):  # annotations count for nothing
        events.append(
            {
                "ph": "X",
                "cat": "gpu_user_annotation",
                "name": name,
                "pid": 0,
                "tid": 7,
                "ts": 0,
                "dur": 9999,
                "args": {"stream": 7},
            }
        )
    lot.shuffle(events)
    path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [], "traceEvents": events}))
    return hosts, call_of, works


def union(some: list[Work]) -> float:
    """The length of what these cover."""
    total, until = 0.0, float("-inf")
    for work in sorted(some, key=lambda work: work.start):
        total += max(0.0, work.end - max(work.start, until))
        until = max(until, work.end)
    return total


def is_comm(work: Work) -> bool:
    return work.category != "gpu_memcpy" and COMM.search(work.name) is not None


def is_copy(work: Work) -> bool:
    return work.category == "gpu_memcpy" or (
        work.category == "kernel" and COPY.fullmatch(work.name) is not None
    )


@pytest.mark.parametrize("seed", range(25))
def test_every_table_is_that_of_the_rules(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "w.pt.trace.json"
    hosts, call_of, works = write(path, random.Random(seed))
    opened = Opened(logdir.scan(path).runs[0])

    def rows(tool: str) -> list[dict[str, Any]]:
        return answers.rows(registry.get(tool).answer(Question(opened, 0, None, None))[tool])

    linked = [work for work in works if work.correlation in call_of]
    assert linked
    comm = [work for work in linked if is_comm(work)]
    copies = [work for work in linked if is_copy(work) and not is_comm(work)]
    compute = [work for work in linked if work not in comm and work not in copies]
    total = max(work.end for work in linked) - min(work.start for work in linked)
    busy = union(linked)
    wanted = {
        "computation_time": union(compute),
        "exposed_comm_time": union(compute + comm) - union(compute),
        "exposed_memcpy_time": busy - union(compute + comm),
        "busy_time": busy,
        "idle_time": total - busy,
        "total_time": total,
        "total_comm_time": union(comm),
        "total_memcpy_time": union(copies),
    }
    assert {row["type"]: row["time ms"] * 1000 for row in rows("gpu_timeline")} == pytest.approx(
        wanted, abs=1e-6
    )

    direct: dict[int, list[Work]] = defaultdict(list)
    below: dict[int, list[Work]] = defaultdict(list)
    for work in linked:
        if is_comm(work):
            continue
        at = call = call_of[work.correlation]
        while at >= 0 and (not hosts[at].operator or hosts[at].name == "execute"):
            at = hosts[at].parent
        direct[at if at >= 0 else call].append(work)
        at = call
        while at >= 0:
            below[at].append(work)
            at = hosts[at].parent
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0])
    for at, mine in direct.items():
        one = sums[hosts[at].name]
        one[0] += union(mine)
        one[1] += union(below[at])
        one[2] += 1
    told = {
        row["name"]: [
            row["total_direct_kernel_time_sum"],
            row["total_subtree_kernel_time_sum"],
            row["Count"],
        ]
        for row in rows("ops_summary")
    }
    assert set(told) == set(sums)
    for name, values in sums.items():
        assert told[name] == pytest.approx(values, abs=1e-6), name

    kernels: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for work in works:
        if work.category == "kernel":
            at = call_of.get(work.correlation, -1)
            launcher = hosts[at].name if at >= 0 else ""
            while at >= 0 and not hosts[at].operator:
                at = hosts[at].parent
            kernels[hosts[at].name if at >= 0 else launcher, work.name, str(work.stream)].append(
                work.end - work.start
            )
    summed: dict[tuple[str, str, str], float] = defaultdict(float)
    counted: dict[tuple[str, str, str], int] = defaultdict(int)
    for row in rows("kernel_summary"):
        key = (row["Parent cpu_op"] or "", row["Kernel name"], str(row["Kernel stream"]))
        summed[key] += row["Kernel duration (µs)_sum"]
        counted[key] += row["Kernel duration (µs)_count"]
    assert counted == {key: len(mine) for key, mine in kernels.items()}
    assert summed == pytest.approx({key: sum(mine) for key, mine in kernels.items()}, abs=1e-6)
