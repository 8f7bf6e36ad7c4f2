"""Parsing, printing and transforming IR in one process: what every test of this project starts from."""

from __future__ import annotations

from functools import cache
from io import StringIO
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.passes import PassPipeline
from xdsl.printer import Printer
from xdsl.universe import Universe

from tileas_xdsl.analysis.dominance import verify_dominance
from tileas_xdsl.diagnostics import recorded_diagnostics

ROOT = Path(__file__).parents[2]
"""The checkout."""


@cache
def universe() -> Universe:
    return Universe.get_multiverse()


def context(*, allow_unregistered: bool = False) -> Context:
    """A context that knows every dialect that stock `xdsl-opt` knows, loaded on first use."""
    ctx = Context(allow_unregistered=allow_unregistered)
    for name, factory in universe().all_dialects.items():
        ctx.register_dialect(name, factory)
    return ctx


_READ: list[str] = []
"""The text of the last program; a failure shows it."""


def last_program_read() -> str:
    return "".join(_READ)


def parse(text: str, *, name: str = "<test>", allow_unregistered: bool = False) -> ModuleOp:
    """Parse and verify; raises what the parser or the verifier raises."""
    _READ[:] = [text]
    module = Parser(context(allow_unregistered=allow_unregistered), text, name).parse_module()
    module.verify()
    return module


def print_custom(op: Operation) -> str:
    stream = StringIO()
    Printer(stream).print_op(op)
    return stream.getvalue()


def print_generic(op: Operation) -> str:
    stream = StringIO()
    Printer(stream, print_generic_format=True).print_op(op)
    return stream.getvalue()


def run_passes(module: ModuleOp, spec: str) -> ModuleOp:
    """Run a pipeline, spelled as for `xdsl-opt -p`, on `module` in place; verify IR and dominance after each pass."""

    def verify(_previous: object, current: ModuleOp, _next: object) -> None:
        current.verify()
        verify_dominance(current)

    PassPipeline.parse_spec(universe().all_passes, spec, verify).apply(context(), module)
    return module


def through(text: str, spec: str) -> ModuleOp:
    """What passes make of a program; what they remark is dropped."""
    with recorded_diagnostics():
        return run_passes(parse(text), spec)


def example(name: str) -> str:
    """The text of a program in examples/."""
    return (ROOT / "examples" / f"{name}.mlir").read_text()


def chunks(path: Path) -> list[str]:
    """The pieces of a `.mlir` file between `// -----` lines."""
    return path.read_text().split("// -----")


def assert_round_trips(text: str, *, allow_unregistered: bool = False) -> ModuleOp:
    """Custom -> generic -> custom is a fixpoint, structurally and in text. Returns the parsed module."""
    module = parse(text, allow_unregistered=allow_unregistered)
    custom, generic = print_custom(module), print_generic(module)
    from_custom = parse(custom, allow_unregistered=allow_unregistered)
    from_generic = parse(generic, allow_unregistered=allow_unregistered)
    assert from_custom.is_structurally_equivalent(module)
    assert from_generic.is_structurally_equivalent(module)
    assert print_custom(from_custom) == custom
    assert print_custom(from_generic) == custom
    assert print_generic(from_custom) == generic
    return module
