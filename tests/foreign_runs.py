"""Ten runs that others recorded, each with a log of its power as its user would have it.

The watts of nine are set here, and a sensor reports its mean over each interval: nothing here looks
at how powertui places or adds up a log. The runs are only read from where they lie.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import numpy as np

import powertui

_NS_PER_S = 1e9
_MARGIN_S = 2.0  # that the log begins before the training, and ends after it
_NOISE_W = 0.4
_PAUSE_S = 0.15  # at the end of an epoch
_PAUSE_LEVEL = 0.4  # of what training adds to the idle power


@dataclass(frozen=True)
class ForeignRun:
    """Where it lies below data/public, and what was measured beside it."""

    id: str
    path: str
    every_s: float = 0.0  # of the sensor; 0: a log that was really recorded lies beside it
    idle_w: float = 0.0
    busy_w: float = 0.0
    # A load from one part of the run to another that no profile explains.
    load: tuple[float, float, float] = (0.0, 0.0, 0.0)
    format: str = "nvidia-smi"  # or "bmc"
    hosts: tuple[str, ...] = ()  # that the log is of, where nothing else says so


RUNS = (
    ForeignRun("tf-t4", "e4040_hd2551", 0.1, 28, 62, (0.40, 0.55, 12)),
    ForeignRun("tf-v100", "e4040_yg2820/logs/fit/20221104-212610", 0.1, 40, 150, (0.5, 0.7, 30)),
    ForeignRun(
        "tf-json-5-epochs",
        "powerboard_tf22_run183023_5epochs",
        0.5,
        180,
        320,
        (0.45, 0.6, 60),
        "bmc",
    ),
    ForeignRun("tf-json-real-power", "powerboard_tf22_run195247"),
    ForeignRun("jax-mi300", "jax_rocm_mi300_conv_legacy", 0.05, 140, 480, (0.5, 0.7, 90)),
    ForeignRun(
        "torch-dataloader",
        "kineto_list_format/resnet50_num_workers_0",
        0.02,
        50,
        240,
        (0.45, 0.75, 40),
    ),
    ForeignRun("torch-six-steps", "kineto_hta_diff/test.json.gz", 0.02, 60, 300, (0.4, 0.7, 60)),
    ForeignRun(
        "torch-two-ranks",
        "kineto_two_ranks/trace_filter",
        0.02,
        60,
        300,
        (0.5, 0.8, 60),
        hosts=("sampled_rank-0", "sampled_rank-1"),
    ),
    ForeignRun(
        "torch-h100",
        "kineto_h100_timesformer/facebook_timesformer-base-finetuned-k400__1016002.json.gz",
        0.02,
        80,
        520,
        (0.5, 0.8, 80),
    ),
    ForeignRun(
        "torch-mi300",
        "kineto_mi300_qwen/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
        0.005,
        140,
        480,
        (0.4, 0.8, 90),
    ),
)


def options(run: ForeignRun, public: Path, folder: Path) -> list[str]:
    """What to open it with: its log is written below the folder where none was recorded."""
    path = public / "powerboard_power_run195247" / "data" / "ipmi_data.csv"
    if run.every_s:
        path = folder / "power.csv"
        path.write_text("".join(_rows(run, public)), encoding="utf-8")
    flags = ["--power", str(path)]
    for host in run.hosts:
        flags += ["--power-host", f"{path.name}={host}"]
    return flags


def _rows(run: ForeignRun, public: Path) -> Iterator[str]:
    at_s, watts = _readings(run, public)
    if run.format == "bmc":
        yield "unix_time,watts\n"
        for unix_s, value in zip(at_s, watts, strict=True):
            yield f"{unix_s:.3f},{value:.0f}\n"
        return
    yield "timestamp, index, name, power.draw [W]\n"
    for unix_s, value in zip(at_s, watts, strict=True):
        moment = datetime.fromtimestamp(unix_s, timezone.utc)
        stamp = moment.strftime("%Y/%m/%d %H:%M:%S.%f")[:-3]
        for gpu in range(max(1, len(run.hosts))):
            yield f"{stamp}, {gpu}, GPU, {value:.2f} W\n"


def _readings(run: ForeignRun, public: Path) -> tuple[np.ndarray, np.ndarray]:
    """Unix times, and the mean watts of the interval that ends there."""
    opened = powertui.open(public / run.path)[0]
    clock = opened.run.traces[0].clock
    assert clock.lo_ns is not None
    assert clock.hi_ns is not None
    zero_s = (clock.lo_ns + clock.hi_ns) / 2 / _NS_PER_S
    epochs = opened.epochs
    begin_s, end_s = (ps / 1e12 for ps in opened.run.traces[0].span)
    ends: list[float] = []
    if len(epochs):
        begin_s, end_s = float(epochs["start_s"].iloc[0]), float(epochs["end_s"].iloc[-1])
        ends = [float(end) for end in epochs["end_s"].iloc[:-1]]
    at = np.arange(begin_s - _MARGIN_S, end_s + _MARGIN_S, min(0.001, run.every_s / 5))
    true_w = np.where((at >= begin_s) & (at < end_s), run.busy_w, run.idle_w)
    for end in ends:
        paused = (at >= end - _PAUSE_S) & (at < end)
        true_w[paused] = run.idle_w + _PAUSE_LEVEL * (run.busy_w - run.idle_w)
    first, last, load_w = run.load
    length_s = end_s - begin_s
    true_w = true_w + load_w * (
        (at >= begin_s + first * length_s) & (at < begin_s + last * length_s)
    )
    joules = np.concatenate(([0.0], np.cumsum(true_w) * (at[1] - at[0])))[:-1]
    read_at = np.arange(at[0] + run.every_s, at[-1], run.every_s)
    since = np.interp(read_at - run.every_s, at, joules)
    mean_w = (np.interp(read_at, at, joules) - since) / run.every_s
    noise_w = np.random.default_rng(7).normal(0, _NOISE_W, len(read_at))
    return zero_s + read_at, mean_w + noise_w
