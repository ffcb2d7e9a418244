"""The ten things that people come for, as keystrokes and what the screen has to say after them.

docs/tasks.md and its pictures are made of this table (scripts/tasks.py), and
tests/screens/test_tasks.py presses the keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

SIZES = {"80x24": (80, 24), "120x36": (120, 36), "200x50": (200, 50)}


@dataclass(frozen=True)
class Task:
    """One thing to find out.

    Keys are named as Textual names them; what begins with "type " is typed.
    """

    id: str
    title: str  # what is wanted
    # what powertui is called with: "demo", "power" (its power log alone), "logdirs" (a folder of
    # two runs)
    opened: str
    keys: tuple[str, ...]
    says: tuple[str, ...]  # stands on the screen at each size, whatever its width
    told: str  # the answer as the page tells it: words for docs/tasks.md

    def pressed(self) -> Iterator[str]:
        """Every key by itself."""
        for key in self.keys:
            yield from (
                ("space" if char == " " else char for char in key[5:])
                if key.startswith("type ")
                else (key,)
            )

    @property
    def count(self) -> int:
        """How many keystrokes it takes."""
        return sum(1 for _ in self.pressed())


TASKS = (
    Task(
        "drew-more",
        "Which steps drew more?",
        "demo",
        ("3",),
        ("Epoch 1, steps 46-71: +59 W", "+149 J", "that nothing in the"),
        (
            "The first screen says it below the timeline, and its findings lane shows where; `3` "
            "shows more, Enter goes there"
        ),
    ),
    Task(
        "top-op",
        "Top op of epoch 1",
        "demo",
        ("right_curly_bracket", "t"),
        ("epoch 1: 10.9 s, 100 steps", "conv2d_1_2 · Conv2D"),
        (
            "`}` makes the next epoch the window, `t` shows its ops: 100 calls, not those of its "
            "neighbors; the line above the table says of what it is"
        ),
    ),
    Task(
        "longest-step",
        "Longest step, and why",
        "demo",
        ("6", "i"),
        ("epoch 0, step 0", "median", "here", "tf.function-graph_building", "+638.8 ms"),
        (
            "Steps stand with the longest first: step 0, 1.522 s for 90.51 ms, builds the graph. "
            "`i` puts the median beside it, with the difference. From 31 rows on the first screen "
            "has both beside the tracks"
        ),
    ),
    Task(
        "epochs",
        "Energy of epoch 0 against epoch 1",
        "demo",
        ("1",),
        ("epoch 0 2,617 J", "epoch 1 2,748 J", "epoch 1 less epoch 0 "),
        (
            "Both with ±, and their difference with its interval; the epoch lane of the timeline "
            "has the joules, too"
        ),
    ),
    Task(
        "input-bound",
        "Does it wait for input?",
        "demo",
        ("1",),
        ("Computing on the host takes", "Input"),
        (
            "The overview: no, computing takes most of the time, and waiting for input 0.3 %. From "
            "34 rows on it stands at the foot of the first screen"
        ),
    ),
    Task(
        "matmul",
        "Mean of a MatMul",
        "demo",
        ("5", "g"),
        ("_MklMatMul (4)", "average", "199.5 µs", "_MklNativeFusedMatMul (2)", "314.9 µs"),
        (
            "`g` puts ops together by type: 199.5 µs over 800 calls, 314.9 µs where it is fused. "
            "`F` `matmul` lists and adds up what has that name"
        ),
    ),
    Task(
        "export",
        "Export the steps that drew more, read them in pandas",
        "demo",
        ("right_parenthesis", "e", "enter"),
        ("Wrote 10 samples",),
        (
            "`)` makes the finding the window: a CSV file of exactly that, which `pandas.read_csv` "
            "takes as it is. Any other window by its name: `:` `epoch 1 step 45-71`"
        ),
    ),
    Task(
        "two-runs",
        "Open two runs together",
        "logdirs",
        ("space", "space", "equals_sign"),
        (
            "Cannot tell whether a step takes longer",
            "3.619 ms in A, 3.484 ms in B",
            "To tell",
        ),
        (
            "Both stay open, `R` leads from one to the other. `=` compares them: what changed, by "
            "how much, and here which recording would decide it"
        ),
    ),
    Task(
        "stall",
        "Why did a step stall?",
        "demo",
        ("6", "down", "i"),
        ("step 74", "median", "here", "share", "+18.74 ms", "51.8 %"),
        (
            "Step 74 of epoch 1: +18.74 ms, half of the stall, in one op; 32.25 ms in the median "
            "step, 50.99 ms here. From 31 rows on the first screen names that op beside the tracks"
        ),
    ),
    Task(
        "power-alone",
        "Look at a power log alone",
        "power",
        ("m", "end", "m"),
        ("watts", "Window of 21.88 s: 4,800 J ± 30", "on average"),
        (
            "The first screen says its joules with ±, mean and highest watts below the chart. `m` "
            "twice marks a window, here up to the end, and tells its joules; `e` exports it"
        ),
    ),
)
