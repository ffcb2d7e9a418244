"""What is imported until the first picture is time until an answer: modules are counted, never
seconds.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Opener, python_env
from .terminal import Terminal

pytestmark = pytest.mark.e2e

# What stands out is looked for once the picture is out: what is imported by then is written down,
# and nothing is looked for.
SCRIPT = """
import sys
from pathlib import Path
from powertui import dependencies
dependencies.one_thread()
from powertui.screens import loader

def further(*_):
    Path({out!r}).with_suffix(".part").write_text("\\n".join(sys.modules))
    Path({out!r}).with_suffix(".part").rename({out!r})

loader.further = further
sys.argv = ["powertui", "demo"]
from powertui.__main__ import run
run()
"""

# Findings, tools, tables that are open on no first page, dialogs, other pages; packages that
# nothing of it needs.
LATER = (
    "google.protobuf",
    "importlib.metadata",
    "numpy.random",
    "pandas",
    "plotext",
    "tomllib",
    "tomli",
    "powertui.capture",
    "powertui.data.energy.findings",
    "powertui.data.energy.fold",
    "powertui.data.energy.host_energy",
    "powertui.data.energy.results",
    "powertui.data.energy.step_table",
    "powertui.data.export",
    "powertui.data.hit_table",
    "powertui.data.hlo",
    "powertui.data.live",
    "powertui.data.tools",
    "powertui.data.training.training_findings",
    "powertui.data.training.training_energy",
    "powertui.feed",
    "powertui.report",
    "powertui.sampler.process",
    "powertui.screens.asking",
    "powertui.screens.capturing",
    "powertui.screens.export",
    "powertui.screens.help",
    "powertui.screens.live",
    "powertui.screens.open",
    "powertui.screens.overview",
    "powertui.screens.palette",
    "powertui.screens.symmetry",
    "powertui.screens.tool",
    "powertui.view.visible_content",
    "powertui.view.content_lists",
    "powertui.view.legend_lines",
)
# Modules of powertui. 281 became 296 when large files were divided by idea, with nothing new in them,
# and 320 when readings got a vote on clocks and every channel an owner: the demo's first picture
# shows where its power belongs (2026-11-23). It became 312 when file names no longer imported readers,
# and 334 when pages of more than 450 lines were divided by idea, in energy, power, logdir, view and
# widgets: nothing new is imported with them; 335 with what hides the secrets of a trace, and
# 339 with places as commands and the statistics that five files of energy had each their own of
# (2026-11-24).
# 343 with Textual's private names in one file and plus-minus in ASCII; two came before these.
# 345 with power that is asked of a server (power_server) and the logs of a training in a file of
# their own (training_logs), 346 with how power was aligned in words (aligned_by), 348 with when a
# training began (training_start), 354 with the settings that energy answers share and the words of
# kernels that a comparison uses, too (names_in_words), 355 with what the end waits for,
# 357 with where a finding is drawn (finding_flag) and the costs of edges (edge_costs),
# 364 with what draws levels, slow steps and tuned colors, medians and look-ups of columns,
# 374 with readings of repeated work and the curve that they are held against (seven), the names of
# JAX's ops, and two for what a cell of a lane shows, 375 with stretches that tables of energy share
# with Slurm's (windows), 378 with what a reading costs, what is expected of work, and rivals, each
# apart from the search for a place (residual_price, work_prior, rival_places), 382 with the lines
# beside the timeline (context_lines), what is drawn upon a power curve (power_drawing), what lies over
# a track (track_index), which lines and columns of a table are in sight (listed_table), and what its
# cells show, compiled (compiled_cells).
# 389 with steps that are drawn and work that is asked for (drawn_steps, asked_work), what shows a
# clock (clock_evidence), how a table of power is laid out (table_layout, table_signs), and readings
# that are held (held_readings), 390 with the few scalars beside a short run (tfevents_singles); 384
# without findings, integrals and facts that no first picture asks; 385 with what follows the power
# when it is moved (late_training), two of them on a busy machine alone.
MAX_MODULES = 385  # four of them make classes cheaply, know help, and hold what screens take


def test_the_first_picture_needs_little(tmp_path: Path) -> None:
    out = tmp_path / "modules"
    with Terminal(
        [sys.executable, "-c", SCRIPT.format(out=str(out))], size=(200, 50), env=python_env()
    ) as terminal:
        terminal.wait_for("whole run")
        terminal.wait_until(out.exists, "what is imported")
    # numpy 1 imports numpy.random by itself.
    of_numpy = subprocess.check_output(
        [sys.executable, "-c", "import numpy, sys; print(*sys.modules)"], text=True
    ).split()
    found = [name for name in out.read_text().split() if name not in of_numpy]
    early = [
        name for name in found if any(name == one or name.startswith(f"{one}.") for one in LATER)
    ]
    assert early == []
    assert 150 < sum(name.startswith("powertui.") for name in found) <= MAX_MODULES


def test_what_stands_out_is_told_after_the_picture(start: Opener) -> None:
    terminal = start("demo", size=(200, 50))
    terminal.wait_for("whole run")
    terminal.wait_for("At a glance")
