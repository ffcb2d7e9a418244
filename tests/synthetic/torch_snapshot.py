"""Memory snapshots of PyTorch, made from the schema in torch/cuda/_memory_viz.py: an allocator that
serves random requests, and what `torch.cuda.memory._snapshot` would say of it.
"""

from __future__ import annotations

import random
from typing import Any

MEGABYTE = 1 << 20
BASE_US = 1_760_000_000_000_000  # Unix time, in 2025
_FRAMES = {
    "loss": [
        ("/usr/lib/python3/dist-packages/torch/nn/functional.py", 3104, "cross_entropy"),
        ("/home/a/train.py", 31, "loss"),
        ("/home/a/train.py", 88, "main"),
    ],
    "forward": [
        ("??", 0, "at::empty(c10::ArrayRef<long>)"),
        ("/opt/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py", 125, "forward"),
        ("/home/a/model.py", 12, "forward"),
        ("/home/a/train.py", 30, "step"),
    ],
    "library": [("/opt/venv/lib/python3.11/site-packages/torch/optim/adam.py", 160, "_init_group")],
    "c++": [("CUDACachingAllocator.cpp", 0, "malloc(int)")],
}


class Allocator:
    """One device: what is alive, and the events so far."""

    def __init__(self, device: int, seed: int = 0) -> None:
        self.device = device
        self.events: list[dict[str, Any]] = []
        self.alive: dict[int, tuple[int, str]] = {}  # (bytes, whose) by address
        self.segments = 0
        self.levels: list[tuple[int, int]] = []  # (µs, bytes in use), the truth
        self._chance = random.Random(seed)
        self._us = BASE_US
        self._frames = {
            whose: [{"filename": file, "line": line, "name": name} for file, line, name in stack]
            for whose, stack in _FRAMES.items()
        }

    def event(
        self, action: str, address: int, size: int, whose: str = "forward", **more: Any
    ) -> None:
        """One entry of the trace."""
        self._us += self._chance.randint(1, 50)
        self.events.append(
            {
                "action": action,
                "addr": address,
                "size": size,
                "stream": 0,
                "time_us": self._us,
                "compile_context": "N/A",
                "user_metadata": "",
                "frames": self._frames[whose],
                **more,
            }
        )

    def _note(self) -> None:
        self.levels.append((self._us, sum(size for size, _ in self.alive.values())))

    def run(self, count: int) -> None:
        """So many allocations and frees."""
        for _ in range(count):
            if len(self.alive) >= self.segments:
                address = 0x7F0000000000 + self.segments * 20 * MEGABYTE
                self.event("segment_alloc", address, 20 * MEGABYTE)
                self.segments += 1
            if self.alive and self._chance.random() < 0.45:
                address = self._chance.choice(list(self.alive))
                size, whose = self.alive.pop(address)
                self.event("free_requested", address, size, whose)
                self.event("free_completed", address, size, whose)
            else:
                taken = set(self.alive)
                number = next(
                    i for i in range(10**6) if 0x7F0000000000 + i * 20 * MEGABYTE not in taken
                )
                address = 0x7F0000000000 + number * 20 * MEGABYTE
                size = self._chance.randint(1, 20 * MEGABYTE)
                whose = self._chance.choice(list(_FRAMES))
                self.alive[address] = (size, whose)
                self.event("alloc", address, size, whose)
            self._note()

    def listed(self) -> list[dict[str, Any]]:
        """Its segments with their blocks."""
        segments = []
        for number in range(self.segments):
            address = 0x7F0000000000 + number * 20 * MEGABYTE
            size, whose = self.alive.get(address, (0, "c++"))
            rounded = -(-size // 512) * 512
            blocks = [
                {
                    "address": address,
                    "size": rounded,
                    "requested_size": size,
                    "state": "active_allocated",
                    "frames": self._frames[whose],
                },
                {
                    "address": address + rounded,
                    "size": 20 * MEGABYTE - rounded,
                    "requested_size": 0,
                    "state": "inactive",
                    "frames": [],
                },
            ]
            segments.append(
                {
                    "device": self.device,
                    "address": address,
                    "total_size": 20 * MEGABYTE,
                    "allocated_size": rounded,
                    "active_size": rounded,
                    "requested_size": size,
                    "stream": 0,
                    "segment_type": "large",
                    "segment_pool_id": (0, 0),
                    "is_expandable": False,
                    "frames": self._frames["forward"],
                    "blocks": blocks if size else blocks[1:],
                }
            )
        return segments


def snapshot(*allocators: Allocator, kept: int | None = None) -> dict[str, Any]:
    """What `_snapshot` returns; of each device the last `kept` events, as a full ring has them."""
    first = 0 if kept is None else -kept
    return {
        "segments": [segment for each in allocators for segment in each.listed()],
        "device_traces": [each.events[first:] for each in allocators],
        "allocator_settings": {"expandable_segments": False, "garbage_collection_threshold": 0.0},
        "external_annotations": [],
    }
