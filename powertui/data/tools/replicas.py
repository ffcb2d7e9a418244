"""Ops of a training on several replicas, whose names differ only by the scope of their replica.

TensorFlow's MirroredStrategy names the ops of its first replica as the program does, and those of
the others in a scope `replica_1`, `replica_2`, … somewhere in the path; Keras' multi-GPU model put
the first one in a scope `replica_0` as well. A variable's copies end with that scope. Nothing else
of the names differs: numbers at the end of a name (`dense_1`) tell ops of one replica apart.
"""

from __future__ import annotations

import numpy as np

from powertui.data.model import Int64s
from powertui.data.texts import Texts
from powertui.patterns import late_pattern
from powertui.value_types import dataclass

SCOPE = b"replica_"  # what every name of a replica's op contains
FIRST_SCOPE = b"replica_0"  # where the first replica has a scope as well

_REPLICA = late_pattern(r"(?:^|/)replica_(\d{1,5})(?=[/:]|$)")


@dataclass(frozen=True, eq=False)
class ReplicaRows:
    """What each replica's copy of an op came to, where several were counted as one op."""

    row: Int64s  # of the op that each is a copy of
    name: Int64s  # index into Trace.names
    number: Int64s  # of the replica
    count: Int64s
    total: Int64s  # ps
    self_time: Int64s  # ps

    @classmethod
    def empty(cls) -> ReplicaRows:
        """No op has copies."""
        none = np.empty(0, np.int64)
        return cls(
            row=none,
            name=none,
            number=none,
            count=none,
            total=none,
            self_time=none,
        )

    def __len__(self) -> int:
        return len(self.row)

    def take(self, order: Int64s) -> ReplicaRows:
        """The same in another order."""
        return ReplicaRows(
            row=self.row[order],
            name=self.name[order],
            number=self.number[order],
            count=self.count[order],
            total=self.total[order],
            self_time=self.self_time[order],
        )

    def with_rows(self, row: Int64s) -> ReplicaRows:
        """The same copies of ops that are in other rows now."""
        return ReplicaRows(
            row=row,
            name=self.name,
            number=self.number,
            count=self.count,
            total=self.total,
            self_time=self.self_time,
        )

    @classmethod
    def joined(cls, parts: list[ReplicaRows]) -> ReplicaRows:
        """The copies of several processes."""
        parts = [cls.empty(), *parts]
        return cls(
            row=np.concatenate([part.row for part in parts]),
            name=np.concatenate([part.name for part in parts]),
            number=np.concatenate([part.number for part in parts]),
            count=np.concatenate([part.count for part in parts]),
            total=np.concatenate([part.total for part in parts]),
            self_time=np.concatenate([part.self_time for part in parts]),
        )


def replica_of(name: str) -> int | None:
    """The number of the replica that a name is in the scope of; None without such a scope."""
    scope = _REPLICA.search(name)
    if scope is not None:
        return int(scope[1])
    return None


def without_replica(name: str) -> str:
    """The name without the scope of its replica: that of the op in the program."""
    if "replica_" not in name:
        return name
    bare = _REPLICA.sub("", name).removeprefix("/")
    # What is called after the replica alone has no other name.
    if bare and not bare.startswith(":"):
        return bare
    return name


def all_without_replica(names: Texts) -> Texts:
    """The same of many."""
    return Texts.from_strings([without_replica(name) for name in names.strings()])
