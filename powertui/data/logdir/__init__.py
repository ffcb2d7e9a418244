"""What lies in a folder, by names, sizes and heads alone: runs, hosts, profiles, scalars, power
logs; what is missing and why.
"""

from powertui.data.logdir.entries import EventFile, OtherFile, PowerFile, ProfileFile, RunEntry
from powertui.data.logdir.folder import Logdir
from powertui.data.logdir.scanning import again, scan, stream, stream_all
from powertui.data.logdir.trainings import TrainingEntry

__all__ = [
    "EventFile",
    "Logdir",
    "OtherFile",
    "PowerFile",
    "ProfileFile",
    "RunEntry",
    "TrainingEntry",
    "again",
    "scan",
    "stream",
    "stream_all",
]
