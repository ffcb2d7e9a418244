"""A run of many hosts for tests: small profiles, one host of which is slow."""

from __future__ import annotations

from pathlib import Path

from ..synthetic import xplane

MS = 10**9
STEPS = 12
SLOW = "node07"


def write_hosts(folder: Path, hosts: int = 12, kernels: int = 40) -> Path:
    """The logdir with one run of so many hosts."""
    run = folder / "plugins" / "profile" / "2026_11_28_10_00_00"
    run.mkdir(parents=True)
    for host in range(hosts):
        name = f"node{host:02}"
        (run / f"{name}.xplane.pb").write_bytes(_profile(host, name, kernels))
    return folder


def _profile(host: int, name: str, kernels: int) -> bytes:
    device, marks = [], []
    late = 9 * MS if name == SLOW else 0
    for step in range(STEPS):
        start = step * 100 * MS
        work = 60 * MS + late + (host * 7 + step * 3) % 11 * MS // 10
        for kernel in range(kernels):
            at = start + MS + kernel * work // kernels
            device.append(xplane.Event(f"fusion.{kernel % 7}", at, work // kernels * 9 // 10))
        waits = start + MS + work
        device.append(xplane.Event("ncclDevKernel_AllReduce_Sum", waits, start + 80 * MS - waits))
        marks.append(xplane.Event("train", start, 98 * MS, {"step_num": step, "_r": 1}))
    planes = [
        xplane.Plane("/device:GPU:0", [xplane.Line("Stream #7(Compute)", device, key=7)]),
        xplane.Plane("/host:CPU", [xplane.Line("python", marks)]),
    ]
    return xplane.encode(planes, hosts=(name,))
