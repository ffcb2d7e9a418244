"""A run of several hosts, each with a workload and watts of its own, and the logs that their
sensors would have written.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .power import SensorModel, record
from .workload import Plan, Workload, build

NODE = SensorModel("node", 0.2, 0.2, 0.2, noise_w=0.5)
NAME = "2026_11_21_12_00_00"
FIRST = (90.0, 140.0, 190.0, 290.0)
SECOND = (210.0, 300.0, 350.0, 480.0)


@dataclass
class Hosts:
    """A logdir with one run, and what is true of each of its hosts."""

    logdir: Path
    works: dict[str, Workload] = field(default_factory=dict)

    def rows(self, host: str, seed: int = 1) -> list[tuple[float, float]]:
        """(Unix s, watts) as a sensor of this host logs them."""
        work = self.works[host]
        taken = record(work, NODE, seed)
        return [
            (work.plan.unix_s + taken.offset_s + t, v)
            for t, v in zip(taken.seconds.tolist(), taken.values.tolist(), strict=True)
        ]

    def joules(self, host: str) -> float:
        """What the host really drew while it was profiled."""
        work = self.works[host]
        return float(work.energy(*work.span))

    def long_csv(self, path: Path, labels: Mapping[str, str]) -> Path:
        """One table with a column `host`: under each label what a host drew."""
        rows = sorted((t, label, w) for label, host in labels.items() for t, w in self.rows(host))
        path.write_text(
            "time_unix_s,host,watts\n"
            + "".join(f"{t:.6f},{label},{w:.3f}\n" for t, label, w in rows)
        )
        return path

    def plain_csv(self, path: Path, host: str) -> Path:
        """A table that says nothing of whose power it holds."""
        path.write_text(
            "time_unix_s,watts\n" + "".join(f"{t:.6f},{w:.3f}\n" for t, w in self.rows(host))
        )
        return path

    def recording(self, path: Path, labels: Mapping[str, str], *, recorder: str = "head") -> Path:
        """What `powertui record --host A --host B` writes on the machine `recorder`."""
        lines = ["# powertui recording 1", f"# host: {recorder}", "# interval_s: 0.2"]
        for label in labels:
            channel = {
                "name": "DCMI power",
                "host": label,
                "scope": "node",
                "quantum_w": None,
                "kind": "sampled",
                "note": "",
            }
            about = {
                "name": label,
                "source": "ipmi DCMI",
                "url": f"ipmi://{label}",
                "host": label,
                "channels": [channel],
            }
            lines.append(f"# source: {json.dumps(about)}")
        lines.append("time_unix_s,mono_s,source,channel,watts,joules,rtt_s,quality,reason,mark")
        rows = sorted((t, label, w) for label, host in labels.items() for t, w in self.rows(host))
        lines += [
            f"{t:.6f},{t - rows[0][0] + 100:.6f},{label},DCMI power,{w:.3f},,0.001,ok,,"
            for t, label, w in rows
        ]
        path.write_text("\n".join(lines) + "\n")
        return path


def write(
    folder: Path, hosts: Mapping[str, tuple[float, float, float, float]], *, seconds: float = 16.0
) -> Hosts:
    """A logdir with one run of these hosts; to each its watts by category."""
    place = folder / "logs" / "plugins" / "profile" / NAME
    place.mkdir(parents=True)
    made = Hosts(folder / "logs")
    for number, (host, watts) in enumerate(hosts.items()):
        plan = Plan(
            seconds=seconds,
            watts=watts,
            lead_s=3.0,
            tail_s=3.0,
            unix_s=1_763_726_400.0 + 0.4 * number,
        )
        made.works[host] = build(100 + number, plan)
        (place / f"{host}.xplane.pb").write_bytes(made.works[host].xplane())
    return made


def two(folder: Path, first: str = "host-a", second: str = "host-b") -> Hosts:
    """Two hosts, of which the second draws far more than the first."""
    return write(folder, {first: FIRST, second: SECOND})
