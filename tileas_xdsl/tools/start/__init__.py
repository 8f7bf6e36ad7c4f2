"""
What lets the command `tileas` start sooner: most of its start makes classes, and most of what it makes is not used.

    methods.py      the methods of dataclasses: their code is kept in a file
    ops.py          the definitions of ops: each is read when its op is met
    attributes.py   the definitions of attributes: likewise
    instances.py    `isinstance` of ops and attributes: Python's `type` answers it
    identity.py     `==` and `hash` of values and ops: Python's `object` answers them
    texts.py        the documentation of numpy's functions: left out

All change what a module of another package calls, so this is for a process of ours: `import tileas_xdsl` does none.
Without them the same classes come about, later.
"""

from __future__ import annotations

from functools import cache


@cache
def hasten() -> None:
    """Make what is imported from now on start sooner."""
    from tileas_xdsl.tools.start.methods import keep_code_of_dataclasses

    keep_code_of_dataclasses()
    from tileas_xdsl.tools.start.texts import leave_out_texts_of_numpy

    leave_out_texts_of_numpy()
    from tileas_xdsl.tools.start.ops import define_ops_when_met

    define_ops_when_met()
    from tileas_xdsl.tools.start.attributes import define_attributes_when_met
    from tileas_xdsl.tools.start.identity import tell_apart_by_identity
    from tileas_xdsl.tools.start.instances import ask_types_for_instances

    define_attributes_when_met()
    ask_types_for_instances()
    tell_apart_by_identity()
