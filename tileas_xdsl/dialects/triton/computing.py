"""
Ops that only compute from their operands: a row of a table each, which says name, operands, results and form.

    Row("addptr", "ptr offset", "result", "$ptr, $offset {} : type($ptr), type($offset)", {"result": same("ptr")})

A name with `?` is an operand that may be missing, one with `*` a list. What an op of a row computes is not followed:
its results are unknown numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from xdsl.ir import Attribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_result_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure

from tileas_xdsl.dialects.triton.forms import Implied, TritonOp

OPERANDS = {"": operand_def, "?": opt_operand_def, "*": var_operand_def}
RESULTS = {"": result_def, "?": opt_result_def, "*": var_result_def}
GROUP = re.compile(r"(\w+)([?*]?)")


@dataclass(frozen=True)
class Row:
    """One op: its name without the dialect, its groups of operands and of results, and its form."""

    name: str
    operands: str
    results: str
    form: str
    implied: Mapping[str, Implied] = field(default_factory=dict[str, Implied])
    attributes: str = ""
    """The names of its own attributes; the others of its dictionary are anybody's."""
    defaults: Mapping[str, Attribute] = field(default_factory=dict[str, Attribute])


def computing_ops(dialect: str, rows: Iterable[Row]) -> Iterator[type[TritonOp]]:
    """A class for each row."""
    for row in rows:
        operands = GROUP.findall(row.operands)
        fields: dict[str, Any] = {name: OPERANDS[many]() for name, many in operands}
        fields |= {name: RESULTS[many]() for name, many in GROUP.findall(row.results)}
        fields |= {name: opt_prop_def() for name in row.attributes.split()}
        if sum(bool(many) for _, many in operands) > 1:
            fields["irdl_options"] = (AttrSizedOperandSegments(as_property=True),)
        fields |= {"name": f"{dialect}.{row.name}", "FORM": row.form, "traits": traits_def(Pure())}
        fields |= {"IMPLIED": row.implied, "DEFAULTS": row.defaults, "__doc__": f"`{dialect}.{row.name}`: computes."}
        fields["__annotations__"] = dict.fromkeys(("FORM", "IMPLIED", "DEFAULTS"), ClassVar)
        title = "".join(word.capitalize() for word in re.split(r"[._]", row.name))
        yield irdl_op_definition(type(f"{title}Op", (TritonOp,), fields))
