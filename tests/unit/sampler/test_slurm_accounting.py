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


def test_the_step_of_all_nodes_is_taken_and_nothing_is_said_where_the_job_agrees(tmp_path):
    found = energy(
        tmp_path,
        "42|COMPLETED|3600|2|n[1-2]|2000000",
        "42.batch|COMPLETED|3600|1|n1|990000",
        "42.extern|COMPLETED|3600|2|n[1-2]|2000000",
        "43|COMPLETED|3600|2|n[1-2]|5",
    )
    assert (found.joules, found.step) == (2_000_000, "extern")
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
    assert any("3980000 J, is a sum of steps" in fault for fault in found.faults)


# What slurm 22.05 wrote of three jobs whose node drew 26.65, 11.29 and 30.34 kJ by its own meter.
REAL = {
    "1": (
        "1|COMPLETED|90|1|vm|26654",
        "1.batch|COMPLETED|90|1|vm|26745",
        "1.0|COMPLETED|60|1|vm|17248",
        "1.1|COMPLETED|30|1|vm|9406",
    ),
    "2": ("2|CANCELLED by 0|38|1|vm|", "2.batch|CANCELLED|38|1|vm|11220"),
    "3": (
        "3|COMPLETED|101|1|vm|24032",
        "3.batch|COMPLETED|101|1|vm|30038",
        "3.0|COMPLETED|40|1|vm|12016",
        "3.1|COMPLETED|40|1|vm|12016",
    ),
}


@pytest.mark.parametrize(("job", "joules"), [("1", 26_745), ("2", 11_220), ("3", 30_038)])
def test_on_a_single_node_the_batch_step_stands_for_the_job(tmp_path, job, joules):
    found = energy(tmp_path, *REAL[job], job=job)
    assert (found.joules, found.step) == (joules, "batch")
    is_doubted = any("24032 J, is a sum of steps" in fault for fault in found.faults)
    assert is_doubted == (job == "3")


def test_a_sum_of_steps_is_named_where_no_step_covers_the_job(tmp_path):
    rows = (row.replace("|1|vm|", "|2|n[1-2]|") for row in REAL["3"])
    found = energy(tmp_path, *rows, job="3")
    assert (found.joules, found.step) == (24_032, "")
    assert any(fault.startswith("That is a sum of steps") for fault in found.faults)


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


# What slurm 22.05 wrote of an array of three jobs on one node. One count fell below zero.
ARRAY_HEADER = "JobID|JobIDRaw|State|ElapsedRaw|NNodes|NodeList|ConsumedEnergyRaw"
ARRAY = (
    "5_3|6|COMPLETED|31|1|vm|7440",
    "5_3.batch|6.batch|COMPLETED|31|1|vm|8438",
    "5_3.0|6.0|COMPLETED|27|1|vm|7440",
    "5_4|7|COMPLETED|31|1|vm|7395",
    "5_4.batch|7.batch|COMPLETED|31|1|vm|18446744073709542910",
    "5_4.0|7.0|COMPLETED|27|1|vm|7395",
    "5_5|5|COMPLETED|31|1|vm|7492",
    "5_5.batch|5.batch|COMPLETED|31|1|vm|8345",
    "5_5.0|5.0|COMPLETED|27|1|vm|7492",
)


def array_energy(tmp_path: Path, job: str):
    file = tmp_path / "sacct.txt"
    file.write_text("\n".join([ARRAY_HEADER, *ARRAY, ""]))
    return read_sacct(str(file), job)


@pytest.mark.parametrize("job", ["6", "5_3"])
def test_a_job_of_an_array_is_found_by_its_own_number_and_by_that_in_the_array(tmp_path, job):
    found = array_energy(tmp_path, job)
    assert (found.joules, found.step) == (8438, "batch")


def test_a_count_below_zero_is_none(tmp_path):
    found = array_energy(tmp_path, "7")
    assert (found.joules, found.step) == (7395, "")


def test_the_jobs_of_an_array_are_added_up_and_it_is_said(tmp_path):
    found = array_energy(tmp_path, "5")
    assert (found.joules, found.step) == (8438 + 7395 + 8345, "")
    assert found.faults[0].startswith("That is the sum of 3 jobs: where several ran on one node")
    assert "5 is also the number of one of them alone: --job 5_5." in found.faults


def test_an_array_of_which_one_job_was_not_counted_has_no_sum(tmp_path):
    found = energy(tmp_path, "42_1|COMPLETED|900|1|n1|300000", "42_2|COMPLETED|900|1|n2|")
    assert found.joules is None
    assert found.faults == ("It counted nothing for 1 of the 2 jobs of this array or job.",)


def test_the_parts_of_a_job_of_several_are_added_up(tmp_path):
    found = energy(tmp_path, "42+0|COMPLETED|900|1|n1|300000", "42+1|COMPLETED|900|1|n2|200000")
    assert found.joules == 500_000
