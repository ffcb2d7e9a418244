"""Recordings with a known truth: a workload, its real XPlane bytes, and what a sensor would have
said.

Energy methods cannot be judged on recorded data alone: nobody knows what a joule counter of perfect
resolution would have shown. Here the watts of every category are chosen, so every integral, offset
and interval has a right answer.
"""

from .power import SENSORS, Recording, SensorModel, record, series
from .tfevents import write_scalars
from .workload import COLLECTIVES, COMPUTE, COPIES, IDLE, Burst, Plan, Workload, build
from .xplane import Encoder, encode

__all__ = [
    "COLLECTIVES",
    "COMPUTE",
    "COPIES",
    "IDLE",
    "SENSORS",
    "Burst",
    "Encoder",
    "Plan",
    "Recording",
    "SensorModel",
    "Workload",
    "build",
    "encode",
    "record",
    "series",
    "write_scalars",
]
