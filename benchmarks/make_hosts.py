"""Makes a run of many hosts: each a device with kernels and collectives, and a host that marks its
steps.

    python -m benchmarks.make_hosts [HOSTS] [EVENTS]   → benchmarks/generated/hosts_HOSTS_EVENTS/…

Four different profiles are made, one of them of a host that is slow; all others are copies of three
with the name of their host in them, as files of the same bytes would count as one host.
"""

from __future__ import annotations

import random
import shutil
import sys
from pathlib import Path

from benchmarks.harness import GENERATED

STEPS = 100
_MS = 10**9
_STEP_PS = 100 * _MS
_LATE_PS = 8 * _MS  # how much longer the slow host works in each step
_KINDS = 4


def slow_host(hosts: int) -> int:
    """The number of the slow one."""
    return hosts * 5 // 8


def make(hosts: int, events: int) -> Path:
    """The logdir with one run of so many hosts, each with so many events; made only once."""
    root = GENERATED / f"hosts_{hosts}_{events}"
    if root.is_dir():
        return root
    unfinished = GENERATED / f"hosts_{hosts}_{events}.part"
    shutil.rmtree(unfinished, ignore_errors=True)
    folder = unfinished / "plugins" / "profile" / "2026_11_28_10_00_00"
    folder.mkdir(parents=True)
    from tests.synthetic import xplane

    late_ps = (*[0] * (_KINDS - 1), _LATE_PS)
    kinds = [_profile(kind, events, late_ps[kind]) for kind in range(_KINDS)]
    for host in range(hosts):
        kind = _KINDS - 1 if host == slow_host(hosts) else host % (_KINDS - 1)
        name = f"node{host:03}"
        own = xplane.encode((), hosts=(name,))
        (folder / f"{name}.xplane.pb").write_bytes(kinds[kind] + own)
    unfinished.rename(root)
    return root


def _profile(kind: int, events: int, late_ps: int) -> bytes:
    """A profile; in each step the device works, and waits in a collective for the slow host."""
    from tests.synthetic import xplane

    chance = random.Random(kind)
    kernels = max(1, (events - 3 * STEPS) // (2 * STEPS))
    device, launches, marks, steps = [], [], [], []
    for step in range(STEPS):
        start = step * _STEP_PS
        work_ps = 80 * _MS + late_ps + chance.randrange(_MS)
        each_ps = work_ps // kernels
        for kernel in range(kernels):
            at = start + _MS + kernel * each_ps
            name = f"fusion.{(kernel * 7 + kind) % 200}"
            correlation = {"correlation_id": step * kernels + kernel}
            device.append(xplane.Event(name, at, each_ps * 9 // 10, correlation))
            launches.append(
                xplane.Event("cuLaunchKernel", at - _MS // 2, each_ps // 3, correlation)
            )
        waits = start + _MS + work_ps
        device.append(
            xplane.Event("ncclDevKernel_AllReduce_Sum_f32_RING_LL", waits, start + 95 * _MS - waits)
        )
        marks.append(xplane.Event("train", start, _STEP_PS - _MS, {"step_num": step, "_r": 1}))
        steps.append(xplane.Event(str(step), start + _MS, 94 * _MS, {"group_id": step}))
    planes = [
        xplane.Plane(
            "/device:GPU:0",
            [xplane.Line("Steps", steps), xplane.Line("Stream #7(Compute)", device, key=7)],
        ),
        xplane.Plane(
            "/host:CPU", [xplane.Line("python", marks), xplane.Line("launcher", launches, key=2)]
        ),
    ]
    return xplane.encode(planes, hosts=())


def main() -> None:
    """Make one and say where it is."""
    numbers = [int(word.replace(",", "")) for word in sys.argv[1:]]
    hosts, events = (*numbers, *(64, 50_000)[len(numbers) :])
    print(make(hosts, events))


if __name__ == "__main__":
    main()
