"""The joules of jobs without a profile, from a real Prometheus that holds known watts."""

from __future__ import annotations

import json
import math
import random
import time
from typing import NamedTuple

import pytest

pytestmark = pytest.mark.e2e
GPU_WATTS = "DCGM_FI_DEV_POWER_USAGE"
SCRAPE_S = 15.0
PAD_S = 400.0  # around a job, in which its machines are scraped, too


class Job(NamedTuple):
    number: int
    start_s: float
    end_s: float
    hosts: tuple[str, ...]

    def watts(self, moment: float, gpu: int) -> float:
        """Known at each moment: 60 W, and while the job runs a wave of its own."""
        if not self.start_s <= moment <= self.end_s:
            return 60.0
        return 300.0 + 20.0 * gpu + 50.0 * math.sin(moment / (40.0 + gpu))

    @property
    def joules(self) -> float:
        total = 0.0
        for gpu in (0, 1):
            turn = 40.0 + gpu
            wave = math.cos(self.start_s / turn) - math.cos(self.end_s / turn)
            total += (300.0 + 20.0 * gpu) * (self.end_s - self.start_s) + 50.0 * turn * wave
        return total * len(self.hosts)


def drawn_jobs(count: int) -> list[Job]:
    """Of lengths that are no multiple of a scrape: both gaps at their ends are as they come."""
    rng = random.Random(36)
    begin_s = math.floor(time.time()) - 6 * 3600
    jobs = []
    for number in range(count):
        start_s = begin_s + rng.uniform(0, 7200)
        end_s = start_s + rng.choice([290.0, 1200.0, 4000.0]) + rng.uniform(0, 60)
        hosts = (f"node{number:02}a", f"node{number:02}b")
        jobs.append(Job(1000 + number, start_s, end_s, hosts))
    return jobs


def scrapes(job: Job, rng: random.Random, host: str) -> list[float]:
    first_s = job.start_s - PAD_S + rng.uniform(0, SCRAPE_S)
    return [first_s + SCRAPE_S * n for n in range(int((job.end_s - first_s + PAD_S) / SCRAPE_S))]


def fill_own_series(metric_server, jobs: list[Job]) -> None:
    """As NVIDIA's exporter has it: the label is on the power while the job runs."""
    rng = random.Random(1)
    series: dict[str, list[tuple[float, float]]] = {}
    for job in jobs:
        for host in job.hosts:
            for moment in scrapes(job, rng, host):
                inside = job.start_s <= moment <= job.end_s
                label = f',hpc_job="{job.number}"' if inside else ""
                for gpu in (0, 1):
                    labels = f'Hostname="{host}",gpu="{gpu}"{label}'
                    series.setdefault(labels, []).append((moment, job.watts(moment, gpu)))
    metric_server.fill(
        GPU_WATTS, [(name, *pair) for name, pairs in series.items() for pair in pairs]
    )


def fill_machines(metric_server, jobs: list[Job], *, metric="rmsjob_info") -> None:
    """As Omnistat has it: another metric says which job a machine runs."""
    rng = random.Random(2)
    power = []
    for job in jobs:
        for host in job.hosts:
            moments = scrapes(job, rng, host)
            for gpu in (0, 1):
                labels = f'instance="{host}:8001",gpu="{gpu}"'
                power += [(labels, moment, job.watts(moment, gpu)) for moment in moments]
    metric_server.fill(GPU_WATTS, power)
    rng = random.Random(2)
    info = []
    for job in jobs:
        for host in job.hosts:
            inside = [s for s in scrapes(job, rng, host) if job.start_s <= s <= job.end_s]
            labels = f'instance="{host}:8001",jobid="{job.number}",user="anna"'
            info += [(labels, moment, 1.0) for moment in inside]
    metric_server.fill(metric, info)


def answer(powertui, metric_server, job: object, *words: str) -> tuple[int, str, str]:
    process = powertui("energy", "--job", str(job), "--power", metric_server.url, *words)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


@pytest.mark.parametrize("fill", [fill_own_series, fill_machines])
def test_joules_of_jobs_are_known_to_within_the_gaps_between_scrapes(metric_server, powertui, fill):
    jobs = drawn_jobs(5)
    fill(metric_server, jobs)
    metric_server.start()
    for job in jobs:
        code, out, err = answer(powertui, metric_server, job.number, "--json")
        assert code == 0, err
        energy = json.loads(out)
        assert energy["own_series"] == (fill is fill_own_series)
        assert energy["lo"] <= job.joules <= energy["hi"]
        # Both gaps are at most one scrape, of which half is taken.
        most = SCRAPE_S / (job.end_s - job.start_s) + 0.005
        assert energy["joules"] == pytest.approx(job.joules, rel=most)
        gain = 0.04  # of such GPUs' own sensors, as assumed
        assert energy["hi"] - energy["lo"] < 2 * (2 * most + gain) * job.joules
        assert [machine["machine"] for machine in energy["machines"]] == list(job.hosts)


def test_pauses_between_the_jobs_of_a_user_are_not_counted(metric_server, powertui):
    begin_s = math.floor(time.time()) - 5 * 3600.0
    first = Job(1, begin_s, begin_s + 1003.0, ("node1",))
    second = Job(2, begin_s + 9000.0, begin_s + 9000.0 + 4007.0, ("node1",))
    fill_machines(metric_server, [first, second])
    metric_server.start()
    code, out, err = answer(powertui, metric_server, "user=anna", "--json")
    assert code == 0, err
    energy = json.loads(out)
    truth = first.joules + second.joules
    assert energy["lo"] <= truth <= energy["hi"]
    assert energy["joules"] == pytest.approx(truth, rel=0.01)
    _, page, _ = answer(powertui, metric_server, "user=anna")
    assert "has no samples for up to 2 h 1" in page


def test_the_page_names_what_the_joules_are_of(metric_server, powertui, tmp_path):
    (job,) = drawn_jobs(1)
    fill_machines(metric_server, [job])
    metric_server.start()
    file = tmp_path / "sacct.txt"
    file.write_text(
        "JobID|State|ElapsedRaw|NNodes|NodeList|ConsumedEnergyRaw\n"
        f"1000|COMPLETED|{job.end_s - job.start_s:.0f}|2|node00[a-b]|{job.joules * 1.1:.0f}\n"
    )
    code, out, err = answer(powertui, metric_server, 1000, "--sacct", str(file))
    assert code == 0, err
    words = " ".join(out.split())
    assert words.startswith("job 1000: ")
    assert "Power of 4 channels (gpu) of 2 machines, which rmsjob_info says" in words
    assert "rmsjob_info has no other jobid on these machines in that time." in words
    assert "Slurm's own count: " in words
    assert " % more than the power of the server gives." in words
    assert "Slurm counts whole nodes" in words


def test_a_job_that_nobody_has_seen_is_said_in_a_sentence(metric_server, powertui):
    fill_machines(metric_server, drawn_jobs(1))
    metric_server.start()
    code, out, err = answer(powertui, metric_server, 77)
    assert (code, out) == (1, "")
    assert "has no series of the last 90 days with hpc_job or " in err
    assert "--job LABEL=VALUE" in err
