"""Work of the programs that needs no framework."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def augment_images(count: int, side: int = 48) -> list[list[float]]:
    """Python that prepares a batch, pixel by pixel, as no one should."""
    out = []
    for image in range(count):
        row = []
        for pixel in range(side * side):
            row.append(((pixel * 31 + image) % 255) / 255.0 - 0.5)
        out.append(row)
    return out


def make_garbage(objects: int = 1_500_000) -> list[Any]:
    """Objects in cycles, which the garbage collector has to walk."""
    nodes: list[Any] = [[] for _ in range(objects)]
    for at, node in enumerate(nodes):
        node.append(nodes[at - 1])
    return nodes


def collect_garbage() -> None:
    """A full collection."""
    gc.collect()


@contextmanager
def lock_hog(lock: Any, hold_s: float, pause_s: float) -> Iterator[None]:
    """A thread that holds a lock most of the time."""
    stop = threading.Event()

    def hold() -> None:
        while not stop.is_set():
            with lock:
                time.sleep(hold_s)
            time.sleep(pause_s)

    thread = threading.Thread(target=hold, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def answer_slowly(port: Any, delay_s: float) -> None:
    """A server of its own process that thinks before it answers; it sends its port first."""
    from http.server import BaseHTTPRequestHandler, HTTPServer

    class Answer(BaseHTTPRequestHandler):
        """Takes metrics."""

        def do_POST(self) -> None:
            """Answer one request."""
            self.rfile.read(int(self.headers["Content-Length"]))
            time.sleep(delay_s)
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Answer)
    port.send(server.server_port)
    server.serve_forever()


def write_shards(folder: str, shards: int, pause_s: float) -> None:
    """A process that prepares the shards of the data, one after the other."""
    from pathlib import Path

    import numpy

    for number in range(shards):
        time.sleep(pause_s)
        part = Path(folder) / f"part_{number}.npy"
        numpy.save(part, numpy.ones((256, 128), numpy.float32))
        part.rename(Path(folder) / f"shard_{number}.npy")
