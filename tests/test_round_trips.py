"""
Every `.mlir` file of tests and examples survives the way there and back, through our own forms and through MLIR.

*Ours*: custom -> generic -> custom is a fixpoint, in structure and in text. *MLIR's*: xDSL's generic print goes through
`mlir-opt --allow-unregistered-dialect`, whose default print is read back and compared structurally. Our dialects are
unknown there and come back in generic form; upstream dialects come back in custom form, and if one does not, mlir-opt
has not recognised the op. We send xDSL's print, never the file: MLIR copies aliases inside opaque types verbatim.

Files that are not plain valid input are named `*-invalid.mlir` and stay out, and so do the programs at the edges that
we cannot read yet (a list that only shrinks). What may differ stands in `tests/support/exemptions.py`.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import ParseError

from tests.checker.test_edges import EDGES, NOT_READ_YET
from tests.support.exemptions import MLIR_EXEMPT, XDSL_CANNOT_READ
from tests.support.ir import ROOT, assert_round_trips, chunks, context, parse, print_generic
from tests.support.mlir import mlir_opt, run

FILES = sorted(
    path
    for room in ("tests", "examples")
    for path in ROOT.glob(f"{room}/**/*.mlir")
    if not path.name.endswith("-invalid.mlir") and not (path.parent == EDGES and path.stem in NOT_READ_YET)
)

SEPARATOR = "// -----"
QUOTED_OP = re.compile(r'(?:^|= )\s*"([a-z_0-9]+)\.([\w.$]+)"\(', re.MULTILINE)


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


every_file = pytest.mark.parametrize("path", FILES, ids=name_of)


def allows_unregistered(path: Path) -> bool:
    """Whether the file's RUN lines say that it has ops of no dialect."""
    return "--allow-unregistered-dialect" in path.read_text()


@cache
def dialects_of_mlir() -> frozenset[str]:
    """The dialects that mlir-opt of LLVM 22 knows."""
    listed = run("mlir-opt", "", "--show-dialects").stdout
    return frozenset(listed.removeprefix("Available Dialects:").strip().replace(" ", "").split(","))


def unrecognised_ops(text: str) -> list[str]:
    """Ops of upstream dialects that mlir-opt printed quoted, exemptions left out."""
    quoted = [(dialect, f"{dialect}.{rest}") for dialect, rest in QUOTED_OP.findall(text)]
    return sorted({name for dialect, name in quoted if dialect in dialects_of_mlir() and name not in MLIR_EXEMPT})


def read_back(text: str, name: str) -> ModuleOp:
    """Parse what mlir-opt printed; where xDSL cannot, say which list of exemptions is for that."""
    try:
        return parse(text, name=name, allow_unregistered=True)
    except ParseError as error:
        pytest.fail(
            f"xDSL cannot read MLIR's print; if that is a gap of xDSL's, add the op to XDSL_CANNOT_READ\n{error}"
        )


@every_file
def test_custom_to_generic_to_custom_is_a_fixpoint(path: Path):
    for chunk in chunks(path):
        assert_round_trips(chunk, allow_unregistered=allows_unregistered(path))


@every_file
def test_mlir_reads_what_we_print_and_we_read_what_it_prints(path: Path):
    unregistered = allows_unregistered(path)
    modules = [parse(chunk, name=name_of(path), allow_unregistered=unregistered) for chunk in chunks(path)]
    sent = f"\n{SEPARATOR}\n".join(print_generic(module) for module in modules)
    through = [sent, "--allow-unregistered-dialect", "--split-input-file"]
    returned = mlir_opt(*through)
    assert unrecognised_ops(returned) == [], "mlir-opt does not know these: misspelled, or for MLIR_EXEMPT"

    if any(op.name in XDSL_CANNOT_READ for module in modules for op in module.walk()):
        returned = mlir_opt(*through, "--mlir-print-op-generic")
    texts = returned.split(SEPARATOR)
    assert len(texts) == len(modules)
    for module, text in zip(modules, texts, strict=True):
        back = read_back(text, f"{name_of(path)}, as mlir-opt prints it")
        assert back.is_structurally_equivalent(module), f"sent:\n{print_generic(module)}\nread back:\n{text}"


# The exemptions themselves --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", XDSL_CANNOT_READ)
def test_xdsl_still_has_no_custom_form_for(name: str):
    op_type = context().get_optional_op(name)
    assert op_type is not None
    assert op_type.parse.__func__ is Operation.parse.__func__, "remove the exemption"


@pytest.mark.parametrize("name", MLIR_EXEMPT)
def test_mlir_still_does_not_know(name: str):
    """Known ops of these dialects would be refused, for want of operands, or printed without quotes."""
    result = run("mlir-opt", f'"{name}"() : () -> ()', "--allow-unregistered-dialect")
    assert result.returncode == 0, "remove the exemption"
    assert f'"{name}"() : () -> ()' in result.stdout, "remove the exemption"


def test_an_op_that_mlir_does_not_know_is_noticed():
    assert unrecognised_ops(mlir_opt('"nvvm.no_such_op"() : () -> ()')) == ["nvvm.no_such_op"]
    assert unrecognised_ops(mlir_opt('%0 = "arith.constant"() <{value = 0 : i32}> : () -> i32')) == []
