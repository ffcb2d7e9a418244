"""Joules of the GPUs of a trace, as tables: each over a window, and each step on each of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from powertui.data.columns import Column, optional, text_column
from powertui.data.energy import device_energy, tables
from powertui.data.energy.device_energy import DevicePower
from powertui.data.energy.measured_energy import Energy
from powertui.data.energy.trace_account import Account
from powertui.data.model import Int64s, Steps
from powertui.data.table import Place, Table
from powertui.data.tools import steps as step_tool
from powertui.data.tools.registry import Question


def device_tables(question: Question, account: Account) -> list[Table]:
    """The GPUs of the trace over the window, and each of its steps on each of them.

    Nothing where no GPU's power was logged.
    """
    devices = device_energy.device_powers(account)
    if not devices:
        return []
    lo, hi = account.trace.span if question.is_of_all_time else question.window
    energies = [device.energy(lo, hi) for device in devices]
    means = [device.per_step(None) for device in devices]
    joules_per_step = [mean.joules if mean else None for mean in means]
    names = [device.pair.device for device in devices]
    columns = (
        text_column("device", "device", names, weight=9),
        *_channel_columns(devices),
        *tables.all_figures(energies),
        optional("joules_per_step", "a step", "number", joules_per_step, unit="J", weight=5),
    )

    def place(_row: int) -> Place:
        return Place(
            run=question.opened.name,
            host=question.host,
            lo=lo,
            hi=hi,
        )

    by_device = Table(
        id="devices",
        title="Energy of each device",
        columns=columns,
        place=place,
        order=("device", False),
        key=("device",),
        noun="device",
    )
    return [by_device, _steps_of_devices(question, account, devices)]


def _channel_columns(devices: Sequence[DevicePower]) -> tuple[Column, ...]:
    channels = [device.channel for device in devices]
    labels = [channel.sensor.label if channel is not None else None for channel in channels]
    pairs = [device.pair for device in devices]
    return (
        text_column("sensor", "sensor", labels, weight=7),
        optional("sure", "sure", "flag", [pair.sure for pair in pairs], weight=6),
        text_column("why", "taken for it", [pair.why for pair in pairs], weight=3),
    )


def _steps_of_devices(
    question: Question,
    account: Account,
    devices: Sequence[DevicePower],
) -> Table:
    steps = account.steps
    rows = step_tool.inside(question, steps)
    step_rows = np.repeat(rows, len(devices))
    device_rows = np.tile(np.arange(len(devices)), len(rows)).tolist()
    by_device = [device.step_energies for device in devices]
    energies: list[Energy | None] = []
    for step, device in zip(step_rows.tolist(), device_rows, strict=True):
        energies.append(by_device[device][step] if by_device[device] else None)
    names = [devices[device].pair.device for device in device_rows]
    starts = steps.start[step_rows]
    ends = steps.ends()[step_rows]
    columns = (
        step_tool.epoch_column(steps, account.epochs, step_rows),
        step_tool.number_column(steps, step_rows),
        text_column("device", "device", names, weight=8),
        Column("start_s", "start", "instant", starts, weight=6),
        Column("end_s", "end", "instant", ends, weight=3),
        *tables.figures(energies),
    )

    title = "Energy of each step on each device"
    return table_of_steps("device_steps", title, columns, question, (steps, step_rows))


def table_of_steps(
    id: str,
    title: str,
    columns: Sequence[Column],
    question: Question,
    steps_of_rows: tuple[Steps, Int64s],
) -> Table:
    """A table of which each row is about a step, and leads to it."""
    steps, step_rows = steps_of_rows
    starts = steps.start[step_rows]
    ends = steps.ends()[step_rows]

    def place(row: int) -> Place:
        return Place(
            run=question.opened.name,
            host=question.host,
            lo=int(starts[row]),
            hi=int(ends[row]),
        )

    return Table(
        id=id,
        title=title,
        columns=tuple(columns),
        place=place,
        order=("start_s", False),
        empty=step_tool.empty(steps),
        key=("start_s",),
        noun="step",
    )
