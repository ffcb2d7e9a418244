"""Files that are large in one respect: a million processes, a million empty packets, a name of 200
MB.

Each `Shape` writes itself at any size, so that one table serves the tests of growth (small sizes,
side by side) and the full size (`python -m tests.adversarial.size_traps`).
"""

from __future__ import annotations

from tests.adversarial.sizes.device_traces import ROCPROF, TF_TRACE
from tests.adversarial.sizes.folders import FOLDERS
from tests.adversarial.sizes.json_traces import JSON
from tests.adversarial.sizes.packed import PACKED
from tests.adversarial.sizes.perfetto import PERFETTO
from tests.adversarial.sizes.power import POWER
from tests.adversarial.sizes.shapes import FolderShape, Shape
from tests.adversarial.sizes.tfevents import TFEVENTS
from tests.adversarial.sizes.xplane import XPLANE

__all__ = [
    "ALL",
    "FOLDERS",
    "JSON",
    "PACKED",
    "PERFETTO",
    "POWER",
    "ROCPROF",
    "TFEVENTS",
    "TF_TRACE",
    "XPLANE",
    "FolderShape",
    "Shape",
]

ALL: tuple[Shape, ...] = (
    *JSON,
    *PERFETTO,
    *XPLANE,
    *TFEVENTS,
    *ROCPROF,
    *TF_TRACE,
    *POWER,
    *PACKED,
    *FOLDERS,
)
