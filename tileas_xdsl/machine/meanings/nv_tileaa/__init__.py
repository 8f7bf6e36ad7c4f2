"""What the ops of `nv_tileaa` do, one family a file."""

from tileas_xdsl.machine.meanings.nv_tileaa import queues

__all__ = ["queues"]
