"""
The questions that Triton answers about layouts, and how it is asked.

Triton 3.9 is an oracle that was written by others from the same paper: its `LinearLayout` for the algebra, its Gluon
builder for what encodings mean and for bank conflicts. It needs no GPU for them.
"""

from __future__ import annotations

import random
from typing import Any

Question = dict[str, Any]
Bases = list[tuple[str, list[list[int]]]]


def questions() -> list[Question]:
    """All questions, the same ones every time."""
    generator = random.Random(39)
    return [*_algebra(generator, 120), *_encodings(), *_conflicts()]


def _algebra(generator: random.Random, count: int) -> list[Question]:
    found: list[Question] = []
    for _ in range(count):
        outputs = {"x": 1 << generator.randrange(4), "y": 1 << generator.randrange(1, 4)}
        first, second = (_surjective(generator, outputs) for _ in range(2))
        after = [(name, [_coordinates(generator, outputs) for _ in range(_bits(outputs[name]))]) for name in outputs]
        found.append({"ask": "algebra", "first": first, "second": second, "after": after, "outputs": outputs})
    return found


def _surjective(generator: random.Random, outputs: dict[str, int]) -> Bases:
    """Random bases that reach every element, with a few too many."""
    from tileas_xdsl.layouts.linear import LinearLayout

    bits = sum(map(_bits, outputs.values()))
    while True:
        sizes = [generator.randrange(bits + 2), generator.randrange(bits + 2)]
        bases = [
            (name, [_coordinates(generator, outputs) for _ in range(count)])
            for name, count in zip(("register", "lane"), sizes, strict=True)
        ]
        if LinearLayout.of(dict(bases), outputs).is_surjective:
            return bases


def _coordinates(generator: random.Random, outputs: dict[str, int]) -> list[int]:
    return [generator.randrange(size) for size in outputs.values()]


def _bits(size: int) -> int:
    return size.bit_length() - 1


def _encodings() -> list[Question]:
    blocked = [
        ("blocked", [[1, 4], [8, 4], [2, 2], [1, 0]], [64, 64]),
        ("blocked", [[1, 4], [8, 4], [2, 2], [1, 0]], [16, 16]),
        ("blocked", [[2, 2], [4, 8], [4, 1], [0, 1]], [32, 128]),
        ("blocked", [[8], [32], [4], [0]], [1024]),
        ("blocked", [[8], [32], [4], [0]], [128]),
        ("blocked", [[1, 2, 4], [2, 4, 4], [1, 2, 2], [2, 1, 0]], [8, 16, 64]),
        ("blocked", [[1, 1], [32, 1], [1, 4], [0, 1]], [64, 2]),
    ]
    sliced = [
        ("slice", [axis, *arguments], [shape[1 - axis]]) for axis in (0, 1) for _, arguments, shape in blocked[:3]
    ]
    mma = [
        (operand, [version, warps, instruction, width], shape)
        for version, warps, instruction, width, shape in (
            (2, [2, 2], [16, 8], 2, [64, 64]),
            (2, [4, 1], [16, 8], 4, [64, 128]),
            (2, [1, 4], [16, 8], 1, [32, 64]),
            (3, [4, 1], [16, 128, 16], 2, [64, 128]),
            (3, [8, 1], [16, 64, 16], 2, [128, 64]),
            (3, [4, 2], [16, 64, 16], 2, [128, 128]),
        )
        for operand in ("acc", "a", "b")
        if not (version == 3 and operand == "b")
    ]
    memory = [
        ("nvmma", [swizzle, bits, transposed], shape)
        for swizzle in (0, 32, 64, 128)
        for bits in (8, 16, 32)
        for transposed in (False, True)
        for shape in ([64, 64], [128, 256])
        if shape[1 - transposed] * bits >= 8 * swizzle
    ]
    swizzled = [("swizzled", [8, 1, 8, [1, 0]], [16, 64]), ("swizzled", [1, 1, 1, [0, 1]], [32, 8])]
    rows = [*blocked, *sliced, *mma, *memory, *swizzled]
    return [{"ask": "encoding", "kind": kind, "arguments": a, "shape": shape} for kind, a, shape in rows]


def _conflicts() -> list[Question]:
    registers = [
        ("blocked", [[1, 8], [4, 8], [4, 1], [1, 0]]),
        ("blocked", [[1, 8], [32, 1], [4, 1], [1, 0]]),
        ("blocked", [[1, 2], [2, 16], [4, 1], [1, 0]]),
        ("blocked", [[1, 1], [1, 32], [4, 1], [1, 0]]),
        ("blocked", [[1, 1], [32, 1], [1, 4], [0, 1]]),
        ("acc", [2, [4, 1], [16, 8], 2]),
    ]
    memory = [("nvmma", [swizzle, 16, transposed]) for swizzle in (0, 32, 64, 128) for transposed in (False, True)]
    return [
        {"ask": "conflicts", "registers": r, "memory": m, "shape": [64, 64], "bits": bits}
        for bits in (16, 32)
        for r in registers
        for m in memory
    ]


# Asking ---------------------------------------------------------------------------------------------------------------


class Triton:
    """The oracle itself. Needs the wheel."""

    def __init__(self) -> None:
        from triton._C.libtriton import gluon_ir, ir, linear_layout

        self.layouts = linear_layout.LinearLayout
        self.context = ir.context()
        ir.load_dialects(self.context)
        self.builder = gluon_ir.GluonOpBuilder(self.context)
        self._begin_function()

    def _begin_function(self) -> None:
        """Bank conflicts are only counted within a function for some target."""
        builder = self.builder
        builder.set_loc("oracle", 1, 1)
        module = builder.create_module()
        numbers = {"ttg.num-warps": 4, "ttg.threads-per-warp": 32, "ttg.num-ctas": 1}
        for name, number in numbers.items():
            module.set_attr(name, builder.get_int32_attr(number))
        module.set_attr("ttg.target", builder.get_string_attr("cuda:90"))
        function = builder.get_or_insert_function(module, "f", builder.get_function_ty([], []), "public", False)
        module.push_back(function)
        builder.set_insertion_point_to_start(function.add_entry_block())
        self.module = module

    def answer(self, question: Question) -> Any:
        """What Triton says, sequences as lists."""
        return _as_lists(getattr(self, f"_{question['ask']}")(question))

    def _algebra(self, question: Question) -> Any:
        names, sizes = list(question["outputs"]), list(question["outputs"].values())
        first, second = (self.layouts.from_bases(question[which], names, sizes, True) for which in ("first", "second"))
        after = self.layouts.from_bases(question["after"], names, sizes, False)
        return {
            "invert_and_compose": _bases(first.invert_and_compose(second)),
            "pseudoinvert": _bases(first.pseudoinvert()),
            "compose": _bases(first.compose(after)),
            "injective": first.is_injective(),
            "invert": _bases(first.invert()) if first.is_invertible() else None,
        }

    def _encoding(self, question: Question) -> Any:
        layout = self.builder.to_linear_layout(self._attribute(question), question["shape"])
        if hasattr(layout, "offset_bases"):
            return {"offset": layout.offset_bases}
        return {"register": layout.reg_bases, "lane": layout.lane_bases, "warp": layout.warp_bases}

    def _conflicts(self, question: Question) -> Any:
        registers, memory = (
            self._attribute(dict(zip(("kind", "arguments"), question[which], strict=True)))
            for which in ("registers", "memory")
        )
        return self.builder.get_shared_bank_conflicts(registers, memory, question["shape"], question["bits"])

    def _attribute(self, question: Question) -> Any:
        kind, arguments = question["kind"], question["arguments"]
        builder = self.builder
        if kind == "blocked":
            return builder.get_blocked_layout(*arguments, [])
        if kind == "slice":
            return builder.get_slice_layout(arguments[0], builder.get_blocked_layout(*arguments[1:], []))
        if kind == "nvmma":
            swizzle, bits, transposed = arguments
            return builder.get_nvmma_shared_layout(swizzle, bits, transposed, False, [], 2)
        if kind == "swizzled":
            return builder.get_swizzled_shared_layout(*arguments, [])
        version, warps, instruction, width = arguments
        mma = builder.get_mma_layout([version, 0], warps, [], instruction)
        return mma if kind == "acc" else builder.get_dot_operand_layout("ab".index(kind), mma, width)


def _bases(layout: Any) -> list[tuple[str, list[list[int]]]]:
    return [(name, [list(basis) for basis in bases]) for name, bases in layout.bases]


def _as_lists(answer: Any) -> Any:
    if isinstance(answer, tuple | list):
        return [_as_lists(part) for part in answer]
    if isinstance(answer, dict):
        return {name: _as_lists(part) for name, part in answer.items()}
    return answer
