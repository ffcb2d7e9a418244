"""Cases of power whose machines are called like a part of one, and of names that say "not this one".

None: nothing may be counted, for nothing shows whose it is.
"""

from __future__ import annotations

import json

from tests.synthetic.owned import Rank, long, moments, watts, wide
from tests.synthetic.owned_logs import gpu
from tests.unit.energy.owner_cases import Case

GPU17 = (Rank("gpu17"),)
TWO = (Rank("gpu17"), Rank("gpu18"))
VM = (Rank("vm"),)
VM_GPUS = (Rank("vm", gpus=(gpu(0), gpu(1))),)


def variorum(at: float, level: float) -> str:
    node = {"power_node_watts": level, "socket_0": {"power_cpu_watts": level / 2}}
    return json.dumps({"gpu17": {"timestamp": round(at * 1e6), **node}}) + "\n"


LIKE_PARTS = (
    Case(
        "columns of hosts called gpu17 and gpu18",
        GPU17,
        {"power.csv": wide({"gpu17_power_w": 200, "gpu18_power_w": 301})},
        {"gpu17": 200},
        200,
    ),
    Case(
        "a total beside hosts called gpu17 and gpu18",
        GPU17,
        {"power.csv": wide({"gpu17_w": 200, "gpu18_w": 301, "total_w": 501})},
        {"gpu17": 200},
        200,
    ),
    Case(
        "one of two hosts called gpu17 and gpu18",
        TWO,
        {"power.csv": wide({"gpu17_w": 200})},
        {"gpu17": 200, "gpu18": None},
        None,
    ),
    Case(
        "gpus 0 to 3 on a host called gpu17",
        GPU17,
        {"power.csv": wide({f"gpu{number}_w": 50 + 40 * number for number in range(4)})},
        {"gpu17": 440},
        440,
    ),
    Case(
        "gpus 0 to 3 on a host called gpu3",
        (Rank("gpu3"),),
        {"power.csv": wide({f"gpu{number}_w": 50 + 40 * number for number in range(4)})},
        {"gpu3": None},
        None,
    ),
    Case(
        "gpus of hosts called gpu17 and gpu18",
        GPU17,
        {"power.csv": wide({"gpu17_gpu0_w": 100, "gpu17_gpu1_w": 140, "gpu18_gpu0_w": 301})},
        {"gpu17": 240},
        240,
    ),
    Case(
        "a JSON document of a host called gpu17",
        GPU17,
        {"power.jsonl": "".join(variorum(at, round(watts(200, k, 0), 2)) for k, at in moments())},
        {"gpu17": 200},
        200,
    ),
    Case(
        "outlets named after hosts called gpu17 and gpu18",
        GPU17,
        {"pdu.csv": long(["outlet"], [("Outlet 3 (gpu17)", 200), ("Outlet 4 (gpu18)", 301)])},
        {"gpu17": 200},
        200,
    ),
    Case(
        "vm on another host", GPU17, {"power.csv": wide({"vm_power_w": 250})}, {"gpu17": None}, None
    ),
    Case(
        "a login node and a compute node",
        VM,
        {"power.csv": wide({"login_node_w": 90, "compute_node_w": 250})},
        {"vm": None},
        None,
    ),
    Case(
        "a comment names another host",
        VM,
        {"power.csv": "# host: gpu18\n" + wide({"watts": 250})},
        {"vm": None},
        None,
    ),
    Case(
        "a comment names the host",
        VM,
        {"power.csv": "# hostname = vm\n" + wide({"watts": 250})},
        {"vm": 250},
        250,
    ),
    Case(
        "gpus and their total",
        VM_GPUS,
        {"power.csv": wide({"GPU0_Power_W": 100, "GPU1_Power_W": 140, "Total_GPU_Power_W": 240})},
        {"vm": 240},
        240,
    ),
    Case(
        "two sockets whose unit is in the middle of their names",
        VM,
        {"pcm.csv": wide({"Proc Energy (Joules) SKT0": 120, "Proc Energy (Joules) SKT1": 90})},
        {"vm": 210},
        210,
    ),
    Case(
        "supplies in camel case",
        VM,
        {"power.csv": wide({"PowerSupply1_InputWatts": 120, "PowerSupply2_InputWatts": 90})},
        {"vm": 210},
        210,
    ),
    Case(
        "phases and their sum in German",
        VM,
        {
            "power.csv": wide(
                {
                    "Wirkleistung L1 [W]": 120,
                    "Wirkleistung L2 [W]": 90,
                    "Wirkleistung L3 [W]": 60,
                    "Wirkleistung Summe [W]": 270,
                }
            )
        },
        {"vm": 270},
        270,
    ),
)
