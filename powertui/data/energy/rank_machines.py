"""Which processes of a job shared a machine, by the numbers that their launcher gave them.

Asked where no profile names its machine. torchrun, srun and mpirun number the processes of a
machine in the order of their ranks, so a process whose local rank is its rank shares its machine
with all lower ranks. What the numbers leave open stays open.
"""

from __future__ import annotations

from collections.abc import Sequence

from powertui.data.model import ProcessLaunch


def shared_machines(launches: Sequence[ProcessLaunch | None]) -> list[int | None]:
    """A number for each process, equal for those that shared a machine; None where nothing shows
    it.
    """
    # The highest rank that shares a machine with rank 0.
    last = max(
        (
            launch.rank
            for launch in launches
            if launch is not None and launch.rank is not None and launch.rank == launch.local_rank
        ),
        default=-1,
    )
    return [None if launch is None else _machine_number(launch, last) for launch in launches]


def _machine_number(launch: ProcessLaunch, last_on_first: int) -> int | None:
    rank, size = launch.rank, launch.local_size
    if launch.node is not None:
        return launch.node
    if size is not None and size > 0 and size == launch.world_size:
        return 0
    if rank is None:
        return None
    if size is not None and size > 0 and rank % size == launch.local_rank:
        return rank // size
    # Rank 0 alone, with its own local rank, says nothing of the others.
    return 0 if rank <= last_on_first else None
