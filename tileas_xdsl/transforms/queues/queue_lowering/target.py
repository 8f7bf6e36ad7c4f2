"""The interface of a target of queue lowering: it counts groups in one sequence, and has copies of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from xdsl.ir import Operation

from tileas_xdsl.transforms.queues.queue_lowering.addresses import Pointers
from tileas_xdsl.transforms.queues.queue_lowering.copies import Copy


class QueueTarget(ABC):
    """The ops of a target. One sequence of groups for all queues; groups complete in the order in which they close."""

    across_calls: ClassVar[bool]
    """Whether the sequence belongs to the thread; else to one activation of a function."""
    most_in_flight: ClassVar[int]
    """The largest count that a wait can name."""

    @abstractmethod
    def closes_group(self, op: Operation) -> bool:
        """Whether `op`, which may have been there before, closes a group."""

    @abstractmethod
    def groups_awaited(self, op: Operation) -> int | None:
        """How many groups `op` leaves unfinished, if it is a wait of the target's own."""

    @abstractmethod
    def refuses(self, copy: Copy) -> str | None:
        """Why the target cannot make `copy`; None where it can."""

    @abstractmethod
    def emit_copy(self, copy: Copy, pointers: Pointers) -> None:
        """Start `copy` at the place of its store, which stays."""

    @abstractmethod
    def commit(self) -> Operation:
        """An op that closes a group."""

    @abstractmethod
    def wait(self, count: int) -> Operation:
        """An op that waits until at most `count` groups are unfinished."""

    @abstractmethod
    def barrier(self) -> Operation:
        """An op at which all threads that share memory meet."""
