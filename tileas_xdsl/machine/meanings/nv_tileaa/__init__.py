"""What the ops of `nv_tileaa` do, one family a file."""

from tileas_xdsl.machine.meanings.nv_tileaa import atomics, compute, control, elementwise, memory, queues, structure

__all__ = ["atomics", "compute", "control", "elementwise", "memory", "queues", "structure"]
