"""A world as files: its profile and scalars as TensorFlow and JAX write them, and its power as the
loggers of this world do.
"""

from __future__ import annotations

import json
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Literal

import numpy as np

from benchmarks.power_world.sensors import Taken
from benchmarks.power_world.training import World
from tests.synthetic.tfevents import write_scalars
from tests.synthetic.xplane import Event, Line, Plane, encode

HOST = "bench"
PS = 1e12


def write(world: World, folder: Path) -> Path:
    """The logdir of a world; the answer is its path."""
    plan = world.plan
    at = time.strftime("%Y_%m_%d_%H_%M_%S", time.gmtime(plan.unix_s))
    logs = folder / "logs"
    top = logs / "train" if plan.style == "keras" else logs
    run = top / "plugins" / "profile" / at
    run.mkdir(parents=True)
    (run / f"{HOST}.xplane.pb").write_bytes(_profile(world))
    if world.epochs:
        rows = []
        for (number, (_, end)), late in zip(enumerate(world.epochs), _late(world), strict=True):
            loss = 2.3 / (1 + number)
            rows += [
                (plan.unix_s + end + late, number, "epoch_loss", loss),
                (plan.unix_s + end + late + 0.001, number, "epoch_accuracy", 0.1),
            ]
        begin = plan.unix_s + world.trained[0] - 0.02
        write_scalars(top / f"events.out.tfevents.{int(begin)}.{HOST}.1.0.v2", rows, begin)
    return logs


def _late(world: World) -> list[float]:
    """How long after each epoch its scalars are written: other callbacks come first. 5 to 26 ms at
    13 epochs of five real Keras trainings, half to two thirds of the way to the next epoch.
    """
    rng = np.random.default_rng([61, world.plan.seed])
    pauses = [
        later - end for (_, end), (later, _) in zip(world.epochs, world.epochs[1:], strict=False)
    ]
    return [
        float(rng.uniform(0.45, 0.65)) * pause
        for pause in (*pauses, float(rng.uniform(0.01, 0.04)))
    ]


def _profile(world: World) -> bytes:
    plan = world.plan
    lines: dict[str, list[Event]] = {}
    for one in world.shown:
        start = round(one.start * PS)
        lines.setdefault(one.line, []).append(
            Event(one.name, start, max(round(one.end * PS) - start, 1), dict(one.stats))
        )
    for events in lines.values():
        events.sort(key=lambda e: (e.start, -e.duration))
    threads = {
        "keras": "tf_Compute/7027561141631277670",
        "jax": "tf_XLAPjRtCpuClient/5304488959659781104",
        "gpu": "tf_Compute/1",
    }
    host = [Line("python", lines["python"], 1)]
    if "compute" in lines:
        host.append(Line(threads[plan.style], lines["compute"], 2))
    if "input" in lines:
        host.append(Line("tf_data_iterator_get_next/392115684158902454", lines["input"], 3))
    planes = [Plane("/host:CPU", host)]
    for device in range(plan.devices):
        if f"stream {device}" in lines:
            streams = [
                Line("Stream #13(Compute)", lines[f"stream {device}"], 13),
                Line("Stream #14(MemcpyH2D)", lines[f"copies {device}"], 14),
            ]
            planes.append(Plane(f"/device:GPU:{device}", streams))
    clock = {
        "profile_start_time": round(plan.unix_s * 1e9),
        "profile_stop_time": round((plan.unix_s + world.span[1]) * 1e9),
    }
    return encode([*planes, Plane("Task Environment", (), clock)], [HOST])


# ── power logs ───────────────────────────────────────────────────────────────────────────────────


Form = Literal["wall", "relative", "labelled", "ipmitool"]


def write_log(taken: Taken, path: Path, form: Form) -> Path:
    """A log as somebody's script writes it, by wall clock or in seconds since its start; of a source
    that is known by name; or as ipmitool prints it, stamped by the BMC's clock in whole seconds.
    """
    if form == "labelled":
        text = _LABELLED[taken.model.label](taken)
    elif form == "ipmitool":
        text = "".join(_dcmi_answer(t, w) for t, w in zip(taken.unix, taken.values, strict=True))
    else:
        at = taken.unix if form == "wall" else taken.unix - taken.unix[0]
        head = "time_unix_s" if form == "wall" else "elapsed_s"
        column, digits = ("energy_j", 6) if taken.model.counter else ("watts", 2)
        text = f"{head},{column}\n" + "".join(
            f"{t:.6f},{v:.{digits}f}\n" for t, v in zip(at, taken.values, strict=True)
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def _recording(source: str, channel: str, scope: str, taken: Taken) -> str:
    """powertui's own format, which names its sources."""
    kind = "interval" if taken.model.counter else "sampled"
    channels = [
        {"name": channel, "host": HOST, "scope": scope, "quantum_w": None, "kind": kind, "note": ""}
    ]
    about = {"name": source, "source": source, "host": HOST, "channels": channels}
    lines = [
        "# powertui recording 1",
        f"# host: {HOST}",
        f"# interval_s: {taken.model.poll_s}",
        f"# source: {json.dumps(about)}",
        "time_unix_s,mono_s,source,channel,watts,joules,rtt_s,quality,reason,mark",
    ]
    counted = (
        np.concatenate([[0.0], np.cumsum(np.diff(taken.values) % (taken.model.wrap_j or np.inf))])
        if taken.model.counter
        else None
    )
    for i, (t, value) in enumerate(zip(taken.unix, taken.values, strict=True)):
        cells = f"{value:.3f}," if counted is None else f",{counted[i]:.6f}"
        lines.append(
            f"{t:.6f},{t - taken.unix[0] + 500:.6f},{source},{channel},{cells},0.0002,ok,,"
        )
    return "\n".join(lines) + "\n"


def _nvidia(column: str, taken: Taken) -> str:
    lines = [f"timestamp, index, name, {column} [W]"]
    for t, value in zip(taken.unix, taken.values, strict=True):
        moment = datetime.fromtimestamp(t, timezone.utc)
        lines.append(
            f"{moment:%Y/%m/%d %H:%M:%S}.{moment.microsecond // 1000:03d}, 0, NVIDIA H100 80GB "
            f"HBM3, {value:.2f} W"
        )
    return "\n".join(lines) + "\n"


def _dcmi_answer(bmc_s: float, watts: float) -> str:
    """What `ipmitool dcmi power reading` prints. The BMC's time is local and names no zone."""
    at = datetime.fromtimestamp(int(bmc_s), timezone.utc)
    return (
        f"\n    Instantaneous power reading:                   {watts:.0f} Watts\n"
        "    Minimum during sampling period:                 10 Watts\n"
        "    Maximum during sampling period:                900 Watts\n"
        "    Average power reading over sample period:      210 Watts\n"
        f"    IPMI timestamp:                           {at:%a %b %d %H:%M:%S %Y}\n"
        "    Sampling period:                          00000001 Seconds.\n"
        "    Power reading state is:                   activated\n\n\n"
    )


def _powerboard(taken: Taken) -> str:
    head = (
        "Sensor_ID,Entity_ID,Sensor_Type_Threshold_,Sensor_Reading,Status,Lower_Non_Recoverable,"
        "Lower_Critical,Lower_Non_Critical,"
        "Upper_Non_Critical,Upper_Critical,Upper_Non_Recoverable,Positive_Hysteresis,"
        "Negative_Hysteresis,Assertion_Events,"
        "Assertions_Enabled,Time_elapsed,Time_epoch"
    )
    rest = (
        "ok,0.000,0.000,0.000,1785.000,1785.000,1785.000,Unspecified,Unspecified,Empty_string,"
        "Empty_string"
    )
    rows = [
        f"Total Power,215.0,Unknown,{v:.0f},{rest},{t - taken.unix[0]:.5f},{t:.5f}"
        for t, v in zip(taken.unix, taken.values, strict=True)
    ]
    return "\n".join([head, *rows]) + "\n"


_LABELLED = {
    "rapl": lambda taken: _recording("rapl", "package-0", "package", taken),
    "occ": lambda taken: _recording("hwmon", "System", "node", taken),
    "nvidia instant": lambda taken: _nvidia("power.draw.instant", taken),
    "nvidia average": lambda taken: _nvidia("power.draw.average", taken),
    "bmc": lambda taken: _recording("redfish", "power", "node", taken),
    "dcmi": lambda taken: _recording("ipmi DCMI", "power", "node", taken),
    "powerboard": _powerboard,
    "plug": lambda taken: _recording("plug", "outlet 1", "plug", taken),
}
