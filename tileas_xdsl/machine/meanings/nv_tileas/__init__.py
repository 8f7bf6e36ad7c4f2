"""What the ops of `nv_tileas` do, one family a file."""

from tileas_xdsl.machine.meanings.nv_tileas import compute as compute
from tileas_xdsl.machine.meanings.nv_tileas import control as control
from tileas_xdsl.machine.meanings.nv_tileas import memory as memory
from tileas_xdsl.machine.meanings.nv_tileas import pipelines as pipelines
from tileas_xdsl.machine.meanings.nv_tileas import slices as slices
from tileas_xdsl.machine.meanings.nv_tileas import structure as structure
from tileas_xdsl.machine.meanings.nv_tileas import tma as tma
from tileas_xdsl.machine.meanings.nv_tileas import tokens as tokens
