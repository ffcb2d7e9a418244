"""A machine with several GPUs of which a program sees some, in an order of its own; what each drew;
and what logs say of them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
import numpy.typing as npt

from .xplane import Event, Line, Plane, encode

PS = 1_000_000_000_000
IDLE_W, BUSY_W = 70.0, 330.0
UNIX_S = 1_763_726_400.0
EVERY_S = 0.1
MARGIN_S = 2.0


@dataclass
class Machine:
    """`spans[d]`: when device d (as the program counts) computed; `order[d]`: which GPU of the
    machine that is.
    """

    count: int
    order: tuple[int, ...]
    spans: list[list[tuple[float, float]]]
    steps: list[tuple[float, float]]
    stats: list[dict[str, int | float | str]] = field(
        default_factory=list
    )  # what the profile says of each device

    @property
    def seconds(self) -> float:
        return self.steps[-1][1]

    def joules(self, gpu: int, lo: float, hi: float) -> float:
        """Exactly, of a GPU of the machine; those that the program did not see idled."""
        busy = 0.0
        if gpu in self.order:
            for start, end in self.spans[self.order.index(gpu)]:
                busy += max(0.0, min(end, hi) - max(start, lo))
        return IDLE_W * (hi - lo) + (BUSY_W - IDLE_W) * busy

    def rows(self) -> list[tuple[float, int, float]]:
        """(s, GPU, W): the mean since the last row, as an averaging sensor says."""
        at = np.arange(-MARGIN_S, self.seconds + MARGIN_S, EVERY_S)
        noise = np.random.default_rng(5).normal(0, 0.5, (len(at), self.count))
        return [
            (
                float(t),
                gpu,
                self.joules(gpu, float(t) - EVERY_S, float(t)) / EVERY_S + float(noise[i, gpu]),
            )
            for i, t in enumerate(at)
            for gpu in range(self.count)
        ]

    def xplane(self, *, empty: int = 0) -> bytes:
        """The profile; `empty` further devices were seen and did nothing."""
        host = [
            Event(
                "train", round(a * PS), round((b - a) * PS), {"step_num": i, "group_id": i, "_r": 1}
            )
            for i, (a, b) in enumerate(self.steps)
        ]
        devices = [
            Plane(
                f"/device:GPU:{d}",
                [
                    Line(
                        "Stream #13(Compute)",
                        [Event("sgemm", round(a * PS), round((b - a) * PS), {}) for a, b in mine],
                        13,
                    )
                ],
                dict(self.stats[d]) if self.stats else {},
            )
            for d, mine in enumerate(self.spans)
        ]
        devices += [Plane(f"/device:GPU:{len(self.spans) + i}", ()) for i in range(empty)]
        clock: dict[str, int | float | str] = {
            "profile_start_time": int(UNIX_S * 1e9),
            "profile_stop_time": int((UNIX_S + self.seconds) * 1e9),
        }
        return encode(
            [
                Plane("/host:CPU", [Line("python", host, 1)]),
                *devices,
                Plane("Task Environment", (), clock),
            ]
        )

    def write(self, folder: Path, *, host: str = "node17", empty: int = 0) -> Path:
        place = folder / "logs" / "plugins" / "profile" / "2026_11_21_12_00_00"
        place.mkdir(parents=True)
        (place / f"{host}.xplane.pb").write_bytes(self.xplane(empty=empty))
        return folder / "logs"

    def smi(self, path: Path, *, by: str = "index") -> Path:
        """nvidia-smi --query-gpu=timestamp,index,power.draw --format=csv, in UTC."""
        lines = [f"timestamp, {by}, power.draw [W]"]
        for t, gpu, watts in self.rows():
            when = datetime.fromtimestamp(UNIX_S + t, timezone.utc)
            name = str(gpu) if by == "index" else uuid(gpu) if by == "uuid" else pci(gpu)
            lines.append(
                f"{when:%Y/%m/%d %H:%M:%S}.{when.microsecond // 1000:03d}, {name}, {watts:.2f} W"
            )
        path.write_text("\n".join(lines) + "\n")
        return path

    def nvml(self, path: Path, *, host: str = "node17") -> Path:
        """What `powertui record --source nvml:` writes."""
        channels = [
            {
                "name": f"GPU {g}",
                "host": "",
                "scope": "gpu",
                "quantum_w": 0.001,
                "kind": "sampled",
                "index": g,
                "uuid": uuid(g),
                "pci": pci(g),
            }
            for g in range(self.count)
        ]
        about = {"name": "nvml", "source": "nvml", "url": "nvml:", "host": "", "channels": channels}
        lines = ["# powertui recording 1", f"# host: {host}", f"# source: {json.dumps(about)}"]
        lines.append("time_unix_s,mono_s,source,channel,watts,joules,rtt_s,quality,reason,mark")
        lines += [
            f"{UNIX_S + t:.6f},{t + 100:.6f},nvml,GPU {g},{w:.3f},,0.001,ok,,"
            for t, g, w in self.rows()
        ]
        path.write_text("\n".join(lines) + "\n")
        return path


def uuid(gpu: int) -> str:
    return f"GPU-{gpu:08x}-1111-2222-3333-444444444444"


def pci(gpu: int) -> str:
    return f"00000000:{0x10 + gpu:02X}:00.0"


def make(
    count: int,
    order: Sequence[int],
    *,
    alike: bool = False,
    steps: int = 12,
    step_s: float = 1.0,
    seed: int = 3,
) -> Machine:
    """`alike`: all devices compute at the same moments, as in data-parallel training; else each at
    its own.
    """
    rng = np.random.default_rng([13, seed])
    bounds = [(i * step_s, (i + 1) * step_s) for i in range(steps)]
    spans: list[list[tuple[float, float]]] = []
    shared: npt.NDArray[np.float64] = rng.uniform(0.1, 0.9, (steps, 2))
    for _ in order:
        cuts = shared if alike else rng.uniform(0.1, 0.9, (steps, 2))
        spans.append(
            [
                (lo + float(min(c)) * step_s, lo + float(max(c)) * step_s + 0.05)
                for (lo, _), c in zip(bounds, cuts, strict=True)
            ]
        )
    return Machine(count, tuple(order), spans, bounds)
