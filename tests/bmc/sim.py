"""OpenIPMI's ipmi_sim as a second BMC, by other authors than ours (Debian: openipmi). SHA-1 cipher
suites only.

    with SimulatedBmc(tmp_path) as bmc:
        bmc.set_dcmi(300)
        bmc.freeze(); bmc.thaw()

Three sensors in watts: "Total Power" (steps of 7 W, follows `set_watts`), "p0_power" and
"gpu0_power". Users: admin, viewer (level user) with the passwords pw-admin and pw-viewer. DCMI
comes from the plugin beside this file and wants level administrator.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

from .commands import sensor_record

_PLUGIN_SOURCE = Path(__file__).with_name("dcmi_plugin.c")
_PING = bytes.fromhex("0600ff06000011be80000000")


def why_not() -> str:
    """What is missing on this machine, "" when nothing is."""
    if not shutil.which("ipmi_sim"):
        return "ipmi_sim is not installed (Debian: openipmi)"
    if not (shutil.which("cc") or shutil.which("gcc")):
        return "a C compiler is needed for ipmi_sim's DCMI plugin"
    return ""


def _free_ports(count: int) -> list[int]:
    """Ports that are free for UDP and TCP now."""
    held: list[socket.socket] = []
    ports: list[int] = []
    while len(ports) < count:
        udp, tcp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), socket.socket()
        held += [udp, tcp]
        udp.bind(("127.0.0.1", 0))
        try:
            tcp.bind(("127.0.0.1", udp.getsockname()[1]))
        except OSError:
            continue
        ports.append(udp.getsockname()[1])
    for each in held:
        each.close()
    return ports


class SimulatedBmc:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port, self._console = _free_ports(2)
        self._process: subprocess.Popen[bytes] | None = None
        (folder / "state").mkdir(parents=True, exist_ok=True)
        self.set_watts(245)
        self.set_dcmi(245, 90, 1200, 250)
        self._build_plugin()
        self._configure()

    def _build_plugin(self) -> None:
        compiler = shutil.which("cc") or shutil.which("gcc") or "cc"
        subprocess.run(
            [compiler, "-shared", "-fPIC", "-o", str(self.folder / "dcmi.so"), str(_PLUGIN_SOURCE)],
            check=True,
        )

    def _configure(self) -> None:
        levels = "".join(
            f"  allowed_auths_{level} none md2 md5 straight\n"
            for level in ("callback", "user", "operator", "admin")
        )
        (self.folder / "lan.conf").write_text(
            'name "powersim"\nset_working_mc 0x20\nstartlan 1\n'
            f"  addr 127.0.0.1 {self.port}\n  priv_limit admin\n{levels}"
            "  guid a123456789abcdefa123456789abcdef\nendlan\nstartnow false\n"
            'user 1 true "" "" user 10 none md2 md5 straight\n'
            'user 2 true "admin" "pw-admin" admin 10 none md2 md5 straight\n'
            'user 3 true "viewer" "pw-viewer" user 10 none md2 md5 straight\n'
            f'console 127.0.0.1 {self._console}\nloadlib "{self.folder / "dcmi.so"}" '
            f'"{self.folder / "dcmi.value"}"\n'
        )
        lines = [
            "mc_setbmc 0x20",
            "mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02",
            "sel_enable 0x20 1000 0x0a",
        ]
        off = " ".join(["000000000000000"] * 4)
        for number, (name, step) in enumerate(
            (("Total Power", 7), ("p0_power", 2), ("gpu0_power", 2)), 1
        ):
            poll = (
                f' poll 50 file "{self.folder / "watts.value"}" div={step}' if number == 1 else ""
            )
            lines += [
                f"sensor_add 0x20 0 {number} 0x0b 0x01{poll}",
                f"sensor_set_value 0x20 0 {number} 35 0",
                f"sensor_set_threshold 0x20 0 {number} settable 111111 255 255 255 0 0 0",
                f"sensor_set_event_support 0x20 0 {number} enable scanning per-state {off}",
                "main_sdr_add 0x20 "
                + " ".join(f"0x{byte:02x}" for byte in sensor_record(number, number, name, step)),
            ]
        (self.folder / "sim.emu").write_text("\n".join([*lines, "mc_enable 0x20", ""]))

    def _put(self, name: str, text: str) -> None:
        part = self.folder / (name + ".part")
        part.write_text(text)
        part.replace(self.folder / name)

    def set_watts(self, watts: int) -> None:
        self._put("watts.value", f"{watts}\n")

    def set_dcmi(
        self,
        now: int,
        low: int = 0,
        high: int = 0,
        mean: int = 0,
        *,
        period_ms: int = 1000,
        active: int = 1,
        code: int = 0,
    ) -> None:
        self._put("dcmi.value", f"{now} {low} {high} {mean} {period_ms} {active} {code}\n")

    def start(self) -> SimulatedBmc:
        with (self.folder / "sim.log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    "ipmi_sim",
                    "-n",
                    "-c",
                    str(self.folder / "lan.conf"),
                    "-f",
                    str(self.folder / "sim.emu"),
                    "-s",
                    str(self.folder / "state"),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
            )
        end = time.monotonic() + 180
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ping:
            ping.connect(("127.0.0.1", self.port))
            ping.settimeout(0.1)
            while time.monotonic() < end:
                if self._process.poll() is not None:
                    raise RuntimeError((self.folder / "sim.log").read_text())
                try:
                    ping.send(_PING)
                    ping.recv(64)
                except OSError:
                    time.sleep(0.02)
                else:
                    return self
        raise TimeoutError("ipmi_sim did not answer")

    def freeze(self) -> None:
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            os.kill(self._process.pid, number)

    def stop(self) -> None:
        if self._process is not None:
            self.thaw()
            self._process.terminate()
            try:
                self._process.wait(3)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def __enter__(self) -> SimulatedBmc:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()
