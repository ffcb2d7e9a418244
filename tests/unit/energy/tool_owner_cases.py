"""Cases of power with known owners as monitoring tools write it: Telegraf, Grafana, Zeus, W&B, dmon,
Kepler, DCGM, and columns whose hosts are spelled with other signs.

Each owner was decided before the program was asked. None: nothing may be counted, for nothing shows
whose it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone

from tests.synthetic.owned import Rank, lines_of, moments, watts, wide
from tests.synthetic.owned_logs import gpu, nvidia_smi, pci, uuid
from tests.unit.energy.owner_cases import VM, Case

UTC = ("--tz", "UTC")
GPU_04 = (Rank("gpu-04"),)


def utc(at: float, form: str) -> str:
    return datetime.fromtimestamp(at, timezone.utc).strftime(form)


def prometheus(series: Sequence[tuple[Mapping[str, str], float]]) -> str:
    """The answer to a range query: counters of joules by their names, else watts."""
    result = []
    for row, (labels, level) in enumerate(series):
        total = 1000.0
        values = []
        for k, at in moments():
            level_now = watts(level, k, row)
            total += level_now
            is_counter = labels["__name__"].endswith("_total")
            values.append([at, f"{total if is_counter else level_now:.3f}"])
        result.append({"metric": labels, "values": values})
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}})


def kepler(instance: str, mode: str) -> dict[str, str]:
    return {"__name__": "kepler_node_platform_joules_total", "instance": instance, "mode": mode}


def dcgm(host: str, number: int, **labels: str) -> dict[str, str]:
    about = {"gpu": str(number), "UUID": uuid(number), "Hostname": host}
    return {"__name__": "DCGM_FI_DEV_POWER_USAGE", **about, **labels}


def dmon(levels: Sequence[float]) -> str:
    """nvidia-smi dmon -s pu -o DT, which writes its header again and again."""
    head = "#Date       Time        gpu    pwr  gtemp     sm\n"
    head += "#YYYYMMDD   HH:MM:SS    Idx      W      C      %\n"
    lines = []
    for k, at in moments():
        if k % 20 == 0:
            lines.append(head)
        lines += [
            f" {utc(at, '%Y%m%d   %H:%M:%S')} {number:6d} {watts(level, k, number):6.0f} 40 97\n"
            for number, level in enumerate(levels)
        ]
    return "".join(lines)


def zeus(level: float, channel: int) -> str:
    """A file of Zeus' power monitor: its name alone says which GPU it is of."""
    return lines_of(
        lambda k, at: f"{utc(at, '%Y-%m-%d %H:%M:%S.000')},{watts(level, k, channel):.3f}\n",
        "time,power\n",
    )


def telegraf(servers: Sequence[tuple[str, float]]) -> str:
    """Telegraf's ipmi_sensor: `host` is where Telegraf runs, `server` is what it asked."""
    return "".join(
        f"ipmi_sensor,host=head,server={server},name=pwr_consumption,unit=watts "
        f"value={watts(level, k, row):.1f} {int(at) * 10**9}\n"
        for k, at in moments()
        for row, (server, level) in enumerate(servers)
    )


def panel(runs: Mapping[str, float]) -> str:
    """A panel of W&B, saved as CSV: a column for each run, and its extremes."""
    ends = ("", "__MIN", "__MAX")
    names = [f'"{run} - system/gpu.0.powerWatts{end}"' for run in runs for end in ends]
    lines = [",".join(('"_timestamp"', *names))]
    for k, at in moments():
        cells = [f"{watts(level, k, row):.2f}" for row, level in enumerate(runs.values())]
        lines.append(",".join((f"{at:.1f}", *(cell for cell in cells for _ in ends))))
    return "\n".join(lines) + "\n"


def grafana(columns: Mapping[str, float]) -> str:
    """A panel without aliases: its columns are called by the labels alone."""
    quoted = (name.replace('"', '""') for name in columns)
    lines = ['"Time",' + ",".join(f'"{name}"' for name in quoted)]
    for k, at in moments():
        cells = (f"{watts(level, k, row):.0f} W" for row, level in enumerate(columns.values()))
        lines.append(",".join((utc(at, "%Y-%m-%d %H:%M:%S"), *cells)))
    return "\n".join(lines) + "\n"


TOOLS = (
    # ── parts of two machines ──
    Case(
        "supplies with letters of this host and of another",
        VM,
        {
            "pdu.csv": wide(
                {
                    "vm PSU-A (W)": 200,
                    "vm PSU-B (W)": 210,
                    "db PSU-A (W)": 301,
                    "db PSU-B (W)": 310,
                }
            )
        },
        {"vm": 410},
        410,
    ),
    Case(
        "supplies with letters of two other hosts",
        VM,
        {"pdu.csv": wide({"web PSU-A (W)": 200, "db PSU-A (W)": 301})},
        {"vm": None},
        None,
    ),
    Case(
        "phases with letters",
        VM,
        {
            "pdu.csv": wide(
                {"Phase A Power (W)": 100, "Phase B Power (W)": 110, "Phase C Power (W)": 120}
            )
        },
        {"vm": 330},
        330,
    ),
    Case(
        "a GPU and the rails of its board",
        (Rank("vm", gpus=(gpu(0),)),),
        {
            "hwinfo.csv": wide(
                {
                    "GPU Power [W]": 200,
                    "GPU NVVDD1 Input Power [W]": 120,
                    "GPU FBVDD Input Power [W]": 30,
                }
            )
        },
        {"vm": 200},
        200,
    ),
    Case(
        "GPU 0 of two runs",
        (Rank("vm", gpus=(gpu(0),)),),
        {"wandb.csv": panel({"happy-sun-1": 150, "sad-moon-2": 210})},
        {"vm": None},
        None,
    ),
    # ── signs in names ──
    Case(
        "controllers of hosts called gpu-04 and gpu-05",
        GPU_04,
        {"power.csv": wide({"gpu-04-ipmi_w": 200, "gpu-05-ipmi_w": 301})},
        {"gpu-04": 200},
        200,
    ),
    Case(
        "fields of hosts called gpu-04 and gpu-05",
        GPU_04,
        {"power.csv": wide({"gpu_04_power_watts": 200, "gpu_05_power_watts": 301})},
        {"gpu-04": 200},
        200,
    ),
    Case(
        "fields of hosts called web-1 and web-2",
        (Rank("web-1"),),
        {"power.csv": wide({"web_1_power_watts": 200, "web_2_power_watts": 301})},
        {"web-1": 200},
        200,
    ),
    Case(
        "a word of a column, said",
        (Rank("3f2a9c1b7d5e"),),
        {"power.csv": wide({"vm_power_w": 200, "db_power_w": 301})},
        {"3f2a9c1b7d5e": 200},
        200,
        ("--power-host", "vm=3f2a9c1b7d5e"),
    ),
    # ── who asked, and who was asked ──
    Case(
        "a controller by its address, asked from this host",
        (Rank("head"),),
        {"telegraf.influx": telegraf([("10.0.0.17", 301)])},
        {"head": None},
        None,
        ("--power", "LOGS/telegraf.influx"),
    ),
    Case(
        "controllers of this host and of another, asked from a third",
        VM,
        {"telegraf.influx": telegraf([("vm-bmc", 200), ("db-bmc", 301)])},
        {"vm": 200},
        200,
        ("--power", "LOGS/telegraf.influx"),
    ),
    Case(
        "columns called by labels alone",
        VM,
        {
            "grafana.csv": grafana(
                {'{instance="vm:9290", job="ipmi"}': 200, '{instance="db:9290", job="ipmi"}': 301}
            )
        },
        {"vm": 200},
        200,
        UTC,
    ),
    Case(
        "Kepler's counters of this node and of another",
        VM,
        {
            "kepler.json": prometheus(
                [
                    (kepler("vm", "dynamic"), 150),
                    (kepler("vm", "idle"), 60),
                    (kepler("db", "dynamic"), 301),
                ]
            )
        },
        {"vm": 210},
        210,
        ("--power", "LOGS/kepler.json"),
    ),
    # ── GPUs ──
    Case(
        "two MIG instances of one GPU",
        (Rank("vm", gpus=(gpu(0),)),),
        {
            "dcgm.json": prometheus(
                [
                    (dcgm("vm", 0, GPU_I_PROFILE="1g.10gb", GPU_I_ID="3"), 200),
                    (dcgm("vm", 0, GPU_I_PROFILE="2g.20gb", GPU_I_ID="5"), 200),
                ]
            )
        },
        {"vm": 200},
        200,
        ("--power", "LOGS/dcgm.json"),
    ),
    Case(
        "the second of four GPUs of dmon",
        (Rank("vm", gpus=(gpu(1),)),),
        {"dmon.txt": dmon([90, 150, 210, 270])},
        {"vm": 150},
        150,
        (*UTC, "--power", "LOGS/dmon.txt"),
    ),
    Case(
        "the second of two files of Zeus",
        (Rank("vm", gpus=(gpu(1),)),),
        {"gpu0.power.csv": zeus(90, 0), "gpu1.power.csv": zeus(150, 1)},
        {"vm": 150},
        150,
        UTC,
    ),
    Case(
        "a UUID without its prefix",
        (Rank("trace_rank0", inside="vm", number=0, gpus=(gpu(0, uuid=uuid(1)[4:]),)),),
        {"gpu.csv": nvidia_smi(["index", "uuid"], [(0, uuid(0), 90), (1, uuid(1), 150)])},
        {"trace_rank0": 150},
        150,
        UTC,
    ),
    Case(
        "an address as nvidia-smi writes it, in the profile",
        (Rank("vm", gpus=(gpu(0, pci_bus_id=pci(1)),)),),
        {"gpu.csv": nvidia_smi(["index", "pci.bus_id"], [(0, pci(0), 90), (1, pci(1), 150)])},
        {"vm": 150},
        150,
        UTC,
    ),
)
