"""Exports of Nsight Systems, made after the documented schemas of three versions.

2020.1 and 2022.4 after NVIDIA's "SQLite Export Schema Reference", 2025.6 after the columns that
public programs read from its exports. No recorded export lies here.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

VERSIONS = ("2020.1", "2022.4", "2025.6")
EPOCH_NS = 1_790_000_000_000_000_000
PIDS = (4711, 4712)
STEPS = 12  # of each process
KERNELS = ("void gemm<float>(float*, int)", "elementwise_add", "ncclDevKernel_AllReduce")

_KERNEL = """start {t}, end {t}, deviceId {t}, contextId {t}, streamId {t}, correlationId INTEGER,
 globalPid INTEGER, demangledName {t}, shortName {t}, registersPerThread {t}, gridX {t},
 gridY {t}, gridZ {t}, blockX {t}, blockY {t}, blockZ {t}, staticSharedMemory {t},
 dynamicSharedMemory {t}, localMemoryPerThread {t}"""
_WORK = """start {t}, end {t}, deviceId {t}, contextId {t}, streamId {t}, correlationId INTEGER,
 globalPid INTEGER, bytes {t}"""
_CALL = """start {t}, end {t}, eventClass {t}, globalTid INTEGER, correlationId INTEGER,
 nameId {t}, returnValue {t}"""
_RANGE = """start {t}, end INTEGER, eventType {t}, rangeId INTEGER, category INTEGER, color
 INTEGER, text TEXT, globalTid INTEGER, textId INTEGER, domainId INTEGER"""


def global_tid(pid: int, tid: int = 0) -> int:
    """As Nsight Systems packs machine, process and thread."""
    return 1 << 48 | pid << 24 | tid


def _tables(version: str) -> dict[str, str]:
    # The first versions declare all NOT NULL, and write no process, no names and no clock.
    kind = "INT NOT NULL" if version == "2020.1" else "INTEGER NOT NULL"
    extra = "" if version == "2020.1" else ", mangledName INTEGER, graphNodeId INTEGER"
    extra += ", greenContextId INTEGER" if version == "2025.6" else ""
    tables = {
        "StringIds": "id INTEGER PRIMARY KEY, value TEXT NOT NULL",
        "CUPTI_ACTIVITY_KIND_KERNEL": _KERNEL.format(t=kind) + extra,
        "CUPTI_ACTIVITY_KIND_MEMCPY": _WORK.format(t=kind) + f", copyKind {kind}",
        "CUPTI_ACTIVITY_KIND_MEMSET": _WORK.format(t=kind) + f", value {kind}",
        "CUPTI_ACTIVITY_KIND_RUNTIME": _CALL.format(t=kind),
        "NVTX_EVENTS": _RANGE.format(t=kind),
    }
    if version == "2020.1":
        return tables
    tables |= {
        "PROCESSES": "globalPid INTEGER, pid INTEGER, name TEXT",
        "ThreadNames": "nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER",
        "TARGET_INFO_GPU": "vmId INTEGER, id INTEGER, name TEXT, uuid TEXT, busLocation TEXT, "
        "totalMemory INTEGER, smCount INTEGER, computeMajor INTEGER, computeMinor INTEGER",
        "TARGET_INFO_CUDA_DEVICE": "gpuId INTEGER, cudaId INTEGER, pid INTEGER, uuid TEXT",
        "TARGET_INFO_SESSION_START_TIME": "utcEpochNs INTEGER, utcTime TEXT, localTime TEXT",
        "CUDA_GPU_MEMORY_USAGE_EVENTS": "start INTEGER NOT NULL, globalPid INTEGER NOT NULL, "
        "deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, address INTEGER NOT NULL, "
        "pc INTEGER NOT NULL, bytes INTEGER NOT NULL, memKind INTEGER NOT NULL, "
        "memoryOperationType INTEGER NOT NULL",
        "GPU_METRICS": "timestamp INTEGER, typeId INTEGER, metricId INTEGER, value INTEGER",
        "TARGET_INFO_GPU_METRICS": "typeId INTEGER, sourceId INTEGER, typeName TEXT, "
        "metricId INTEGER, metricName TEXT",
    }
    tables["OSRT_API"] = _CALL.format(t=kind) + ", nestingLevel INTEGER, callchainId INTEGER"
    if version == "2025.6":
        tables["COMPOSITE_EVENTS"] = (
            "id INTEGER NOT NULL PRIMARY KEY, start INTEGER NOT NULL, cpu INTEGER, threadState "
            "INTEGER, globalTid INTEGER, cpuCycles INTEGER NOT NULL"
        )
        tables["SAMPLING_CALLCHAINS"] = (
            "id INTEGER NOT NULL, symbol INTEGER NOT NULL, module INTEGER NOT NULL, "
            "unresolved INTEGER, originalIP INTEGER, stackDepth INTEGER NOT NULL"
        )
        tables["GPU_METRICS"] = "rawTimestamp INTEGER, " + tables["GPU_METRICS"]
        tables["META_DATA_EXPORT"] = "name TEXT, value TEXT"
        tables["CUPTI_ACTIVITY_KIND_GRAPH_TRACE"] = (
            "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, graphId "
            "INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, "
            "correlationId INTEGER, globalPid INTEGER, graphExecId INTEGER"
        )
    return tables


class _Export:
    """One database that is being written."""

    def __init__(self, database: sqlite3.Connection, version: str) -> None:
        self.database, self.version = database, version
        self.tables = _tables(version)
        for name, columns in self.tables.items():
            database.execute(f"CREATE TABLE {name} ({columns})")
        self._strings: dict[str, int] = {}

    def text(self, value: str) -> int:
        if value not in self._strings:
            self._strings[value] = len(self._strings) + 10
            self.add("StringIds", id=self._strings[value], value=value)
        return self._strings[value]

    def add(self, table: str, **values: object) -> None:
        """A row, with 0 where a version wants a value and NULL where it does not."""
        if table not in self.tables:
            return
        info = self.database.execute(f"PRAGMA table_info({table})").fetchall()
        names = [row[1] for row in info]
        row = [values.get(name, 0 if info[at][3] else None) for at, name in enumerate(names)]
        marks = ",".join("?" * len(names))
        self.database.execute(f"INSERT INTO {table} VALUES ({marks})", row)

    def call(self, pid: int, name: str, start: int, end: int, correlation: int) -> None:
        self.add(
            "CUPTI_ACTIVITY_KIND_RUNTIME",
            start=start,
            end=end,
            globalTid=global_tid(pid, pid),
            correlationId=correlation,
            nameId=self.text(name),
        )

    def range(self, pid: int, text: str, start: int, end: int | None, kind: int = 59) -> None:
        """NVTX: registered texts in newer versions, the row's own in the old one."""
        is_old = self.version == "2020.1"
        self.add(
            "NVTX_EVENTS",
            start=start,
            end=end,
            eventType=kind,
            text=text if is_old else None,
            textId=None if is_old else self.text(text),
            globalTid=global_tid(pid, pid),
        )

    def sample(self, pid: int, number: int, at: int) -> None:
        """A sample of the CPU; every third has no stack."""
        self.add("COMPOSITE_EVENTS", id=number, start=at, globalTid=global_tid(pid, pid))
        if number % 3:
            for depth, symbol in enumerate((f"load_{number % 2}", "main")):
                symbol_id = self.text(symbol)
                self.add("SAMPLING_CALLCHAINS", id=number, symbol=symbol_id, stackDepth=depth)

    def step(self, pid: int, rank: int, number: int) -> None:
        at = number * 1_000_000 + rank * 1_000
        one = 3 * number + 1  # its first correlation: each process counts its own
        work = {"globalPid": global_tid(pid), "deviceId": 0, "contextId": 1}
        self.range(pid, f"step {number}", at, at + 900_000)
        self.range(pid, "forward", at + 10_000, at + 400_000)
        self.call(pid, "cudaMemcpyAsync_v3020", at + 12_000, at + 15_000, one)
        self.add(
            "CUPTI_ACTIVITY_KIND_MEMCPY",
            start=at + 20_000,
            end=at + 40_000,
            streamId=13,
            correlationId=one,
            bytes=1 << 20,
            copyKind=1,
            **work,
        )
        for place, name in enumerate(KERNELS[:2]):
            begun = at + 60_000 + 200_000 * place
            self.call(
                pid, "cudaLaunchKernel_v7000", begun - 20_000, begun - 10_000, one + 1 + place
            )
            self.add(
                "CUPTI_ACTIVITY_KIND_KERNEL",
                start=begun,
                end=begun + 150_000 - 10 * number,
                streamId=7,
                correlationId=one + 1 + place,
                demangledName=self.text(name),
                shortName=self.text(name[:4]),
                registersPerThread=32,
                gridX=128,
                gridY=1,
                gridZ=1,
                blockX=256,
                blockY=1,
                blockZ=1,
                **work,
            )
        self.add(
            "CUPTI_ACTIVITY_KIND_MEMSET",
            start=at + 500_000,
            end=at + 501_000,
            streamId=7,
            bytes=64,
            **work,
        )
        self.add(
            "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
            start=at + 600_000,
            end=at + 700_000,
            graphId=5,
            streamId=7,
            correlationId=one + 10_000,
            **work,
        )
        self.add(
            "OSRT_API",
            start=at + 720_000,
            end=at + 790_000 + number,
            globalTid=global_tid(pid, pid),
            nameId=self.text("pthread_cond_wait"),
        )
        self.sample(pid, rank * STEPS + number, at + 5_000)
        change = {"start": at + 30_000, "memKind": 2, "bytes": 1 << 20, **work}
        self.add("CUDA_GPU_MEMORY_USAGE_EVENTS", memoryOperationType=0, **change)
        if number % 3 == 2:
            self.add(
                "CUDA_GPU_MEMORY_USAGE_EVENTS",
                memoryOperationType=1,
                **{**change, "bytes": 1 << 21},
            )

    def facts(self) -> None:
        for rank, pid in enumerate(PIDS):
            self.add("PROCESSES", globalPid=global_tid(pid), pid=pid, name=f"/usr/bin/train{rank}")
            self.add("ThreadNames", nameId=self.text("main"), globalTid=global_tid(pid, pid))
            self.add(
                "TARGET_INFO_GPU",
                id=rank,
                name="NVIDIA H100",
                uuid=f"GPU-{rank}",
                busLocation=f"0000:0{rank}:00.0",
                totalMemory=80 << 30,
                smCount=132,
                computeMajor=9,
                computeMinor=0,
            )
            self.add("TARGET_INFO_CUDA_DEVICE", gpuId=rank, cudaId=0, pid=pid)
            for metric, title in ((1, "SMs Active [Throughput %]"), (2, "GPU Power [W]")):
                self.add(
                    "TARGET_INFO_GPU_METRICS",
                    typeId=rank,
                    typeName="H100",
                    metricId=metric,
                    metricName=title,
                )
                for sample in range(20):
                    self.add(
                        "GPU_METRICS",
                        timestamp=sample * 500_000,
                        typeId=rank,
                        metricId=metric,
                        value=sample if metric == 1 else 300 + sample,
                    )
        self.add("TARGET_INFO_SESSION_START_TIME", utcEpochNs=EPOCH_NS)
        self.add("META_DATA_EXPORT", name="EXPORT_SCHEMA_VERSION", value="3.25.0")


def write(path: Path, version: str) -> None:
    """An export of two processes, each of which sees its own GPU as number 0."""
    with closing(sqlite3.connect(path)) as database:
        export = _Export(database, version)
        for rank, pid in enumerate(PIDS if version != "2020.1" else PIDS[:1]):
            for number in range(STEPS):
                export.step(pid, rank, number)
            export.range(pid, "epoch", 500, 10_000_000 + rank, 60)
            export.range(pid, "saved", 2_000_000, None, 34)
        export.facts()
        database.commit()
