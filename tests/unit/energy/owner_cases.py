"""Cases of power with known owners: what is profiled, what logs lie beside it, and what each profiled
process and the training are to be told. None: nothing may be counted, for nothing shows whose it is.

These were at hand when the rules were made; those of `later_owner_cases` were written when these
stood.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tests.synthetic.owned import Rank, long, wide
from tests.synthetic.owned_logs import (
    amd_smi,
    code_carbon,
    gpu,
    nvidia_smi,
    pci,
    ranks,
    uuid,
)


@dataclass(frozen=True)
class Case:
    """`runs`: the mean watts of each profiled process; `training`: those of the training."""

    name: str
    ranks: tuple[Rank, ...]
    logs: Mapping[str, str]
    runs: Mapping[str, float | None]
    training: float | None
    args: tuple[str, ...] = ()


VM = (Rank("vm"),)
AB = (Rank("node-a"), Rank("node-b"))
G1 = (Rank("vm", gpus=(gpu(0),)),)
R01 = (Rank("rank0", inside="node17", number=0), Rank("rank1", inside="node17", number=1))
EIGHT = [50.0 + 40 * number for number in range(8)]
NODE = {"node_power_w": 300.0}

FIRST = (
    Case("only node column", VM, {"power.csv": wide({"power_w": 250})}, {"vm": 250}, 250),
    Case(
        "vm and node-b columns",
        VM,
        {"power.csv": wide({"vm_power_w": 200, "node-b_power_w": 301})},
        {"vm": 200},
        200,
    ),
    Case(
        "vm and other columns",
        VM,
        {"power.csv": wide({"vm_power_w": 200, "other_power_w": 301})},
        {"vm": 200},
        200,
    ),
    Case(
        "node-b alone on vm", VM, {"power.csv": wide({"node-b_power_w": 301})}, {"vm": None}, None
    ),
    Case("other alone on vm", VM, {"power.csv": wide({"other_power_w": 301})}, {"vm": None}, None),
    Case(
        "watts-col node-a beside node-b, host node-a",
        (Rank("node-a"),),
        {"power.csv": wide({"node-a": 200, "node-b": 301})},
        {"node-a": 200},
        200,
        ("--power", "LOGS/power.csv", "--watts-col", "node-a", "--unit", "W"),
    ),
    Case(
        "watts-col node-a beside node-b, host vm",
        VM,
        {"power.csv": wide({"node-a": 200, "node-b": 301})},
        {"vm": None},
        None,
        ("--power", "LOGS/power.csv", "--watts-col", "node-a", "--unit", "W"),
    ),
    Case(
        "watts-col node-b, host node-a",
        (Rank("node-a"),),
        {"power.csv": wide({"node-a": 200, "node-b": 301})},
        {"node-a": None},
        None,
        ("--power", "LOGS/power.csv", "--watts-col", "node-b", "--unit", "W"),
    ),
    Case(
        "two ranks with host_name, node log without a name",
        R01,
        {"power.csv": wide(NODE)},
        {"rank0": 300, "rank1": 300},
        300,
    ),
    Case(
        "two ranks with host_name, log names it",
        R01,
        {"power.csv": long(["host"], [("node17", 300), ("node18", 333)])},
        {"rank0": 300, "rank1": 300},
        300,
    ),
    Case(
        "two ranks of nothing, node log",
        ranks({}, {}),
        {"power.csv": wide(NODE)},
        {"trace_rank0": None, "trace_rank1": None},
        None,
    ),
    Case(
        "two ranks of nothing, two power-hosts",
        ranks({}, {}),
        {"power.csv": wide(NODE)},
        {"trace_rank0": 300, "trace_rank1": 300},
        300,
        ("--power-host", "power.csv=trace_rank0", "--power-host", "power.csv=trace_rank1"),
    ),
    Case(
        "ranks with hostname member",
        ranks({"hostname": "node17"}, {"hostname": "node17"}),
        {"power.csv": wide(NODE)},
        {"trace_rank0": 300, "trace_rank1": 300},
        300,
    ),
    Case(
        "ranks with SLURM nodelist of one",
        ranks({"SLURM_JOB_NODELIST": "node17"}, {"SLURM_JOB_NODELIST": "node17"}),
        {"power.csv": wide(NODE)},
        {"trace_rank0": 300, "trace_rank1": 300},
        300,
    ),
    Case(
        "ranks with SLURM nodelist of two",
        ranks({"SLURM_JOB_NODELIST": "node[17-18]"}, {"SLURM_JOB_NODELIST": "node[17-18]"}),
        {"power.csv": wide(NODE)},
        {"trace_rank0": None, "trace_rank1": None},
        None,
    ),
    Case(
        "ranks with SLURM nodelist of two and SLURMD_NODENAME",
        ranks(
            {"SLURM_JOB_NODELIST": "node[17-18]", "SLURMD_NODENAME": "node17"},
            {"SLURM_JOB_NODELIST": "node[17-18]", "SLURMD_NODENAME": "node18"},
        ),
        {"power.csv": long(["host"], [("node17", 300), ("node18", 333), ("node19", 210)])},
        {"trace_rank0": 300, "trace_rank1": 333},
        633,
    ),
    Case(
        "ranks with LOCAL_RANK 0 1",
        ranks({"LOCAL_RANK": "0"}, {"LOCAL_RANK": "1"}),
        {"power.csv": wide(NODE)},
        {"trace_rank0": 300, "trace_rank1": 300},
        300,
    ),
    Case(
        "ranks with LOCAL_RANK 0 1 of LOCAL_WORLD_SIZE 2, world 2",
        ranks(
            {"LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2"},
            {"LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"},
        ),
        {"power.csv": wide(NODE)},
        {"trace_rank0": 300, "trace_rank1": 300},
        300,
    ),
    Case(
        "ranks with LOCAL_RANK 0 0",
        ranks({"LOCAL_RANK": "0"}, {"LOCAL_RANK": "0"}),
        {"power.csv": wide(NODE)},
        {"trace_rank0": None, "trace_rank1": None},
        None,
    ),
    Case(
        "one gpu of eight by index",
        G1,
        {"gpu.csv": nvidia_smi(["index"], [(g, w) for g, w in enumerate(EIGHT)])},
        {"vm": 50},
        50,
        ("--tz", "UTC"),
    ),
    Case(
        "one gpu of eight by index, reordered",
        (Rank("vm", gpus=(gpu(3),)),),
        {"gpu.csv": nvidia_smi(["index"], [(g, EIGHT[g]) for g in (5, 2, 7, 3, 0, 1, 6, 4)])},
        {"vm": EIGHT[3]},
        EIGHT[3],
        ("--tz", "UTC"),
    ),
    Case(
        "one gpu of eight by uuid",
        (Rank("vm", gpus=(gpu(0, uuid=uuid(5)),)),),
        {"gpu.csv": nvidia_smi(["uuid"], [(uuid(g), EIGHT[g]) for g in range(8)])},
        {"vm": EIGHT[5]},
        EIGHT[5],
        ("--tz", "UTC"),
    ),
    Case(
        "one gpu of eight by pci",
        (Rank("vm", gpus=(gpu(0, pci_bus_id="0000:14:00.0"),)),),
        {"gpu.csv": nvidia_smi(["pci.bus_id"], [(pci(g), EIGHT[g]) for g in range(8)])},
        {"vm": EIGHT[4]},
        EIGHT[4],
        ("--tz", "UTC"),
    ),
    Case(
        "one gpu, log by uuid alone, profile without",
        G1,
        {"gpu.csv": nvidia_smi(["uuid"], [(uuid(g), EIGHT[g]) for g in range(8)])},
        {"vm": None},
        None,
        ("--tz", "UTC"),
    ),
    Case(
        "outlets of a PDU",
        VM,
        {"pdu.csv": wide({"outlet 1 power (W)": 200, "outlet 2 power (W)": 333})},
        {"vm": None},
        None,
    ),
    Case(
        "outlet said",
        VM,
        {"pdu.csv": wide({"outlet 1 power (W)": 200, "outlet 2 power (W)": 333})},
        {"vm": 333},
        333,
        ("--power-host", "outlet 2 power (W)=vm"),
    ),
    Case(
        "outlets, long", VM, {"pdu.csv": long(["outlet"], [(1, 200), (2, 333)])}, {"vm": None}, None
    ),
    Case("column psu", VM, {"power.csv": long(["psu"], [(1, 400), (2, 411)])}, {"vm": 811}, 811),
    Case(
        "column psu with names",
        VM,
        {"power.csv": long(["psu"], [("PSU1", 400), ("PSU2", 411)])},
        {"vm": 811},
        811,
    ),
    Case("amd-smi of four", G1, {"amd.csv": amd_smi([120, 150, 180, 90])}, {"vm": 120}, 120),
    Case(
        "psus beside a gpu log",
        G1,
        {
            "bmc.csv": wide({"PSU1 power (W)": 400, "PSU2 power (W)": 411}),
            "gpu.csv": nvidia_smi(["index"], [(0, 352)]),
        },
        {"vm": 811},
        811,
        ("--tz", "UTC"),
    ),
    Case(
        "CPU Platform 0.0 W",
        VM,
        {"power.csv": wide({"CPU Platform (W)": 0.0, "package-0 (W)": 120, "dram-0 (W)": 20})},
        {"vm": 140},
        140,
    ),
    Case(
        "CPU Platform 0.0 W beside PSUs",
        VM,
        {
            "power.csv": wide(
                {"CPU Platform (W)": 0.0, "PSU1 power (W)": 120, "PSU2 power (W)": 130}
            )
        },
        {"vm": 250},
        250,
    ),
    Case(
        "same readings in two files",
        VM,
        {
            "power.csv": wide({"PSU1 power (W)": 400, "PSU2 power (W)": 411}),
            "ipmi_data.csv": wide({"PSU1 power (W)": 400, "PSU2 power (W)": 411}),
        },
        {"vm": 811},
        811,
    ),
    Case(
        "gpu beside constant index",
        (Rank("vm", gpus=tuple(gpu(g) for g in range(8))),),
        {"gpu.csv": long(["index", "gpu"], [(0, g, EIGHT[g]) for g in range(8)])},
        {"vm": sum(EIGHT)},
        sum(EIGHT),
    ),
    Case(
        "unknown word beside known host",
        VM,
        {"power.csv": wide({"vm_power_w": 200, "power_foreign": 301})},
        {"vm": 200},
        200,
    ),
    Case(
        "chassis7 beside known host",
        VM,
        {"power.csv": wide({"vm_power_w": 200, "chassis7_power_w": 301})},
        {"vm": 200},
        200,
    ),
    Case("chassis7 alone", VM, {"power.csv": wide({"chassis7_power_w": 301})}, {"vm": None}, None),
    Case(
        "long host column, none fits",
        VM,
        {"power.csv": long(["host"], [("node-a", 200), ("node-b", 300)])},
        {"vm": None},
        None,
    ),
    Case(
        "long host column, power-host",
        VM,
        {"power.csv": long(["host"], [("node-a", 200), ("node-b", 300)])},
        {"vm": 300},
        300,
        ("--power-host", "node-b=vm"),
    ),
    Case(
        "host and gpus under two names",
        G1,
        {"gpu.csv": long(["host", "gpu"], [("vm", 0, 100), ("vm", 1, 200), ("vm2", 0, 300)])},
        {"vm": 100},
        100,
    ),
    Case(
        "two hosts, one log names a",
        AB,
        {"power.csv": long(["host"], [("node-a", 200)])},
        {"node-a": 200, "node-b": None},
        None,
    ),
    Case(
        "two hosts, columns",
        AB,
        {"power.csv": wide({"node-a_w": 200, "node-b_w": 300, "node-c_w": 400})},
        {"node-a": 200, "node-b": 300},
        500,
    ),
    Case(
        "pauses between runs of a tracker are not filled in",
        VM,
        {"emissions.csv": code_carbon([("a", 6, 14), ("b", 20, 6), ("c", 44, 14)])},
        {"vm": None},
        None,
        ("--tz", "UTC"),
    ),
)
