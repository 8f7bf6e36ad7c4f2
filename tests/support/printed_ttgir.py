"""
A module of Triton's as Triton prints it: aliases for encodings in front, values named as MLIR names them.

    #shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
    module attributes {...} {
      tt.func public @f(...) { ... }
    }

MLIR numbers the ops of a region before those inside them; a region begins to count where the one around it has ended,
and so do its siblings. A name that is taken gets a number of its own behind it. Locations are not printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import StringIO
from typing import cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, ParametrizedAttribute, Region, SSAValue
from xdsl.printer import Printer

from tileas_xdsl.dialects.triton.encodings import EncodingAttr

LOOP = re.compile(r"^( *(?:%[^=\n]*= )?scf\.for .*) : (i\d+ \{)$", re.MULTILINE)
"""The head of a loop over integers, between whose parts MLIR leaves two blanks."""


def print_ttgir(module: ModuleOp) -> str:
    """The text of `module`."""
    stream = StringIO()
    printer = TTGIRPrinter(stream, module)
    for alias, attribute in sorted(printer.definitions):
        stream.write(f"{alias} = ")
        printer.print_in_full(attribute)
        stream.write("\n")
    printer.print_op(module)
    text = stream.getvalue().replace("builtin.module", "module", 1)
    return LOOP.sub(r"\1  : \2", text) + "\n"


class TTGIRPrinter(Printer):
    """Prints ops of `module` with its aliases and names."""

    def __init__(self, stream: StringIO, module: ModuleOp) -> None:
        super().__init__(stream)
        self.values = ValueNames(module).names
        self.aliases = _aliases(module)
        self.definitions = [(alias, attribute) for attribute, alias in self.aliases.items()]

    def print_in_full(self, attribute: Attribute) -> None:
        """Print `attribute` without its own alias."""
        super().print_attribute(attribute)

    def print_attribute(self, attribute: Attribute) -> None:
        alias = self.aliases.get(attribute)
        if alias is None:
            super().print_attribute(attribute)
        else:
            self.print_string(alias)

    def print_ssa_value(self, value: SSAValue) -> str:
        name = self.values[value]
        self.print_string(name)
        return name

    def _print_results(self, op: Operation) -> None:
        if not op.results:
            return
        name = self.values[op.results[0]].partition("#")[0]
        self.print_string(name + (f":{len(op.results)}" if len(op.results) > 1 else "") + " = ")


# Names of values ------------------------------------------------------------------------------------------------------


class ValueNames:
    """The names that MLIR gives to the values of a module."""

    def __init__(self, module: ModuleOp) -> None:
        self.names: dict[SSAValue, str] = {}
        self.next_value = self.next_argument = self.next_conflict = 0
        waiting = [(region, (0, 0, 0), frozenset[str]()) for region in module.regions]
        while waiting:
            region, counters, taken = waiting.pop()
            self.next_value, self.next_argument, self.next_conflict = counters
            self.taken = set(taken)
            self._number(region)
            after = (self.next_value, self.next_argument, self.next_conflict)
            inside = frozenset(self.taken)
            waiting += [(nested, after, inside) for block in region.blocks for op in block.ops for nested in op.regions]

    def _number(self, region: Region) -> None:
        for block in region.blocks:
            for argument in block.args:
                hint = argument.name_hint
                if block is region.first_block:
                    hint = hint or f"arg{self.next_argument}"
                    self.next_argument += 1
                self.names[argument] = self._name(hint)
        for op in (op for block in region.blocks for op in block.ops):
            if len(op.results) == 1:
                self.names[op.results[0]] = self._name(op.results[0].name_hint)
            elif op.results:
                first = self._name(op.results[0].name_hint)
                self.names |= {result: f"{first}#{number}" for number, result in enumerate(op.results)}

    def _name(self, hint: str | None) -> str:
        if hint is None:
            self.next_value += 1
            return f"%{self.next_value - 1}"
        name = hint
        while name in self.taken:
            name = f"{hint}_{self.next_conflict}"
            self.next_conflict += 1
        self.taken.add(name)
        return f"%{name}"


# Aliases --------------------------------------------------------------------------------------------------------------


def _aliases(module: ModuleOp) -> dict[Attribute, str]:
    """Encoding -> `#shared1`, numbered in the order in which they are met."""
    seen: dict[Attribute, None] = {}
    counts: dict[str, int] = {}
    for attribute in _attributes_of(module):
        seen.update(dict.fromkeys(_inside(attribute)))
    aliases: dict[Attribute, str] = {}
    for attribute in seen:
        if isinstance(attribute, EncodingAttr) and attribute.ALIAS:
            number = counts.get(attribute.ALIAS, 0)
            counts[attribute.ALIAS] = number + 1
            aliases[attribute] = f"#{attribute.ALIAS}{number or ''}"
    return aliases


def _attributes_of(op: Operation) -> Iterator[Attribute]:
    yield from op.properties.values()
    yield from op.attributes.values()
    yield from op.result_types
    for region in op.regions:
        for block in region.blocks:
            yield from block.arg_types
            for nested in block.ops:
                yield from _attributes_of(nested)


def _inside(attribute: Attribute) -> Iterator[Attribute]:
    """The attributes inside `attribute`, innermost first, and itself."""
    if isinstance(attribute, ParametrizedAttribute):
        for parameter in attribute.parameters:
            yield from _inside(parameter)
    elif isinstance(data := getattr(attribute, "data", None), tuple):
        for part in cast("tuple[object, ...]", data):
            if isinstance(part, Attribute):
                yield from _inside(part)
    yield attribute
