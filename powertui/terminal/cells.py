"""A cell of the screen as one integer: what stands there in the low 21 bits, the number of its look
above them.

What stands there is a code point, or a private number above Unicode for a cluster of several. So
comparing two screens is one numpy operation.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

CellCodes = npt.NDArray[np.int64]

LOOK_SHIFT = 21
CODE_MASK = (1 << LOOK_SHIFT) - 1
SPACE = 0x20  # as a cell: a space in look 0, which is the terminal's default
FIRST_CLUSTER = 0x110000  # above Unicode: numbers for clusters of several code points
TAIL = FIRST_CLUSTER  # the second cell of a wide character
UNKNOWN = -1  # what the terminal shows there is not known
