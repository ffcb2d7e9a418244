"""`powertui energy` begins with the answer, fits 80 columns, and writes energies with four
digits.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from powertui import cli, units
from powertui.data.energy.clock_words import clock_words
from powertui.data.energy.findings.finding import Finding, Findings
from powertui.data.energy.log_alignment import Alignment
from powertui.data.energy.measured_energy import unresolved
from powertui.data.model import Badge
from powertui.report.energy_figures import brief_findings, finding_lines
from powertui.report.energy_words import EnergyWords, clock_line
from powertui.report.page_style import style_of
from tests.synthetic import Burst, Plan, build

pytestmark = pytest.mark.usefixtures("worked_out_once", "read_once")


@pytest.fixture(scope="module")
def logdir(tmp_path_factory):
    """Two epochs with a burst, and a log of the machine and one of its GPU."""
    root = tmp_path_factory.mktemp("answer")
    work = build(3, Plan(seconds=24, step_s=0.2, bursts=(Burst(1, 20, 40, 80.0),)))
    profile = root / "plugins" / "profile" / "2024_01_01_00_00_00" / "host.xplane.pb"
    profile.parent.mkdir(parents=True)
    profile.write_bytes(work.xplane())
    times = np.arange(-7.0, work.edges[-1], 0.25)
    watts = [float(work.energy(at - 0.25, at)) / 0.25 for at in times]
    lines = [f"{1_700_000_000 + at:.3f},{w:.2f}\n" for at, w in zip(times, watts, strict=True)]
    (root / "power.csv").write_text("time_unix_s,watts\n" + "".join(lines))
    lines = [f"{1_700_000_000 + at:.3f},0,{w:.2f}\n" for at, w in zip(times, watts, strict=True)]
    (root / "gpu.log").write_text("timestamp,index,power.draw [W]\n" + "".join(lines))
    return root, work


def _lines(capsys, *args: str) -> list[str]:
    assert cli.main(["energy", *args]) == 0
    return capsys.readouterr().out.splitlines()


def test_the_first_three_lines_are_the_answer(logdir, capsys) -> None:
    root, _ = logdir
    lines = _lines(capsys, str(root), "--power", str(root / "power.csv"))
    figures = r"[\d,.]+ k?J ± [\d.]+ in [\d.]+ s   [\d.]+ W mean   [\d.]+ J a step   [\d.]+ Wh"
    assert re.fullmatch(figures, lines[0])
    assert lines[1].startswith("epoch 1, steps ")
    assert re.match(
        r"clock: (agrees with the edges of the training|assumed to be right)\W* ± \d+ ms ", lines[2]
    )
    assert "sensor: " in lines[2]
    assert "Sensors" not in lines
    assert "Alignment" not in lines


def test_the_rest_is_told_on_request(logdir, capsys) -> None:
    root, _ = logdir
    lines = _lines(capsys, str(root), "--power", str(root / "power.csv"), "--verbose")
    assert {"Sensors", "Alignment", "Notes on the files"} <= set(lines)


def test_two_profiles_of_one_logdir_without_a_power_log_get_the_reason(tmp_path, capsys) -> None:
    for second, seed in (("00", 3), ("40", 4)):
        profile = tmp_path / "plugins" / "profile" / f"2023_11_14_22_13_{second}" / "host.xplane.pb"
        profile.parent.mkdir(parents=True)
        unix_s = 1_700_000_000.0 + int(second)
        profile.write_bytes(build(seed, Plan(seconds=8, step_s=0.2, unix_s=unix_s)).xplane())
    lines = _lines(capsys, str(tmp_path))
    assert any(line.startswith("The whole training ") for line in lines)
    assert "no power log was found with this run; name one with --power FILE" in lines


def test_the_table_fits_80_columns(logdir, capsys) -> None:
    root, _ = logdir
    lines = _lines(capsys, str(root), "--power", str(root / "power.csv"))
    last = next(at for at, line in enumerate(lines) if line.startswith("  the whole profile"))
    assert len(lines[5 : last + 1]) >= 4
    assert max(map(len, lines[:1] + lines[5 : last + 1])) <= 80


def test_rows_add_up_to_the_whole(logdir, capsys) -> None:
    root, _ = logdir
    assert cli.main(["energy", str(root), "--power", str(root / "power.csv"), "--json"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    *rows, whole = run["parts"]
    assert whole["kind"] == "whole"
    assert sum(row["joules"] for row in rows if row["level"] == 0) == pytest.approx(
        whole["joules"], rel=1e-6
    )
    assert sum(row["seconds"] for row in rows if row["level"] == 0) == pytest.approx(
        whole["seconds"]
    )


def test_steps_of_an_epoch_are_a_window_as_in_export(logdir, capsys) -> None:
    root, work = logdir
    args = ("--power", str(root / "power.csv"), "--epoch", "1", "--steps", "20-40", "--json")
    assert cli.main(["energy", str(root), *args]) == 0
    (window,) = json.loads(capsys.readouterr().out)["windows"]
    truth = float(work.energy(window["start_s"], window["end_s"]))
    assert window["name"] == "epoch 1, steps 20-40"
    assert window["lo"] <= truth <= window["hi"]
    assert cli.main(["energy", str(root), "--steps", "900-901"]) == 2


def test_energies_are_shown_in_the_unit_that_was_asked_for(logdir, capsys) -> None:
    root, _ = logdir
    shown = _lines(capsys, str(root), "--power", str(root / "power.csv"), "--show-unit", "kWh")
    assert "kWh ± " in shown[0]


@pytest.mark.parametrize(
    ("joules", "unit", "half", "words"),
    [
        (3479.2, "J", 16.3, "3,479 J"),
        (12_225.0, "J", 13.0, "12.22 kJ"),
        (21.654, "J", 0.13, "21.65 J"),
        (97.2, "J", 50.0, "97 J"),
        (17_272_000.0, "Wh", 29_000.0, "4.798 kWh"),
        (3479.2, "Wh", 16.3, "0.9664 Wh"),
        (0.0, "J", 0.0, "0 J"),
        (0.000_012_5, "J", 0.0, "12.50 µJ"),
        (250.0, "kJ", 0.0, "0.2500 kJ"),
        (99_999.0, "J", 9.99, "100.0 kJ"),
        (9_999.6, "J", 0.99, "10.00 kJ"),
        (999.96, "J", 0.09, "1,000 J"),
    ],
)
def test_an_energy_has_four_digits_at_most(joules, unit, half, words) -> None:
    assert units.energy(joules, unit, half) == words


@pytest.mark.parametrize(
    ("half", "joules", "unit", "words"),
    [
        (16.3, 3479.2, "J", "16"),
        (6.0, 13_190.0, "J", "6.0 J"),
        (42.0, 15_380.0, "J", "42 J"),
        (6.0, 13_190.0, "kJ", "6.0 J"),
        (1_800.0, 15_382_800.0, "Wh", "0.50 Wh"),
        (5.3, 3479.2, "J", "5"),  # no smaller unit is shown: rounded to the last digit of 3,479
        (0.02, 3479.2, "J", "1"),
        (0.13, 21.654, "J", "0.13"),
        (9.99, 99_999.0, "J", "10 J"),
        (0.0999, 0.9999, "J", "0.10"),
    ],
)
def test_an_error_has_no_more_decimals_than_its_energy(half, joules, unit, words) -> None:
    assert units.energy_error(half, joules, unit) == words


def test_the_gain_stands_beside_the_error() -> None:
    from dataclasses import replace

    energy = replace(
        unresolved(0, 16 * 10**12, ""),
        joules=3479.0,
        lo=3304.27,
        hi=3653.73,
        gain_j=174.0,
        sigma_sampling=16 / 1.959964,
        resolved=True,
    )
    assert EnergyWords().with_error(energy) == "3,479 J ± 16 (gain ± 170)"
    nothing = replace(energy, joules=1.0, hi=36.0, sigma_sampling=18.0)
    assert EnergyWords().with_error(nothing) == "≤ 36 J"


def test_an_error_away_from_its_energy_says_its_unit() -> None:
    from dataclasses import replace

    large = replace(
        unresolved(0, 60 * 10**12, ""),
        joules=250_800.0,
        lo=241_900.0,
        hi=259_700.0,
        gain_j=8_899.15,
        sigma_sampling=123 / 1.959964,
        resolved=True,
    )
    assert EnergyWords().with_error(large) == "250.8 kJ ± 123 J (gain ± 8.9 kJ)"
    small = replace(large, joules=38_290.0, lo=37_860.0, hi=38_720.0, gain_j=None)
    assert EnergyWords().cells(small)[:3] == ["38.29 kJ", "± 0.43 kJ", ""]
    assert EnergyWords().with_error(small) == "38.29 kJ ± 0.43"


def test_an_interval_that_is_longer_on_one_side_has_one_error_everywhere() -> None:
    from dataclasses import replace

    energy = replace(
        unresolved(0, 8 * 10**12, ""),
        joules=823.0,
        lo=752.0,
        hi=978.0,
        sigma_timing=60.0,
        resolved=True,
    )
    interval = units.energy_interval(*energy.interval)
    assert EnergyWords().with_error(energy) == interval == "823 J ± 160"


def test_the_clock_of_a_profile_is_said_where_it_is_much_of_the_error() -> None:
    agrees = Alignment(0.0, -0.46, 0.46, "aligned", "x", (), clock_owner="the log", confirmed=True)
    words = "clock: agrees with the edges of the training, ± 460 ms"
    assert clock_line(agrees, 0) == clock_line(agrees, 1_000_000) == words
    assert clock_line(agrees, 254_000_000) == (
        f"{words}, of which 254 ms are the profile's own clock"
    )


def test_a_clock_that_was_wrong_is_said_with_its_side() -> None:
    ahead = Alignment(
        -25.4, -25.7, -25.1, "clock corrected", "x", (), correction_s=-15.09, clock_owner="the BMC"
    )
    assert clock_line(ahead) == "clock: 15.1 s ahead (± 300 ms): its times are corrected"
    assert clock_words(ahead, "ipmi.csv").sentence == (
        "The clock of the BMC (ipmi.csv) is 15.1 s ahead (± 300 ms): its times are corrected."
    )
    assert clock_line(None) == "clock: the log has no reading"


ONE = Finding(
    kind="power", witnesses=(), start_ps=0, end_ps=1, start_within=(0, 0), end_within=(1, 1),
    epoch=None, step_lo=None, step_hi=None, elsewhere=(), delta_watts=100.0, lo_watts=99.0,
    hi_watts=101.0, delta_joules=1.0, lo_joules=0.9, hi_joules=1.1, delta_seconds=None, p=0.0,
    badge=Badge.MEASURED,
)  # fmt: skip


def test_a_load_that_the_log_cuts_off_says_so_beside_its_evidence() -> None:
    cut = replace(ONE, cut=(True, False))
    lines = finding_lines(Findings(None, (cut, ONE)), style_of("text"))
    of_cut, of_whole = (line for line in lines if "of the trace" in line)
    assert of_cut.endswith("; the log begins inside it: the load may have been longer)")
    assert "the log" not in of_whole


def test_of_very_many_findings_a_page_lists_a_dozen() -> None:
    findings = tuple(replace(ONE, text=f"stretch {number}") for number in range(50))
    lines = brief_findings(Findings(None, findings))
    assert lines[0] == "stretch 1"
    assert lines[12:] == ["37 more (--verbose lists them)"]
    assert brief_findings(Findings(None, findings[:13])) == [f"stretch {n}" for n in range(1, 13)]
