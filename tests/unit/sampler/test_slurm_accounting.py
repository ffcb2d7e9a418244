"""What `sacct --parsable2` says of a job's energy, and what is known to be wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from powertui.errors import UnreadableFile
from powertui.sampler.slurm_accounting import read_sacct

HEADER = "JobID|State|ElapsedRaw|NNodes|NodeList|ConsumedEnergyRaw"


def energy(tmp_path: Path, *rows: str, job: str = "42"):
    file = tmp_path / "sacct.txt"
    file.write_text("\n".join([HEADER, *rows, ""]))
    return read_sacct(str(file), job)


def test_the_figure_of_the_job_is_taken_where_it_is_no_sum_of_overlapping_steps(tmp_path):
    found = energy(
        tmp_path,
        "42|COMPLETED|3600|2|n[1-2]|2000000",
        "42.batch|COMPLETED|3600|1|n1|990000",
        "42.extern|COMPLETED|3600|2|n[1-2]|2000000",
        "43|COMPLETED|3600|2|n[1-2]|5",
    )
    assert (found.joules, found.step) == (2_000_000, "")
    assert found.faults[0].startswith("Slurm counts whole nodes")
    assert len(found.faults) == 2


def test_a_sum_of_overlapping_steps_is_named_and_the_step_of_all_nodes_taken(tmp_path):
    found = energy(
        tmp_path,
        "42|COMPLETED|3600|2|n[1-2]|3980000",
        "42.batch|COMPLETED|3600|1|n1|990000",
        "42.extern|COMPLETED|3600|2|n[1-2]|2000000",
        "42.0|COMPLETED|3500|1|n1|990000",
    )
    assert (found.joules, found.step) == (2_000_000, "extern")
    assert any("3980000 J, is the sum of steps that overlap" in fault for fault in found.faults)


@pytest.mark.parametrize("count", ["", "0", "18446744073709551614", "4294967294"])
def test_nothing_counted_is_no_zero(tmp_path, count):
    found = energy(tmp_path, f"42|COMPLETED|3600|2|n[1-2]|{count}")
    assert found.joules is None
    assert "It counted nothing" in found.faults[0]


def test_short_jobs_and_counts_that_no_node_draws_are_doubted(tmp_path):
    short = energy(tmp_path, "42|COMPLETED|90|1|n1|30000")
    assert any("plugins read every 30 s or so" in fault for fault in short.faults)
    wrapped = energy(tmp_path, "42|COMPLETED|3600|2|n[1-2]|4000")
    assert any("0.556 W a node, which no node draws" in fault for fault in wrapped.faults)


@pytest.mark.parametrize("text", ["", "JobID|State\n42|COMPLETED\n", HEADER + "\n41|C|1|1|n|5\n"])
def test_a_file_without_the_job_says_how_to_write_one(tmp_path, text):
    file = tmp_path / "sacct.txt"
    file.write_text(text)
    with pytest.raises(UnreadableFile, match="holds no job 42 with its energy") as raised:
        read_sacct(str(file), "42")
    assert "sacct --parsable2 --jobs 42" in raised.value.hint
