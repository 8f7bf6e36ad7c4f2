"""
The encoders of cuda-tile are the oracle of the rows: ops with random operands, flags and attributes, in each version,
are read and written again byte for byte. So a row that lacks a flag, or swaps two attributes, is noticed.
"""

from __future__ import annotations

import inspect
import random
import re
from enum import Enum
from typing import Any

import pytest

from tests.cutile.exports import require_cutile
from tileas_xdsl.dialects.cuda_tile.base import TileIROp
from tileas_xdsl.dialects.cuda_tile.rows import VERSIONS, Version
from tileas_xdsl.dialects.cuda_tile.table import BY_OPCODE
from tileas_xdsl.readers.tile_ir import read, write

SECTIONS = {"GlobalOp", "ModuleOp", "EntryOp"}
"""What the package encodes as ops and the format holds in sections."""
REGIONS = {"ForOp", "LoopOp", "IfOp", "ReduceOp", "ScanOp"}
SINCE = re.compile(r"#\s*since 13\.(\d)|#\s*preview")
ROUNDS = 3


def encoders() -> dict[str, Any]:
    require_cutile()
    from cuda.tile._bytecode import encodings

    found = {name.removeprefix("encode_"): value for name, value in vars(encodings).items()}
    ops = {name: value for name, value in found.items() if name.endswith("Op") and name not in SECTIONS}
    return {name: value for name, value in sorted(ops.items()) if inspect.isfunction(value)}


def test_every_encoder_has_a_row() -> None:
    opcodes = {
        int(match[1])
        for encoder in encoders().values()
        if (match := re.search(r"# Opcode\n\s*encode_varint\((\d+)", inspect.getsource(encoder)))
    }
    assert opcodes == set(BY_OPCODE)


def since(text: str) -> int:
    """The least minor version that a line of an encoder says."""
    match = SINCE.search(text)
    return 1 if match is None else int(match[1] or 5)


class Writer:
    """A file with one kernel whose ops have random parts."""

    def __init__(self, seed: int, version: Version) -> None:
        from cuda.tile import _bytecode as bc
        from cuda.tile._bytecode.version import BytecodeVersion

        self.bc = bc
        self.random = random.Random(f"{seed} {version}")
        self.minor = version[1]
        self.version = getattr(BytecodeVersion, f"V_13_{version[1]}")
        self.ops = 0

    def data(self) -> bytes:
        data = bytearray()
        with self.bc.write_bytecode(1, data, self.version) as writer:
            self.tables = writer
            types = writer.type_table
            scalar = types.tile(types.F32, [])
            kinds = [scalar] * 5
            file = writer.debug_attr_table.file("kernels.py", "")
            unit = writer.debug_attr_table.compile_unit(file)
            scope = writer.debug_attr_table.subprogram(file, 1, "k", "k", unit, 1)
            place = writer.debug_attr_table.loc(scope, "kernels.py", 3, 4)
            from cuda.tile._bytecode.attribute import EntryHints

            with writer.function("k", kinds, [], True, {"default": EntryHints()}, place) as (code, values):
                self.code, self.values, self.kind = code, list(values), scalar
                for name, encoder in encoders().items():
                    for _ in range(ROUNDS):
                        self.encode(name, encoder)
        return bytes(data)

    def encode(self, name: str, encoder: Any) -> None:
        lines = inspect.getsource(encoder).split("_buf = ")[0].splitlines()
        if since(lines[0]) > self.minor:
            return
        said = {match[1]: since(line) for line in lines if (match := re.match(r"\s+(\w+): ", line))}
        types = {match[1]: match[2] for line in lines if (match := re.match(r"\s+(\w+): (.*?),?(?:\s*#.*)?$", line))}
        arguments = {
            parameter: self.argument(name, parameter, types[parameter], said[parameter] <= self.minor)
            for parameter in list(inspect.signature(encoder).parameters)[1:]
        }
        made = encoder(self.code, **arguments)
        self.ops += 1
        if name in REGIONS:
            for _ in range(2 if name == "IfOp" else 1):
                with made.new_block([self.kind] * self.random.randrange(3)) as block:
                    self.values += block
                    inner = encoders()["AbsFOp"](self.code, self.kind, self.random.choice(self.values))
                    self.ops += 1
                    encoders()["YieldOp"](self.code, [inner])
                    self.values = self.values[: -len(block)] if block else self.values
            made = made.done()
        self.values += made if isinstance(made, tuple) else [] if made is None else [made]

    def argument(self, op: str, name: str, kind: str, there: bool) -> Any:
        """A random argument of the written type; where the version lacks it, what stands for that."""
        choice, code = self.random, self.bc
        if not there:
            return self.missing(op, name, kind)
        if kind.startswith("Optional["):
            inner = kind.removeprefix("Optional[").removesuffix("]")
            if name == "result_token_type":
                return self.kind
            return self.argument(op, name, inner, True) if choice.randrange(2) else None
        match kind:
            case "TypeId":
                return self.kind
            case "Value":
                return choice.choice(self.values)
            case "bool":
                return bool(choice.randrange(2))
            case "int":
                return choice.choice([0, 1, 5, 127, 128, 1 << 20])
            case "str":
                return choice.choice(["text", "other", ""])
            case "bytes":
                return choice.randbytes(4)
            case "AssumePredicate":
                return choice.choice([code.DivBy(16), code.DivBy(4, 2, 0), code.Bounded(0, None), code.Bounded(-5, 9)])
            case "OptimizationHints":
                return self.hints()
            case "Sequence[TypeId]":
                return [self.kind] * choice.randrange(1, 3)
            case "Sequence[Value]":
                return [choice.choice(self.values) for _ in range(choice.randrange(4))]
            case "Sequence[bool]":
                return [bool(choice.randrange(2)) for _ in range(choice.randrange(4))]
            case "Sequence[int]":
                return [choice.choice([0, 1, -1, 7]) for _ in range(choice.randrange(4))]
            case "Sequence[TaggedAttribute]":
                return [self.tagged() for _ in range(choice.randrange(3))]
            case _:
                enumeration = getattr(code, kind)
                return choice.choice(list(enumeration))

    def missing(self, op: str, name: str, kind: str) -> Any:
        if kind.startswith("Optional["):
            return None
        if kind in ("bool", "Sequence[bool]"):
            return False if kind == "bool" else []
        enumeration: type[Enum] = getattr(self.bc, kind)
        return {"RoundingMode": lambda: enumeration["FULL"], "IntegerOverflow": lambda: enumeration["NONE"]}[kind]()

    def hints(self) -> Any:
        from cuda.tile._bytecode.attribute import LoadStoreHints, make_load_store_hints

        hints = LoadStoreHints(latency=self.random.choice([None, 3]), allow_tma=bool(self.random.randrange(2)))
        return make_load_store_hints({self.random.choice(["default", "sm_90"]): hints})

    def tagged(self) -> Any:
        types = self.tables.type_table
        from cuda.tile._bytecode.type import SimpleType

        return self.random.choice(
            [
                self.bc.Integer(types.I32, 32, self.random.choice([0, -1, 1 << 30])),
                self.bc.Bool(True),
                self.bc.Float(self.random.choice([0.0, -1.5, float("-inf")]), SimpleType.F32, types),
                self.bc.Float(1.5, SimpleType.F64, types),
            ]
        )


@pytest.mark.parametrize("version", VERSIONS, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_random_ops_are_read_and_written_identically(seed: int, version: Version) -> None:
    writer = Writer(seed, version)
    data = writer.data()
    module = read(data)
    assert write(module) == data
    ops = [op for op in module.walk() if isinstance(op, TileIROp)]
    assert len(ops) >= writer.ops > 80 * ROUNDS
