"""
Layout encodings of Triton's tensors and memory descriptors, opaque: `#ttg.blocked<{sizePerThread = [1, 8], ...}>`.

Where the elements of a tile lie decides nothing about the order of accesses, and how an encoding is spelled changes
from release to release. So the body, whatever balanced text it is, is kept as it stands and printed back. An attribute
that stands in a body, under an alias or in full, is kept as an attribute: two modules that name one encoding
differently have the same attributes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.mlir_lexer import PunctuationSpelling

from tileas_xdsl.targets.engines import Family

OPENING: tuple[PunctuationSpelling, ...] = ("{", "[", "(", "<")
CLOSING: tuple[PunctuationSpelling, ...] = ("}", "]", ")", ">")
BETWEEN: tuple[PunctuationSpelling, ...] = ("=", ",", ":", "->", "-", "*", "?", "+")


class EncodingAttr(ParametrizedAttribute):
    """Base of the encodings: a name, and a body that nobody here looks into."""

    pieces: ArrayAttr[Attribute]
    """Text as strings, and between them the attributes that the body names; empty where there is no body."""

    ALIAS: ClassVar[str] = ""
    """The word from which Triton makes the aliases of such attributes; empty for those that it prints in full."""

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        return [ArrayAttr(parse_body(parser))]

    def print_parameters(self, printer: Printer) -> None:
        print_body(printer, self.pieces.data)

    @property
    def text(self) -> str:
        """The words of the body; those of encodings inside it stand in their place."""
        return "".join(
            piece.data if isinstance(piece, StringAttr) else piece.text if isinstance(piece, EncodingAttr) else ""
            for piece in self.pieces
        )


def parse_body(parser: AttrParser) -> list[Attribute]:
    """The pieces between `<` and its `>`; none where there is no `<`."""
    if parser.parse_optional_punctuation("<") is None:
        return []
    content = str(parser.lexer.input.content)
    pieces: list[Attribute] = []
    start = end = parser.pos
    depth = 0
    while depth or parser.parse_optional_punctuation(">") is None:
        if content[parser.pos : parser.pos + 1] == "#":
            pieces.append(StringAttr(content[start : parser.pos]))
            pieces.append(parser.parse_attribute())
            start = _end_before(content, parser.pos)
        else:
            depth += _skip_token(parser)
        end = _end_before(content, parser.pos)
    return [*pieces, StringAttr(content[start:end])]


def _skip_token(parser: AttrParser) -> int:
    """Pass one token; how many brackets deeper the text is then."""
    if any(parser.parse_optional_punctuation(bracket) for bracket in OPENING):
        return 1
    if any(parser.parse_optional_punctuation(bracket) for bracket in CLOSING):
        return -1
    if any(parser.parse_optional_punctuation(sign) for sign in BETWEEN):
        return 0
    if parser.parse_optional_identifier() is None and parser.parse_optional_number() is None:
        parser.parse_str_literal(" or anything else that stands in an encoding")
    return 0


def _end_before(content: str, position: int) -> int:
    """The end of the last token that ends before `position`."""
    while content[position - 1].isspace():
        position -= 1
    return position


def print_body(printer: Printer, pieces: Sequence[Attribute]) -> None:
    """Print what `parse_body` has read."""
    if not pieces:
        return
    printer.print_string("<")
    for piece in pieces:
        if isinstance(piece, StringAttr):
            printer.print_string(piece.data)
        else:
            printer.print_attribute(piece)
    printer.print_string(">")


def encodings(dialect: str, names: dict[str, str]) -> Iterator[type[EncodingAttr]]:
    """A class for each name, with the word for its aliases."""
    for name, alias in names.items():
        title = "".join(word.capitalize() for word in name.split("_"))
        fields = {
            "name": f"{dialect}.{name}",
            "ALIAS": alias,
            "__doc__": f"`#{dialect}.{name}`.",
            # Attributes are compared by the fields of their own class.
            "__annotations__": {"pieces": ArrayAttr[Attribute]},
        }
        yield irdl_attr_definition(type(f"{title}Attr", (EncodingAttr,), fields))


TTG_ENCODINGS = tuple(
    encodings(
        "ttg",
        {
            "blocked": "blocked",
            "linear": "linear",
            "generic_linear": "linear",
            "slice": "",
            "dot_op": "",
            "nvidia_mma": Family.MMA,
            "amd_mfma": Family.MMA,
            "amd_wmma": Family.MMA,
            "swizzled_shared": "shared",
            "nvmma_shared": "shared",
            "padded_shared": "shared",
            "partitioned_shared": "shared",
            "shared_linear": "shared",
            "amd_rotating_shared": "shared",
            "shared_memory": "smem",
            "cache_policy": "",
        },
    )
)
TTNG_ENCODINGS = tuple(
    encodings(
        "ttng",
        {
            "tensor_memory_encoding": "tmem",
            "tensor_memory_scales_encoding": "tmem_scales",
            "tensor_memory": "",
            "cache_policy": "",
        },
    )
)
TT_ENCODINGS = tuple(encodings("tt", {"cache_policy": ""}))
