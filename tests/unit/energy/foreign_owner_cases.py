"""Cases of power with known owners whose columns are named by others: orchestrators, makers of
electricity meters, homes, chassis and counters.

Each owner was decided before the program was asked. None: nothing may be counted, for nothing shows
whose it is.
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.synthetic.owned import Rank, long, moments, watts, wide
from tests.synthetic.owned_logs import gpu, nvidia_smi
from tests.unit.energy.owner_cases import AB, VM, Case

UTC = ("--tz", "UTC")


def counters(levels: Mapping[str, float], per_joule: float = 1.0) -> str:
    """A table of counters of energy that these watts drive."""
    lines = [",".join(("time_unix_s", *levels))]
    totals = dict.fromkeys(levels, 0.0)
    for k, at in moments():
        cells = (f"{1000 + total * per_joule:.6f}" for total in totals.values())
        lines.append(f"{at:.1f}," + ",".join(cells))
        for i, (name, level) in enumerate(levels.items()):
            totals[name] += watts(level, k, i)
    return "\n".join(lines) + "\n"


FOREIGN = (
    # ── what runs on a machine ──
    Case(
        "pods of this node and of another",
        VM,
        {
            "power.csv": long(
                ["node", "pod"], [("vm", "train-0", 90), ("vm", "db-0", 30), ("w2", "web", 301)]
            )
        },
        {"vm": None},
        None,
    ),
    Case(
        "containers of this host",
        VM,
        {"power.csv": long(["host", "container"], [("vm", "trainer", 90), ("vm", "cache", 30)])},
        {"vm": None},
        None,
    ),
    Case(
        "virtual machines of a hypervisor",
        VM,
        {"power.csv": long(["vm_name"], [("vm", 200), ("db", 301)])},
        {"vm": 200},
        200,
    ),
    Case(
        "users",
        VM,
        {"power.csv": long(["user"], [("anna", 200), ("bob", 301)])},
        {"vm": None},
        None,
    ),
    # ── what machines are plugged into, and what else is ──
    Case("a UPS", VM, {"power.csv": wide({"ups_output_power_w": 2000})}, {"vm": None}, None),
    Case("a meter", VM, {"power.csv": wide({"building_power_kw": 40})}, {"vm": None}, None),
    Case("a switch", VM, {"power.csv": wide({"switch_power_w": 90})}, {"vm": None}, None),
    Case(
        "a reading of the moment beside its mean",
        VM,
        {"power.csv": wide({"avg_power_w": 230, "max_power_w": 280, "inst_power_w": 240})},
        {"vm": 240},
        240,
    ),
    Case("a kitchen", VM, {"power.csv": wide({"fridge_power_w": 90})}, {"vm": None}, None),
    Case(
        "phases of a rack",
        VM,
        {"power.csv": wide({f"rack L{phase} power (W)": 900 for phase in (1, 2, 3)})},
        {"vm": None},
        None,
    ),
    Case(
        "cooling and lights beside this host",
        VM,
        {"power.csv": wide({"crac_power_w": 5000, "lights_power_w": 80, "vm_power_w": 200})},
        {"vm": 200},
        200,
    ),
    Case(
        "blades of a chassis",
        (Rank("blade3"),),
        {"power.csv": wide({"chassis_w": 2400, "blade1_w": 300, "blade3_w": 210})},
        {"blade3": 210},
        210,
    ),
    Case(
        "slots of a chassis",
        VM,
        {"power.csv": long(["chassis", "slot"], [("c1", 1, 200), ("c1", 2, 301)])},
        {"vm": None},
        None,
    ),
    # ── units and counters ──
    Case(
        "kilowatts of this host",
        VM,
        {"power.csv": wide({"vm_power_kw": 0.2, "other7_power_kw": 0.301})},
        {"vm": 200},
        200,
    ),
    Case(
        "counters of both hosts",
        AB,
        {"power.csv": counters({"node-a_energy_j": 200, "node-b_energy_j": 301})},
        {"node-a": 200, "node-b": 301},
        501,
    ),
    Case(
        "counters of a package, its cores and the memory",
        VM,
        {"power.csv": counters({"package-0_uj": 120, "core_uj": 90, "dram_uj": 20}, 1e6)},
        {"vm": 140},
        140,
    ),
    # ── parts ──
    Case(
        "a supply that is off",
        VM,
        {"power.csv": wide({"psu1_power_w": 0.0, "psu2_power_w": 250})},
        {"vm": 250},
        250,
    ),
    Case(
        "a short address of a GPU",
        (Rank("vm", gpus=(gpu(0, pci_bus_id="0000:13:00.0"),)),),
        {"gpu.csv": nvidia_smi(["gpu_bus_id"], [("13:00.0", 180), ("14:00.0", 90)])},
        {"vm": 180},
        180,
        UTC,
    ),
    Case(
        "parts and their sum",
        VM,
        {"power.csv": wide({"cpu_power_w": 150, "gpu_power_w": 180, "sum_power_w": 330})},
        {"vm": 330},
        330,
    ),
)
