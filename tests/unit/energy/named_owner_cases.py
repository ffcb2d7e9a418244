"""Cases of power whose names are close to one another, or to no machine at all: prefixes, domains,
GPU 0 of two hosts, outlets, supplies, reordered GPUs, ranks on one machine, racks and totals.

Each owner was decided before the program was asked. None: nothing may be counted, for nothing shows
whose it is.
"""

from __future__ import annotations

from tests.synthetic.owned import Rank, long, wide
from tests.synthetic.owned_logs import amd_smi, gpu, nvidia_smi, pci, uuid
from tests.unit.energy.owner_cases import AB, EIGHT, R01, VM, Case

NODE1 = (Rank("node1"),)
NODE17 = (Rank("node17"),)
VM_GPU = (Rank("vm", gpus=(gpu(0),)),)
A_GPU = (Rank("node-a", gpus=(gpu(0),)),)
AB_GPUS = (Rank("node-a", gpus=(gpu(0),)), Rank("node-b", gpus=(gpu(0),)))
FOUR_RANKS = tuple(
    Rank(f"rank{number}", inside=f"node{17 + number // 2}", number=number) for number in range(4)
)

NAMED = (
    # ── names that are prefixes of each other ──
    Case(
        "columns of node1, node10 and node11",
        NODE1,
        {"power.csv": wide({"node1_power_w": 200, "node10_power_w": 301, "node11_power_w": 333})},
        {"node1": 200},
        200,
    ),
    Case(
        "rows of node1, node10 and node100",
        (Rank("node10"),),
        {"power.csv": long(["host"], [("node1", 200), ("node10", 301), ("node100", 333)])},
        {"node10": 301},
        301,
    ),
    Case("vm1 on vm", VM, {"power.csv": wide({"vm1_power_w": 333})}, {"vm": None}, None),
    Case(
        "columns of gpu-node-1, gpu-node-2 and gpu-node-11",
        (Rank("gpu-node-1"),),
        {"power.csv": wide({"gpu-node-1_w": 200, "gpu-node-2_w": 301, "gpu-node-11_w": 333})},
        {"gpu-node-1": 200},
        200,
    ),
    Case(
        "controllers of node17 and node170",
        NODE17,
        {"power.csv": long(["host"], [("node17-ipmi.mgmt", 200), ("node170-ipmi.mgmt", 301)])},
        {"node17": 200},
        200,
    ),
    Case(
        "controllers of node17 and node18",
        NODE17,
        {"power.csv": long(["host"], [("bmc-node17", 200), ("bmc-node18", 301)])},
        {"node17": 200},
        200,
    ),
    # ── whole names against short ones ──
    Case(
        "whole name in the profile, short ones in the log",
        (Rank("vm.cluster.example.org"),),
        {"power.csv": long(["host"], [("vm", 200), ("vm2", 301)])},
        {"vm.cluster.example.org": 200},
        200,
    ),
    Case(
        "the same name in another domain",
        (Rank("vm.dc1.example.org"),),
        {"power.csv": long(["host"], [("vm.dc2.example.org", 301)])},
        {"vm.dc1.example.org": None},
        None,
    ),
    Case(
        "the same name in both domains",
        (Rank("vm.dc1.example.org"),),
        {"power.csv": long(["host"], [("vm.dc1.example.org", 200), ("vm.dc2.example.org", 301)])},
        {"vm.dc1.example.org": 200},
        200,
    ),
    Case(
        "a short name that two domains have",
        VM,
        {"power.csv": long(["host"], [("vm.dc1.example.org", 200), ("vm.dc2.example.org", 301)])},
        {"vm": None},
        None,
    ),
    Case(
        "capital letters",
        (Rank("NODE-A"),),
        {"power.csv": long(["host"], [("node-a", 200), ("node-b", 301)])},
        {"NODE-A": 200},
        200,
    ),
    Case(
        "an address and its cloud's name",
        (Rank("ip-10-0-0-7"),),
        {"power.csv": long(["host"], [("10.0.0.7", 200), ("10.0.0.70", 301)])},
        {"ip-10-0-0-7": 200},
        200,
    ),
    # ── GPU 0 of two hosts ──
    Case(
        "rows of GPU 0 of two hosts",
        A_GPU,
        {"gpu.csv": long(["host", "gpu"], [("node-a", 0, 100), ("node-b", 0, 301)])},
        {"node-a": 100},
        100,
    ),
    Case(
        "columns of GPU 0 of two hosts",
        A_GPU,
        {"gpu.csv": wide({"node-a gpu0 power (W)": 100, "node-b gpu0 power (W)": 301})},
        {"node-a": 100},
        100,
    ),
    Case(
        "columns of GPU 0 of both hosts",
        AB_GPUS,
        {"gpu.csv": wide({"node-a gpu0 power (W)": 100, "node-b gpu0 power (W)": 301})},
        {"node-a": 100, "node-b": 301},
        401,
    ),
    Case(
        "GPUs in a file of another host",
        VM_GPU,
        {"gpu_node-b.csv": nvidia_smi(["index"], [(0, 301)])},
        {"vm": None},
        None,
        ("--tz", "UTC"),
    ),
    # ── outlets ──
    Case(
        "outlets called after what is plugged in, and their total",
        VM,
        {"pdu.csv": long(["outlet"], [("vm", 200), ("db01", 333), ("total", 533)])},
        {"vm": 200},
        200,
    ),
    Case(
        "outlets of both hosts and of a switch",
        AB,
        {"pdu.csv": long(["outlet"], [("node-a", 200), ("node-b", 301), ("switch", 80)])},
        {"node-a": 200, "node-b": 301},
        501,
    ),
    Case(
        "the total of a PDU",
        VM,
        {"pdu.csv": wide({"PDU total power (W)": 533})},
        {"vm": None},
        None,
    ),
    Case(
        "banks of a PDU",
        VM,
        {"pdu.csv": wide({"bank1 power (W)": 700, "bank2 power (W)": 301})},
        {"vm": None},
        None,
    ),
    # ── supplies ──
    Case(
        "supplies of two hosts",
        VM,
        {"psu.csv": wide({"vm_psu1_w": 100, "vm_psu2_w": 110, "node-b_psu1_w": 301})},
        {"vm": 210},
        210,
    ),
    Case(
        "inputs and outputs of supplies",
        VM,
        {
            "psu.csv": wide(
                {"psu1_input_w": 100, "psu2_input_w": 110, "psu1_output_w": 90, "psu2_output_w": 99}
            )
        },
        {"vm": 210},
        210,
    ),
    Case(
        "supplies of a chassis",
        VM,
        {"psu.csv": wide({"chassis7_psu1_w": 900, "chassis7_psu2_w": 910})},
        {"vm": None},
        None,
    ),
    # ── GPUs in another order ──
    Case(
        "two GPUs of eight by UUID, in another order",
        (Rank("vm", gpus=(gpu(0, uuid=uuid(3)), gpu(1, uuid=uuid(1)))),),
        {"gpu.csv": nvidia_smi(["index", "uuid"], [(g, uuid(g), EIGHT[g]) for g in range(8)])},
        {"vm": EIGHT[3] + EIGHT[1]},
        EIGHT[3] + EIGHT[1],
        ("--tz", "UTC"),
    ),
    Case(
        "two GPUs of eight by address, in another order",
        (Rank("vm", gpus=(gpu(0, pci_bus_id="0000:16:00.0"), gpu(1, pci_bus_id="0000:12:00.0"))),),
        {"gpu.csv": nvidia_smi(["index", "pci.bus_id"], [(g, pci(g), EIGHT[g]) for g in range(8)])},
        {"vm": EIGHT[6] + EIGHT[2]},
        EIGHT[6] + EIGHT[2],
        ("--tz", "UTC"),
    ),
    Case(
        "a UUID that the log does not have",
        (Rank("vm", gpus=(gpu(0, uuid=uuid(9)),)),),
        {"gpu.csv": nvidia_smi(["index", "uuid"], [(g, uuid(g), EIGHT[g]) for g in range(8)])},
        {"vm": None},
        None,
        ("--tz", "UTC"),
    ),
    Case(
        "the only GPU of a log has another UUID",
        (Rank("vm", gpus=(gpu(0, uuid=uuid(9)),)),),
        {"gpu.csv": nvidia_smi(["index", "uuid"], [(0, uuid(4), 301)])},
        {"vm": None},
        None,
        ("--tz", "UTC"),
    ),
    Case(
        "two of four GPUs of amd-smi",
        (Rank("vm", gpus=(gpu(0), gpu(1))),),
        {"amd.csv": amd_smi([120, 150, 180, 90])},
        {"vm": 270},
        270,
    ),
    # ── ranks on one machine ──
    Case(
        "two ranks on one of two machines",
        R01,
        {"power.csv": long(["host"], [("node17", 300), ("node18", 333), ("total", 633)])},
        {"rank0": 300, "rank1": 300},
        300,
    ),
    Case(
        "four ranks on two machines",
        FOUR_RANKS,
        {"power.csv": long(["host"], [("node17", 300), ("node18", 333), ("node1", 210)])},
        {"rank0": 300, "rank1": 300, "rank2": 333, "rank3": 333},
        633,
    ),
    Case(
        "two ranks, columns of node17 and node1",
        R01,
        {"power.csv": wide({"node17_power_w": 300, "node1_power_w": 210})},
        {"rank0": 300, "rank1": 300},
        300,
    ),
    # ── racks, chassis, totals ──
    Case(
        "rack7 beside this host",
        VM,
        {"power.csv": wide({"rack7_w": 9000, "vm_w": 200})},
        {"vm": 200},
        200,
    ),
    Case(
        "a row of rack7", VM, {"power.csv": long(["host"], [("rack7", 9000)])}, {"vm": None}, None
    ),
    Case("a file of rack7", VM, {"rack7.csv": wide({"power_w": 9000})}, {"vm": None}, None),
    Case(
        "a chassis beside this host",
        VM,
        {"power.csv": wide({"chassis_power_w": 2500, "vm_power_w": 200})},
        {"vm": 200},
        200,
    ),
    Case(
        "rows called total and chassis",
        VM,
        {"power.csv": long(["host"], [("total", 2500), ("chassis", 2400)])},
        {"vm": None},
        None,
    ),
    Case(
        "a total beside this host and another",
        VM,
        {"power.csv": wide({"total_w": 533, "vm_w": 200, "db01_w": 333})},
        {"vm": 200},
        200,
    ),
    Case(
        "a rack of two hosts",
        AB,
        {"power.csv": wide({"rack_power_w": 900})},
        {"node-a": None, "node-b": None},
        None,
    ),
    Case(
        "files of two hosts and of their rack",
        AB,
        {
            "node-a.csv": wide({"power_w": 200}),
            "node-b.csv": wide({"power_w": 301}),
            "rack.csv": wide({"power_w": 900}),
        },
        {"node-a": 200, "node-b": 301},
        501,
    ),
    Case(
        "instances of two hosts and of a third",
        AB,
        {
            "power.csv": long(
                ["instance"], [("node-a:9100", 200), ("node-b:9100", 301), ("node-c:9100", 400)]
            )
        },
        {"node-a": 200, "node-b": 301},
        501,
    ),
)
