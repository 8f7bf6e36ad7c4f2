"""What the ops of `nv_tileas` do, one family a file."""

from tileas_xdsl.machine.meanings.nv_tileas import pipelines, tokens

__all__ = ["pipelines", "tokens"]
