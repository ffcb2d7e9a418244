"""What logs of tools contain beside power: units, gaps, restarts, other documents, hostile text."""

from __future__ import annotations

from pathlib import Path

import pytest

from powertui.data.power import registry
from powertui.errors import PowertuiError, UnreadableFile


def said(path: Path) -> str:
    return " ".join(str(warning) for warning in registry.load(str(path)).warnings)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("dcgm_dmon_untimed.txt", ["'N/A' instead of a reading", "one round every 1 s is assumed"]),
        ("tegrastats_nano.log", ["one round every 1 s is assumed"]),
        ("ptdaemon.txt", ["-1, not measured"]),
        ("sacct.txt", ["reports no energy", "whole nodes"]),
        ("aiu_smi.csv", ["'-' instead of a reading"]),
        ("likwid_total.txt", ["no power within it is known"]),
    ],
)
def test_what_was_left_out_or_assumed_is_said(tools: Path, name: str, words: list[str]) -> None:
    for part in words:
        assert part in said(tools / name)


def written(tmp_path: Path, text: str, name: str = "log.txt") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def test_several_answers_without_a_time_are_refused_with_the_command(tmp_path: Path) -> None:
    card = '{"card0": {"Average Graphics Package Power (W)": "35.0"}}\n'
    with pytest.raises(UnreadableFile, match="answers of rocm-smi and no time") as caught:
        registry.load(str(written(tmp_path, card * 3)))
    assert "date +%s" in str(caught.value)
    alone = registry.load(str(written(tmp_path, card)))
    assert alone.series[0].watts.tolist() == [35.0]


def test_a_temperature_of_a_power_supply_is_no_power(tmp_path: Path) -> None:
    """`ipmitool sensor get` names the unit; where it names none, the sensor's name has to."""

    def block(name: str, reading: str) -> str:
        return (
            f"2026-11-20 10:00:00\nSensor ID              : {name} (0x1)\n Sensor Reading   "
            f"     : {reading}\n Status : ok\n"
        )

    text = (
        block("PS1 Power Temp", "35 (+/- 0) degrees C")
        + block("Fan 1", "30 (+/- 0)")
        + block("Total Power", "280 (+/- 0) Watts")
    )
    log = registry.load(str(written(tmp_path, text * 2)))
    assert log.dialect == "ipmitool"
    assert [series.sensor.name for series in log.series] == ["Total Power"]


@pytest.mark.parametrize("text", ["245.5", "-3", "1e30", "1.1e30", "-1.1e30", "inf", "-inf", "nan"])
def test_a_reading_of_a_scrape_is_a_number_where_a_tables_cell_is(text: str) -> None:
    from powertui.data.power import prometheus_metrics, table

    assert prometheus_metrics.metric_value(text) == pytest.approx(table.number(text), nan_ok=True)


def test_half_of_powerboards_names_are_not_its_header() -> None:
    from powertui.data.power import powerboard

    assert powerboard.sniff("Time_elapsed,Sensor_Name,Sensor_Reading\n", "x.csv") == 100
    assert powerboard.sniff("Time_elapsed,loss\n", "x.csv") == 0
    assert powerboard.sniff("step,Sensor_Reading\n", "x.csv") == 0


def test_an_entity_in_xml_is_text(tmp_path: Path) -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "1"><!ENTITY b "&a;&a;&a;&a;">]>\n'
    body = (
        "<gpu id='x'><product_name>&b;</product_name><gpu_power_readings><power_draw>40 "
        "W</power_draw></gpu_power_readings></gpu>"
    )
    log = registry.load(
        str(
            written(
                tmp_path,
                (
                    f"{bomb}<nvidia_smi_log><timestamp>Wed May  1 10:00:00 "
                    f"2024</timestamp>{body}</nvidia_smi_log>"
                ),
            )
        )
    )
    assert log.series[0].sensor.device is not None
    assert log.series[0].sensor.device.model == "&b;"


def test_one_of_several_attached_gpus_is_not_called_the_first(tools: Path, tmp_path: Path) -> None:
    text = (
        (tools / "nvidia_query.xml").read_text().replace("<attached_gpus>2<", "<attached_gpus>8<")
    )
    log = registry.load(str(written(tmp_path, text)))
    assert {series.sensor.device.index for series in log.series if series.sensor.device} == {None}
    assert {series.sensor.device.pci for series in log.series if series.sensor.device} == {
        "0000:1b:00.0",
        "0000:1c:00.0",
    }


def test_a_header_again_after_a_restart_is_no_row(tools: Path, tmp_path: Path) -> None:
    for name in ("amd_smi_monitor.csv", "dcgm_dmon.txt", "aiu_smi.txt", "rocm_smi.csv"):
        text = (tools / name).read_text()
        later = text.replace("17145576", "17145586").replace("10:00:", "10:20:")
        found = registry.load(str(written(tmp_path, text + later, name)))
        assert [len(s) for s in found.series] == [
            2 * len(s) for s in registry.load(str(tools / name)).series
        ], name


def test_a_broken_document_among_whole_ones_costs_itself(tools: Path, tmp_path: Path) -> None:
    lines = (tools / "shelly_gen2.jsonl").read_text().splitlines()
    lines[1] = lines[1][:60]
    path = written(tmp_path, "\n".join(lines) + "\n")
    assert registry.load(str(path)).series[0].watts.tolist() == [150.5, 152.5, 153.5]
    assert "not a whole JSON document" in said(path)


def test_dcgm_blanks_are_no_watts(tmp_path: Path) -> None:
    rows = "".join(
        f"GPU 0  {value}\n" for value in ("300.5", "2147483632", "9223372036854775794", "301.5")
    )
    path = written(tmp_path, "#Entity   POWER\nID        W\n" + rows)
    assert registry.load(str(path)).series[0].watts.tolist() == [300.5, 301.5]


@pytest.mark.parametrize(
    "text",
    [
        "{" * 50_000,
        "[" * 50_000,
        '{"a":' * 20_000,
        '{"apower": 1' * 5_000,
        "<nvidia_smi_log>" * 5_000,
    ],
)
def test_hostile_nesting_ends_with_a_sentence(tmp_path: Path, text: str) -> None:
    for head in ("", '{"apower": 3.5, "ts": 1714557600}\n'):
        path = written(tmp_path, head + text)
        try:
            log = registry.load(str(path))
        except PowertuiError:
            continue
        assert len(log.series) <= 2
