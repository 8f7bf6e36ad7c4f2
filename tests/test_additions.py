"""
How many places one touches to add an op, a pass or a chip: each is added to a temporary copy of the package, and used.

The limits are those of CONTRIBUTING.md's steps: an op has its class, its entry in the dialect and its meaning; a pass
its file and its name; a chip its row.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.house import PACKAGE

MOST = {"op": 5, "pass": 2, "chip": 1}
"""What is added -> how many files may change for it."""

Edits = Mapping[str, tuple[str, str] | str]
"""File of the package -> a text and what stands before it from then on, or the text of a new file."""

OP: Edits = {
    "dialects/async_/runtime.py": (
        "def _verify_payload(",
        '''from xdsl.traits import Pure


@irdl_op_definition
class RuntimeDoubledOp(AsyncOp):
    """
    Twice a number.

    `%n = async.runtime.doubled %m : index`
    """

    name = "async.runtime.doubled"

    number = operand_def(INDEX)
    doubled = result_def(INDEX)

    traits = traits_def(Pure())
    assembly_format = "$number attr-dict `:` type($doubled)"


''',
    ),
    "dialects/async_/__init__.py": (
        "Async = Dialect(",
        "from tileas_xdsl.dialects.async_.runtime import RuntimeDoubledOp\n\n",
    ),
    "machine/meanings/async_.py": (
        "@suspends(async_.AwaitOp)",
        "from tileas_xdsl.dialects.async_.runtime import RuntimeDoubledOp\n"
        "from tileas_xdsl.machine.core.meaning import pure\n\n\n"
        "@pure(RuntimeDoubledOp)\ndef _doubled(_agent: Agent, _op: object, number: int) -> int:\n"
        "    return 2 * number\n\n\n",
    ),
}
IN_DIALECT = ("dialects/async_/__init__.py", "        YieldOp,\n    ],", "        RuntimeDoubledOp,\n")
USES_OP = """
from xdsl.context import Context
from tests.support.ir import parse
from tileas_xdsl.machine.running import run
from tileas_xdsl.checker.verdict.checking import check
module = parse('''func.func @k(%n: index) -> index {
  %m = async.runtime.doubled %n : index
  func.return %m : index
}''')
assert run(module, "k", [21]).results == (42,)
assert str(check(module).verdict) == "safe"
"""

PASS: Edits = {
    "transforms/tokens/drop_empty_branches.py": '''"""
Remove branches that do nothing.

    scf.if %c { }     ->
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter


class DropEmptyBranchesPass(ModulePass):
    """Rewrites: as above. Requires: nothing. Refuses: nothing."""

    name = "drop-empty-branches"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for branch in [each for each in op.walk() if isinstance(each, scf.IfOp)]:
            if all(len(block.ops) == 1 and not branch.results for region in branch.regions for block in region.blocks):
                Rewriter.erase_op(branch)
''',
    "names.py": (
        '    "async-join-regions": (',
        '    "drop-empty-branches": ("tokens.drop_empty_branches", "DropEmptyBranchesPass"),\n',
    ),
}
USES_PASS = """
from tests.support.ir import parse, run_passes
done = run_passes(parse("func.func @k(%c: i1) { scf.if %c { } func.return }"), "drop-empty-branches")
assert "scf.if" not in str(done)
"""

CHIP: Edits = {
    "targets/chips.py": (
        "        _row(120, 99, CONSUMER_BLACKWELL, 88, BOTH),",
        "        _row(119, 200, HOPPER | Feature.WGMMA, 88, BOTH),\n",
    )
}
USES_CHIP = """
from tests.support.ir import ROOT
from tileas_xdsl.targets.chips import PTX_VERSIONS, chip_of
from tileas_xdsl.tools.main import main
assert chip_of(119).shared_bytes == 200 * 1024 and PTX_VERSIONS["sm_119a"] == 88
kernel = str(ROOT / "tests" / "kernels" / "reduction.mlir")
assert main(["schedule", kernel, "--target", "sm_119"]) in (0, None)
"""

ADDITIONS: dict[str, tuple[Edits, str]] = {
    "op": (OP, USES_OP),
    "pass": (PASS, USES_PASS),
    "chip": (CHIP, USES_CHIP),
}


def edited(package: Path, edits: Edits) -> None:
    for file, edit in edits.items():
        path = package / file
        if isinstance(edit, str):
            path.write_text(edit)
            continue
        before, added = edit
        text = path.read_text()
        assert text.count(before) == 1, (file, before)
        path.write_text(text.replace(before, added + before))


@pytest.mark.parametrize("what", ADDITIONS)
def test_an_addition_touches_few_places(what: str, tmp_path: Path) -> None:
    edits, uses = ADDITIONS[what]
    assert len(edits) <= MOST[what]
    shutil.copytree(PACKAGE, tmp_path / "tileas_xdsl", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(PACKAGE.parent / "tests" / "support", tmp_path / "tests" / "support")
    (tmp_path / "tests" / "__init__.py").write_text("")
    kernels = tmp_path / "tests" / "kernels"
    kernels.mkdir()
    shutil.copy(PACKAGE.parent / "tests" / "kernels" / "reduction.mlir", kernels)
    edited(tmp_path / "tileas_xdsl", edits)
    if what == "op":
        file, before, added = IN_DIALECT
        edited(tmp_path / "tileas_xdsl", {file: (before, added)})
    done = subprocess.run([sys.executable, "-c", uses], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
