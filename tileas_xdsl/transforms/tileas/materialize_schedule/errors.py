"""Why a function stays in one agent."""

from __future__ import annotations


class NoPartitionError(Exception):
    """There is no partition: `reason` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
