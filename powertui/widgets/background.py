"""What takes longer than a frame, in a thread beside the screen: a new request cancels the one
before, and nothing waits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar
from weakref import WeakKeyDictionary

from textual.widget import Widget
from textual.worker import Worker, get_current_worker

from powertui.data.texts import CancelCheck
from powertui.errors import Cancelled

__all__ = ["CancelCheck", "begin", "cancel", "is_under_way"]

T = TypeVar("T")

# The request of each group whose answer is still to come: keys that need the answer wait for it
# (see screens/typeahead.py).
_requests: WeakKeyDictionary[Widget, dict[str, object]] = WeakKeyDictionary()


def begin(
    owner: Widget,
    group: str,
    work: Callable[[CancelCheck], T],
    done: Callable[[T], None],
) -> None:
    """Call `work` in a thread, and `done` with its result in the screen's own.

    Work calls the check that it is given every some ms. One of the same group that still runs is
    cancelled: it ends at its next check, and its result is dropped.
    """

    request = object()
    _requests.setdefault(owner, {})[group] = request

    def deliver(worker: Worker[None], result: T) -> None:
        if not worker.is_cancelled:
            if _requests.get(owner, {}).get(group) is request:
                del _requests[owner][group]
            done(result)

    def run() -> None:
        worker = get_current_worker()

        def check() -> None:
            if worker.is_cancelled:
                raise Cancelled("nobody waits for it any more")

        try:
            result = work(check)
        except Cancelled:
            return
        if not worker.is_cancelled:
            owner.call_later(deliver, worker, result)

    owner.run_worker(
        run,
        thread=True,
        exclusive=True,
        group=group,
    )


def cancel(owner: Widget, group: str) -> None:
    """Nobody waits for this group any more."""
    _requests.get(owner, {}).pop(group, None)
    owner.workers.cancel_group(owner, group)


def is_under_way(owner: Widget, group: str) -> bool:
    """Whether the answer to the last request of this group is still to come."""
    return group in _requests.get(owner, {})
