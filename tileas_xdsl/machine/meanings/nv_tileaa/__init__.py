"""What the ops of `nv_tileaa` do, one family a file."""

from tileas_xdsl.machine.meanings.nv_tileaa import atomics, computing, control, memory, queues, structure

__all__ = ["atomics", "computing", "control", "memory", "queues", "structure"]
