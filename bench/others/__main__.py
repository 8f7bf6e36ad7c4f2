"""
Kernels of other people: `python -m bench.others DIRECTORY [--target sm_90]... [--limit N] [--texts FOLDER]`.

DIRECTORY is where `pip install --no-deps --target DIRECTORY fla-core==0.6.0 liger-kernel==0.8.5` has put the libraries.
Each kernel in them that has a loop, and a product of tiles or a descriptor, is compiled for each target as far as TTGIR
and checked. Neither a GPU nor torch is needed: nothing is launched, the types of arguments are guessed from the code,
and stand-ins take the place of torch and of the GPU. The table says how many are safe for every trip count, for some,
undecided or refused, and why.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import pkgutil
import sys
import textwrap
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from tileas_xdsl.triton.guessing import guesses

LIBRARIES = {"fla": "fla.ops", "liger_kernel": "liger_kernel.ops"}
TARGETS = ("sm_80", "sm_90", "sm_100")
ASYNCHRONOUS = ("async_copy", "async_tma", "warp_group_dot", "tc_gen5", "wait_barrier", "load_to_local", "async_tdm")


@dataclass(frozen=True)
class Row:
    """What became of one kernel for one target."""

    library: str
    kernel: str
    target: str
    outcome: str
    reason: str = ""
    is_asynchronous: bool = False
    seconds: float = 0.0


def kernels_of(package: str) -> Iterator[tuple[str, Any, Any]]:
    """(name, kernel, the function under its tuners) of each kernel in the modules of `package` that counts."""
    from triton.runtime.jit import JITFunction

    top = import_module(package)
    seen: set[int] = set()
    for info in pkgutil.walk_packages(top.__path__, f"{package}.", onerror=lambda _name: None):
        try:
            module = import_module(info.name)
        except Exception as error:
            print(f"{info.name} is not imported: {error}", file=sys.stderr)
            continue
        for name, kernel in sorted(vars(module).items(), key=lambda item: item[0]):
            function = kernel
            while not isinstance(function, JITFunction) and "fn" in getattr(function, "__dict__", {}):
                function = function.fn
            if isinstance(function, JITFunction) and id(function) not in seen and _counts(function):
                seen.add(id(function))
                yield f"{info.name.removeprefix(package + '.')}.{name}", kernel, function


def _counts(function: Any) -> bool:
    """Whether a kernel has a loop and a product of tiles or a descriptor, and returns nothing, as those launched do."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function.fn)))
    nodes = list(ast.walk(tree))
    calls = {node.func.attr for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)}
    loops = any(isinstance(node, ast.For | ast.While) for node in nodes)
    gives = any(isinstance(node, ast.Return) and node.value is not None for node in nodes)
    return loops and not gives and not calls.isdisjoint({"dot", "make_tensor_descriptor", "dot_scaled"})


def check_one(
    library: str, name: str, kernel: Any, function: Any, target: str, timeout: float, texts: Path | None
) -> Row:
    """Compile and check one kernel."""
    from tileas_xdsl.tools.errors import InputError
    from tileas_xdsl.triton.compiling import target_named, text_of_stages
    from tileas_xdsl.triton.kernel_report import report_on
    from tileas_xdsl.triton.kernels import arguments_of, source_of

    said = ""
    device = target_named(target)
    for guess in guesses(kernel, function):
        try:
            given = arguments_of(function, guess.signature, guess.constexprs)
            text = text_of_stages(function, source_of(function)(function, *given), device, target, guess.options)
            break
        except InputError as error:
            said = str(error)
    else:
        return Row(library, name, target, "not compiled", said)
    if texts is not None:
        (texts / f"{library}.{name}.{target}.ttgir").write_text(text)
    is_asynchronous = any(word in text for word in ASYNCHRONOUS)
    began = time.process_time()
    try:
        report = report_on(name, target, text, {"timeout": timeout})
        outcome, reason = outcome_of(report.report)
    except InputError as error:
        outcome, reason = "refused", str(error).splitlines()[0]
    except Exception as error:
        outcome, reason = "crashed", f"{type(error).__name__}: {error}"
    return Row(library, name, target, outcome, reason, is_asynchronous, time.process_time() - began)


def outcome_of(report: Any) -> tuple[str, str]:
    """`every trip count`, `some`, `undecided` or `reported`, and why it is no more."""
    if report.findings:
        return "reported", report.findings[0].violation.message
    if report.undecided:
        return "undecided", report.undecided[0]
    if report.is_proved and not report.only_tried:
        return "every trip count", ""
    return "some trip counts", "; ".join(report.bounds_that_matter) or report.last_line


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--target", action="append", choices=[*TARGETS, "gfx950"])
    parser.add_argument("--limit", type=int, default=0, help="so many kernels of each library only")
    parser.add_argument("--only", default="", help="kernels with this in their names")
    parser.add_argument("--timeout", type=float, default=10.0)
    parser.add_argument("--texts", type=Path, help="write the TTGIR to this folder")
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    arguments = parser.parse_args()
    if arguments.texts is not None:
        arguments.texts.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    sys.path.append(str(arguments.directory))
    rows: list[Row] = []
    from tileas_xdsl.triton.compiling import target_named
    from tileas_xdsl.triton.host.anything import standing_in
    from tileas_xdsl.triton.host.driver import driver_for
    from tileas_xdsl.triton.host.torch import torch_for

    device = target_named("sm_90")
    with driver_for(device, "sm_90"), standing_in(torch_for(device)):
        found = [(library, *each) for library, package in LIBRARIES.items() for each in kernels_of(package)]
    found = [each for each in found if arguments.only in each[1]]
    for library, name, kernel, function in found:
        for target in arguments.target or TARGETS:
            rows.append(check_one(library, name, kernel, function, target, arguments.timeout, arguments.texts))
            print(
                f"{rows[-1].outcome:18} {target:6} {rows[-1].seconds:5.1f}s {name}: {rows[-1].reason[:200]}", flush=True
            )
        if arguments.limit and len({row.kernel for row in rows}) >= arguments.limit:
            break
    if arguments.json is not None:
        arguments.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    print_table(rows)
    return 0


def print_table(rows: list[Row]) -> None:
    for target in dict.fromkeys(row.target for row in rows):
        of_target = [row for row in rows if row.target == target and row.outcome != "not compiled"]
        counts = Counter(row.outcome for row in of_target)
        asynchronous = sum(row.is_asynchronous for row in of_target)
        told = ", ".join(f"{number} {outcome}" for outcome, number in counts.most_common())
        print(f"{target}: {len(of_target)} compiled, {asynchronous} with asynchronous ops: {told}")


if __name__ == "__main__":
    sys.exit(main())
