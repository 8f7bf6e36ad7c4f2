"""The one table of instructions: what each of PTX becomes. What is in no row is refused by name (`lowering`)."""

from tileas_xdsl.readers.ptx.instructions.computing import COMPUTING
from tileas_xdsl.readers.ptx.instructions.copies import COPIES
from tileas_xdsl.readers.ptx.instructions.matrices import MATRICES
from tileas_xdsl.readers.ptx.instructions.memory import MEMORY
from tileas_xdsl.readers.ptx.instructions.rows import Table
from tileas_xdsl.readers.ptx.instructions.synchronization import SYNCHRONIZATION

TABLE = Table((*COMPUTING, *MEMORY, *SYNCHRONIZATION, *COPIES, *MATRICES))
