"""
What the ops of `cuda_tile` do, tile by tile: an independent meaning, compared with numpy.

`run` executes all blocks of a grid. Accesses of memory are done in the order of the text, which is one of the orders
that tokens allow: a check, which has to know all of them, refuses them.
"""

from tileas_xdsl.machine.meanings.cuda_tile import computing, control, memory, shapes

__all__ = ["computing", "control", "memory", "shapes"]
