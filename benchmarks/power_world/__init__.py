"""Recordings whose truth is known at every millisecond: a training, the profile of it, and what
sensors say of its power.

Written from the descriptions of sensors and of profiles alone. Nothing here imports what estimates
joules, places or findings (`powertui/data/energy`), so that an error there cannot hide behind the
same error here.

    world = make(plan(seed))               # what ran when, and the true watts
    write(world, folder)                   # its profile and its scalars, as TensorFlow and JAX write them
    taken = record(world, SENSORS["bmc 0.5 s"], seed)
    write_log(taken, folder / "power.csv", "wall")

`python -m benchmarks.power_world FOLDER --seed 3` writes one for a person to look at.
"""

from benchmarks.power_world.files import write, write_log
from benchmarks.power_world.plan import Burst, Plan, plan
from benchmarks.power_world.sensors import FORGETFUL, SENSORS, Fault, Model, Taken, record
from benchmarks.power_world.training import World, make
from benchmarks.power_world.whole import Course, course_levels, make_whole, write_whole

__all__ = [
    "FORGETFUL",
    "SENSORS",
    "Burst",
    "Course",
    "Fault",
    "Model",
    "Plan",
    "Taken",
    "World",
    "course_levels",
    "make",
    "make_whole",
    "plan",
    "record",
    "write",
    "write_log",
    "write_whole",
]
