"""
From queues to what hardware counts: the part that `convert-queue-to-nvvm` and `convert-queue-to-rocdl` share.

`buffers` says what a memref shows, `copies` which stores of a scope the hardware can make by itself, `order` whether
their order matters, `plan` what becomes of every op, with the counts of all waits taken anew for one sequence of
groups, `addresses` makes pointers, `barriers` sees to other threads, and `lower` carries the plan out, and says where
shared memory comes from. A `QueueTarget` names the ops.
"""

from tileas_xdsl.transforms.queues.queue_lowering.addresses import Pointers
from tileas_xdsl.transforms.queues.queue_lowering.copies import Copy
from tileas_xdsl.transforms.queues.queue_lowering.lower import lower_queues
from tileas_xdsl.transforms.queues.queue_lowering.target import QueueTarget

__all__ = ["Copy", "Pointers", "QueueTarget", "lower_queues"]
