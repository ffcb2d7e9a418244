"""Which process, thread and GPU a number of an export stands for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from powertui.data.formats.json_stats import stat
from powertui.data.formats.nsys.database import MISSING, NsysDatabase
from powertui.data.model import Int64s, Stat

# A global number holds, from its highest bits: what kind of machine, which, the process and thread.
_PID_SHIFT, _PART_MASK = 24, 0xFFFFFF
_PROCESS_MASK = ~_PART_MASK
_MAX_ROWS = 50_000  # of processes, threads and devices: more than are ever drawn
_MAX_GPU = 10_000  # no machine has so many: such a number is damage
# What TARGET_INFO_GPU says of a GPU → the stat under which the program knows it.
_GPU_FACTS = {
    "name": "device_name",
    "chipName": "chip",
    "uuid": "uuid",
    "busLocation": "pci_bus_id",
    "totalMemory": "memory_size",
    "memoryBandwidth": "memory_bandwidth",
    "smCount": "core_count",
    "clockRate": "clock_rate",
    "computeMajor": "compute_cap_major",
    "computeMinor": "compute_cap_minor",
}


class Identities:
    """Everything that an export says of processes, threads and GPUs."""

    def __init__(self, database: NsysDatabase) -> None:
        self._ordinals: dict[int, int] = {}
        self._pids: set[int] = set()
        self._names = _process_names(database)
        self._threads = _thread_names(database)
        self._gpus = _gpus_by_cuda_number(database)
        self._facts = _facts_by_gpu(database)

    def count_processes(self, numbers: Sequence[Int64s]) -> None:
        """All processes that have events: one alone needs no number in its name."""
        for column in numbers:
            distinct = pd.unique(column).tolist()
            self._pids.update(map(self.pid, distinct))

    def ordinals(self, process: Int64s) -> Int64s:
        """A small number for each process, the same in every table."""
        codes, distinct = pd.factorize(process)
        numbers = []
        for number in distinct:
            pid = self.pid(int(number))
            numbers.append(self._ordinals.setdefault(pid, len(self._ordinals)))
        if numbers:
            return np.array(numbers, np.int64)[codes]
        return np.empty(0, np.int64)

    def processes_of(self, thread: Int64s) -> Int64s:
        """The global number of the process of each thread."""
        return np.where(thread == MISSING, MISSING, thread & _PROCESS_MASK)

    def gpus(self, process: Int64s, device: Int64s) -> Int64s:
        """The GPU of the machine that a process means by a number of CUDA's."""
        gpus = np.clip(device, 0, _MAX_GPU)
        if not self._gpus:
            return gpus
        codes, distinct = pd.factorize(process)
        for code, number in enumerate(distinct.tolist()):
            pid = self.pid(int(number))
            is_process = codes == code
            for (owner, cuda), gpu in self._gpus.items():
                if owner == pid and cuda != gpu:
                    gpus[is_process & (device == cuda)] = gpu
        return gpus

    @staticmethod
    def pid(number: int) -> int:
        """The process of a global number, as its system counts."""
        if number != MISSING:
            return number >> _PID_SHIFT & _PART_MASK
        return 0

    @staticmethod
    def tid(number: int) -> int:
        """The thread of a global number."""
        return number & _PART_MASK if number != MISSING else 0

    def process_name(self, pid: int) -> str:
        """The host process's line."""
        if len(self._pids) < 2:
            return "/host:CPU"
        return f"/host:CPU {self._names.get(pid) or 'process'} {pid}"

    def thread_name(self, number: int) -> str:
        """As the program named it, else its number."""
        return self._threads.get(number) or f"thread {self.tid(number)}"

    def gpu_facts(self, gpu: int) -> tuple[Stat, ...]:
        """What is known of a GPU."""
        return self._facts.get(gpu, ())


def _process_names(database: NsysDatabase) -> dict[int, str]:
    """Names by pid: the program's file without its folder."""
    names: dict[int, str] = {}
    for row in database.rows("PROCESSES", ["pid", "name"], _MAX_ROWS):
        pid = row.get("pid")
        path = row.get("name")
        # SQLite columns have no type: a damaged row may hold anything.
        if isinstance(pid, int) and isinstance(path, str):
            _, _, name = path.rpartition("/")
            names[pid] = name
    return names


def _gpus_by_cuda_number(database: NsysDatabase) -> dict[tuple[int, int], int]:
    """The GPU of the machine by (pid, CUDA's number of it in that process)."""
    gpus: dict[tuple[int, int], int] = {}
    names = ["pid", "cudaId", "gpuId"]
    for row in database.rows("TARGET_INFO_CUDA_DEVICE", names, _MAX_ROWS):
        pid, cuda, gpu = map(row.get, names)
        if not isinstance(pid, int) or not isinstance(cuda, int):
            continue
        if isinstance(gpu, int) and 0 <= gpu < _MAX_GPU:
            gpus[pid, cuda] = gpu
    return gpus


def _facts_by_gpu(database: NsysDatabase) -> dict[int, tuple[Stat, ...]]:
    facts: dict[int, tuple[Stat, ...]] = {}
    names = ["id", *_GPU_FACTS]
    for row in database.rows("TARGET_INFO_GPU", names, _MAX_ROWS):
        gpu = row.get("id")
        if isinstance(gpu, int):
            facts[gpu] = _facts(row)
    return facts


def _thread_names(database: NsysDatabase) -> dict[int, str]:
    named: dict[int, int] = {}
    for row in database.rows("ThreadNames", ["globalTid", "nameId"], _MAX_ROWS):
        thread = row.get("globalTid")
        name = row.get("nameId")
        if isinstance(thread, int) and isinstance(name, int):
            named[thread] = name
    text_numbers = np.array(list(named.values()), np.int64)
    texts = database.texts(text_numbers)
    return {thread: texts[name] for thread, name in named.items() if name in texts}


def _facts(row: dict[str, object]) -> tuple[Stat, ...]:
    facts = [stat("device_vendor", "Nvidia")]
    for column, name in _GPU_FACTS.items():
        value = row.get(column)
        if isinstance(value, (int, float, str)):
            facts.append(stat(name, value))
    return tuple(facts)
