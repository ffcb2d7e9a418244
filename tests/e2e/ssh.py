"""A real sshd on the loopback with throw-away keys, and a line of chosen delay and rate in front of
it.

    with Sshd(folder) as server, Line(server.port, rtt_s=0.1, bytes_per_s=125_000) as line:
        Terminal(server.command(line.port, ["powertui", path]))

The line is a TCP relay in a process of its own: it holds every piece back for half a round trip and
keeps to a given rate. It works above TCP: slow start and loss are not modelled.
"""

from __future__ import annotations

import collections
import contextlib
import multiprocessing
import os
import shlex
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .terminal import LIMIT_S

Counters = tuple[Any, Any]  # bytes that came in, bytes that went out: of a process and of this one

QUEUE_S = 0.5  # what the bottleneck of the line holds before it pushes back
PIECE = 1448  # bytes: one TCP segment on Ethernet


def find_sshd() -> str | None:
    """Where sshd is; None when this machine has none (or no client)."""
    folders = os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin:/sbin"
    sshd = shutil.which("sshd", path=folders)
    return sshd if shutil.which("ssh") and shutil.which("ssh-keygen") else None


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until(true: Callable[[], bool], what: str) -> None:
    """Wait until something has come true."""
    end = time.monotonic() + LIMIT_S
    while not true():
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {LIMIT_S:.0f} s")
        time.sleep(0.02)


class Sshd:
    """A server for this user alone, with keys that live as long as it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Sshd:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o700)
        for name in ("host_key", "user_key"):
            subprocess.run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / name)],
                check=True,
            )
        keys = self.folder / "authorized_keys"
        keys.write_text((self.folder / "user_key.pub").read_text())
        keys.chmod(0o600)
        config = self.folder / "sshd_config"
        config.write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey "
            f"{self.folder}/host_key\nPidFile none\n"
            f"AuthorizedKeysFile {keys}\nPasswordAuthentication "
            "no\nKbdInteractiveAuthentication no\nUsePAM no\n"
            "PermitRootLogin prohibit-password\nStrictModes no\nUseDNS no\nPrintMotd "
            "no\nPrintLastLog no\n"
        )
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(parents=True, exist_ok=True)
        sshd = find_sshd()
        assert sshd is not None
        with (self.folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [sshd, "-D", "-e", "-f", str(config)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        try:
            until(self._listens, "sshd listens")
        except AssertionError as error:
            raise RuntimeError(
                f"sshd did not start: {(self.folder / 'log').read_text()}"
            ) from error
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        self._process.terminate()
        self._process.wait(LIMIT_S)

    @property
    def pid(self) -> int:
        """The server's process."""
        assert self._process is not None
        return self._process.pid

    def _listens(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            raise AssertionError("it has ended")
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return True
        return False

    def command(
        self,
        port: int,
        command: Sequence[str],
        *,
        env: dict[str, str] | None = None,
        options: Sequence[str] = (),
    ) -> list[str]:
        """The ssh command line that runs `command` on a terminal of the server, reached through
        `port`.
        """
        settings = shlex.join([f"{key}={value}" for key, value in (env or {}).items()])
        remote = f"cd {shlex.quote(str(Path.cwd()))} && exec env {settings} {shlex.join(command)}"
        return [
            "ssh",
            "-F",
            "/dev/null",
            "-tt",
            "-p",
            str(port),
            "-i",
            str(self.folder / "user_key"),
            "-o",
            "IdentitiesOnly=yes",
            "-o",
            "IdentityAgent=none",
            "-o",
            "StrictHostKeyChecking=no",
            "-o",
            "UserKnownHostsFile=/dev/null",
            "-o",
            "LogLevel=ERROR",
            "-o",
            "EscapeChar=none",
            *options,
            "127.0.0.1",
            remote,
        ]


class Line:
    """A relay to `target` with a round trip time and a rate, each way.

    `cut()` breaks it, `freeze()` stops it for a while.
    """

    def __init__(self, target: int, *, rtt_s: float = 0.0, bytes_per_s: float = 0.0) -> None:
        context = multiprocessing.get_context("fork")
        self._listener = socket.socket()
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen(4)
        self.port = int(self._listener.getsockname()[1])
        self._down = context.Value("q", 0)
        self._delivered = context.Value("q", 0)
        self._state = context.Value("i", 0)
        arguments = (
            self._listener,
            target,
            rtt_s,
            bytes_per_s,
            (self._down, self._delivered),
            self._state,
        )
        self._process = context.Process(target=_relay, daemon=True, args=arguments)

    def __enter__(self) -> Line:
        self._process.start()
        self._listener.close()
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.is_alive():
            self._process.terminate()
        self._process.join(5)

    @property
    def received(self) -> int:
        """Bytes that crossed the line towards the person."""
        return int(self._down.value)

    @property
    def on_line(self) -> int:
        """Bytes that are on their way towards the person at this moment."""
        delivered = int(
            self._delivered.value
        )  # first: what arrives meanwhile must not make it negative
        return int(self._down.value) - delivered

    @property
    def pid(self) -> int:
        """The process that plays the line."""
        assert self._process.pid is not None
        return self._process.pid

    def freeze(self, on: bool = True) -> None:
        """Nothing moves any more (or again)."""
        self._state.value = 1 if on else 0

    def cut(self) -> None:
        """The line breaks: both ends see a reset."""
        self._process.kill()
        self._process.join(5)


def _add(counter: Any, count: int) -> None:
    with counter.get_lock():
        counter.value += count


def _relay(
    listener: socket.socket, target: int, rtt: float, rate: float, counted: Counters, state: Any
) -> None:
    while True:
        near, _ = listener.accept()
        far = socket.create_connection(("127.0.0.1", target))
        for end in (near, far):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        threading.Thread(
            target=_pump, args=(near, far, rtt, rate, None, state), daemon=True
        ).start()
        threading.Thread(
            target=_pump, args=(far, near, rtt, rate, counted, state), daemon=True
        ).start()


def _pump(
    source: socket.socket,
    sink: socket.socket,
    rtt: float,
    rate: float,
    counted: Counters | None,
    state: Any,
) -> None:
    queue: collections.deque[tuple[float, bytes]] = collections.deque()
    changed = threading.Condition()
    ended = threading.Event()

    def deliver() -> None:
        while True:
            with changed:
                while not queue and not ended.is_set():
                    changed.wait()
                if not queue:
                    with contextlib.suppress(OSError):
                        sink.shutdown(socket.SHUT_WR)
                    return
                due, data = queue.popleft()
            time.sleep(max(0.0, due - time.monotonic()))
            while state.value:
                time.sleep(0.01)
            try:
                sink.sendall(data)
            except OSError:
                return
            if counted is not None:
                _add(counted[1], len(data))

    threading.Thread(target=deliver, daemon=True).start()
    free = 0.0  # when the bottleneck has sent everything that it holds
    while True:
        try:
            data = source.recv(PIECE)
        except OSError:
            data = b""
        now = time.monotonic()
        if not data:
            with changed:
                ended.set()
                changed.notify()
            return
        if counted is not None:
            _add(counted[0], len(data))
        free = max(free, now) + (len(data) / rate if rate else 0.0)
        with changed:
            queue.append((free + rtt / 2, data))
            changed.notify()
        if rate and free - now > QUEUE_S:
            time.sleep(free - now - QUEUE_S)
