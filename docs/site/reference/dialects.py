"""Reference of the dialects, from the definitions of their ops, types and attributes: one page a dialect."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, Dialect, Operation, TypeAttribute
from xdsl.irdl import (
    AttributeDef,
    OpDef,
    OptAttributeDef,
    OptOperandDef,
    OptPropertyDef,
    OptRegionDef,
    OptResultDef,
    PropertyDef,
    VarOperandDef,
    VarRegionDef,
    VarResultDef,
)

from docs.site.reference.docstrings import as_markdown, cell, doc_of
from tileas_xdsl.universe import TILEAS

OPTIONAL = (OptAttributeDef, OptOperandDef, OptPropertyDef, OptRegionDef, OptResultDef)
VARIADIC = (VarOperandDef, VarRegionDef, VarResultDef)
INDEX = """\
# Dialects

Every op says what it reads and writes, prints as MLIR does, and has a meaning on the machine or says
that it has none. MLIR knows `async`, `nvgpu`, `nvvm` and `rocdl`; of
those the pages name the ops that are defined here.

| dialect | ops | types and attributes |
|---|---|---|
"""


def dialect_pages() -> dict[str, str]:
    """Path below the source of the site -> Markdown."""
    dialects = {name: TILEAS.all_dialects[name]() for name in sorted(TILEAS.all_dialects)}
    rows = [
        f"| [`{name}`]({name}.md) | {len(list(dialect.operations))} | {len(list(dialect.attributes))} |"
        for name, dialect in dialects.items()
    ]
    pages = {"reference/dialects/index.md": INDEX + "\n".join(rows) + "\n"}
    return pages | {f"reference/dialects/{name}.md": dialect_page(dialect) for name, dialect in dialects.items()}


def dialect_page(dialect: Dialect) -> str:
    """The ops of a dialect and its types and attributes, by name."""
    parts = [f"# Dialect {dialect.name}"]
    ops = sorted(dialect.operations, key=lambda op: op.name)
    if ops:
        parts.append("## Operations")
        parts += [op_section(op) for op in ops]
    attributes = sorted(dialect.attributes, key=lambda attribute: attribute.name)
    if attributes:
        parts.append("## Types and attributes")
        parts.append("\n".join(["| name | kind | meaning |", "|---|---|---|", *map(attribute_row, attributes)]))
    return "\n\n".join(parts) + "\n"


def op_section(op: type[Operation]) -> str:
    """One op: what it does, and the parts that it has."""
    definition = op.get_irdl_definition()
    rows = [f"- {kind}: {listed(parts)}" for kind, parts in parts_of(definition).items() if parts]
    return "\n\n".join(filter(None, [f"### {op.name}", as_markdown(doc_of(op)), "\n".join(rows)]))


def parts_of(definition: OpDef) -> dict[str, Sequence[tuple[str, object]]]:
    """What an op is made of, each part with its name."""
    return {
        "operands": definition.operands,
        "results": definition.results,
        "properties": list(definition.properties.items()),
        "attributes": list(definition.attributes.items()),
        "regions": definition.regions,
    }


def listed(parts: Iterable[tuple[str, object]]) -> str:
    """The names, each with a mark where there may be none, or many."""
    return ", ".join(f"`{name}`{mark(part)}" for name, part in parts)


def mark(part: object) -> str:
    if isinstance(part, OPTIONAL):
        return " (a mark)" if isinstance(part, OptPropertyDef) and is_unit(part) else " (optional)"
    if isinstance(part, VARIADIC):
        return " (any number)"
    default = part.default_value if isinstance(part, PropertyDef | AttributeDef) else None
    return "" if default is None else f" (default `{default}`)"


def is_unit(part: OptPropertyDef) -> bool:
    """Whether it says something by being there."""
    return UnitAttr in (part.constr.get_bases() or ())


def attribute_row(attribute: type[Attribute]) -> str:
    kind = "type" if issubclass(attribute, TypeAttribute) else "attribute"
    sign = "!" if kind == "type" else "#"
    return f"| `{sign}{attribute.name}` | {kind} | {cell(doc_of(attribute))} |"
