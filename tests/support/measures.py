"""
Counts of what the package writes down more than once: `tests/test_house.py` holds each under its ceiling.

All of them are read off the text of the modules. `python -m tests.support.measures` prints what each counts, with the
places.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache

from tests.support.house import FILES, PACKAGE, circles, import_graph, modules

Place = str
"""`tileas_xdsl/machine/running.py:12`: where something that is counted stands."""

MOST_PARAMETERS = 7
SMALL = 60
"""Lines of a module that is small."""


@cache
def trees() -> dict[str, list[ast.AST]]:
    """File, relative to the package -> the nodes of its tree."""
    return {str(file.relative_to(PACKAGE)): list(ast.walk(ast.parse(file.read_text()))) for file in FILES}


def nodes(outside: Iterable[str] = (), inside: Iterable[str] = ("",)) -> Iterator[tuple[str, ast.AST]]:
    """(file, node) of all modules in the rooms `inside` that are not in those `outside`."""
    for file, found in trees().items():
        if file.startswith(tuple(inside)) and not file.startswith(tuple(outside)):
            yield from ((file, node) for node in found)


def named(node: ast.AST) -> str:
    """`b` of the name `b` and of `a.b`; "" for anything else."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def place(file: str, node: ast.AST) -> Place:
    return f"tileas_xdsl/{file}:{getattr(node, 'lineno', 0)}"


# Imports --------------------------------------------------------------------------------------------------------------


def circles_with_types() -> list[Place]:
    """The modules of the largest circle of imports, those for types alone included."""
    found = circles(import_graph(modules(), for_types=True))
    return found[0] if found else []


def small_modules_of_one_neighbour() -> list[Place]:
    """Modules of at most 60 lines that one module imports, which stands beside them."""
    sources = modules()
    users: dict[str, set[str]] = {}
    for module, used in import_graph(sources, for_types=True).items():
        for source in used:
            users.setdefault(source, set()).add(module)
    found: list[Place] = []
    for module, source in sources.items():
        one = list(users.get(module, ()))
        if len(one) == 1 and one[0].rpartition(".")[0] == module.rpartition(".")[0] and source.count("\n") <= SMALL:
            found.append(module)
    return found


# Control flow ---------------------------------------------------------------------------------------------------------

FLOW_ROOMS = ("dialects/", "machine/meanings/", "transforms/to_llvm/", "transforms/rewriting/", "transforms/tile_ir/")


def modules_that_name_terminators() -> list[Place]:
    """Modules outside of dialects, meanings, conversions and rewriting that name `scf.YieldOp` or `scf.ConditionOp`."""
    return sorted({file for file, node in nodes(outside=FLOW_ROOMS) if named(node) in ("YieldOp", "ConditionOp")})


def operands_mapped_by_hand() -> list[Place]:
    """Places that set the arguments of a region beside operands with `zip`, outside of what executes the region."""

    def names_both(call: ast.Call) -> bool:
        texts = [ast.unparse(argument) for argument in call.args]
        takes = any(re.search(r"\b(block|body)\w*(\.block)?\.args\b", text) for text in texts)
        gives = any(re.search(r"\b(operands|inputs|arguments|captures|passed|given)\b", text) for text in texts)
        return takes and gives

    return [
        place(file, node)
        for file, node in nodes(outside=("dialects/", "machine/core/", "transforms/rewriting/"))
        if isinstance(node, ast.Call) and named(node.func) == "zip" and names_both(node)
    ]


# Numbers --------------------------------------------------------------------------------------------------------------

INTEGER_OP = re.compile(
    r"(Add|Sub|Mul|DivU|DivS|FloorDivS|CeilDivS|CeilDivU|RemU|RemS|And|Or|XOr|ShL|ShRU|ShRS|Min\w|Max\w|ExtU|ExtS|Trunc)I\w*"
)
FEW = 3
"""A literal that names fewer integer ops is no table."""
SYMBOLIC = ("AffineIndex", "LinearForm", "Origin", "DerivedCount", "SumOfIds", "OpenLoop", "Formula", "Linear")


def tables_of_integer_ops() -> list[Place]:
    """Modules outside of `upstream_models` with a dictionary, tuple, list or set of integer ops."""
    found: set[str] = set()
    for file, node in nodes(outside=("dialects/upstream_models/",)):
        if isinstance(node, ast.Dict):
            elements = [key for key in node.keys if key is not None]
        elif isinstance(node, ast.Tuple | ast.List | ast.Set):
            elements = node.elts
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            elements = list(ast.walk(node))
        else:
            continue
        if sum(INTEGER_OP.fullmatch(named(each)) is not None for each in elements) >= FEW:
            found.add(file)
    return sorted(found)


def symbolic_forms() -> list[Place]:
    """Classes that say what a number is in terms of others."""
    return [place(file, node) for file, node in nodes() if isinstance(node, ast.ClassDef) and node.name in SYMBOLIC]


# The machine and the checker ------------------------------------------------------------------------------------------


def reaches_through_agents() -> list[Place]:
    """`agent.machine.x` in meanings, parts and tiles."""
    return [
        place(file, node)
        for file, node in nodes(inside=("machine/meanings/", "machine/parts/", "machine/tiles/"))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Attribute)
        and node.value.attr == "machine"
        and named(node.value.value) == "agent"
    ]


def writes_to_reports() -> list[Place]:
    """Fields of a report that are set, or added to, outside of the room that builds reports."""
    adders = {"append", "extend", "add", "update", "insert"}
    found: list[Place] = []
    for file, node in nodes(inside=("checker/",), outside=("checker/report/",)):
        if isinstance(node, ast.Assign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            written = [target for target in targets if isinstance(target, ast.Attribute)]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in adders:
            written = [node.func.value] if isinstance(node.func.value, ast.Attribute) else []
        else:
            continue
        found += [place(file, each) for each in written if re.search(r"\breport$", ast.unparse(each.value))]
    return found


# Functions and classes ------------------------------------------------------------------------------------------------


def functions_of_many_parameters() -> list[Place]:
    """Functions with eight parameters or more, `self` not counted, builders of ops aside."""
    found: list[Place] = []
    for file, node in nodes():
        if not isinstance(node, ast.FunctionDef) or (node.name == "__init__" and file.startswith("dialects/")):
            continue
        names = [each.arg for each in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]]
        if len([name for name in names if name not in ("self", "cls")]) > MOST_PARAMETERS:
            found.append(f"{place(file, node)} {node.name}")
    return found


def classes_that_map_values() -> list[Place]:
    """Classes of the conversions to threads that hold a dictionary from SSA values."""
    found: list[Place] = []
    for file, node in nodes(inside=("transforms/to_llvm/", "transforms/conversion/")):
        if isinstance(node, ast.ClassDef):
            fields = (ast.unparse(each) for each in ast.walk(node) if isinstance(each, ast.AnnAssign))
            if any(re.search(r"dict\[SSAValue,", field) for field in fields):
                found.append(f"{place(file, node)} {node.name}")
    return found


def _op_classes() -> Iterator[tuple[str, ast.ClassDef]]:
    for file, node in nodes(inside=("dialects/",)):
        if isinstance(node, ast.ClassDef) and any("irdl_op" in ast.unparse(each) for each in node.decorator_list):
            yield file, node


def builders_that_are_never_called() -> list[Place]:
    """Op classes with an `__init__` which no module of the package calls."""
    called = {named(node.func) for _, node in nodes() if isinstance(node, ast.Call)}
    op_classes = list(_op_classes())
    derived_from = {ast.unparse(base) for _, node in op_classes for base in node.bases}
    return [
        f"{place(file, node)} {node.name}"
        for file, node in op_classes
        if any(isinstance(each, ast.FunctionDef) and each.name == "__init__" for each in node.body)
        and node.name not in called | derived_from
    ]


# Chips and engines ----------------------------------------------------------------------------------------------------

CHIP = re.compile(r"(sm_\d+a?|gfx\d+\w*)")
ENGINES = ("cp.async", "cp_async", "TMA", "tma", "tensor core", "tensor_core", "wgmma", "mma", "load_store", "lds_dma")


def _strings(matches: Callable[[str], bool]) -> list[Place]:
    quoted = {id(node.value) for _, node in nodes() if isinstance(node, ast.Expr)}
    return [
        place(file, node)
        for file, node in nodes(outside=("targets/",))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in quoted
        and matches(node.value)
    ]


def chips_by_literal() -> list[Place]:
    """Strings that are the name of a chip, outside of `targets/`."""
    return _strings(lambda text: CHIP.fullmatch(text) is not None)


def capabilities_compared() -> list[Place]:
    """Comparisons of a compute capability by size, outside of `targets/`."""
    return [
        place(file, node)
        for file, node in nodes(outside=("targets/",))
        if isinstance(node, ast.Compare)
        and any(isinstance(each, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for each in node.ops)
        and any(named(each).endswith("capability") for each in (node.left, *node.comparators))
    ]


def engines_by_literal() -> list[Place]:
    """Strings that are the name of an engine, outside of `targets/`."""
    return _strings(lambda text: text in ENGINES)


# All ------------------------------------------------------------------------------------------------------------------


def lines() -> int:
    return sum(file.read_text().count("\n") for file in FILES)


MEASURES: dict[str, Callable[[], list[Place]]] = {
    "modules of the largest circle of imports, types included": circles_with_types,
    "modules that name terminators of scf": modules_that_name_terminators,
    "operands mapped to arguments of a region by hand": operands_mapped_by_hand,
    "modules with tables of integer ops": tables_of_integer_ops,
    "symbolic forms of a number": symbolic_forms,
    "reaches through agents into the machine": reaches_through_agents,
    "writes to fields of a report": writes_to_reports,
    "functions of eight parameters or more": functions_of_many_parameters,
    "chips by literal": chips_by_literal,
    "capabilities compared": capabilities_compared,
    "engines by literal": engines_by_literal,
    "classes that map values in a conversion": classes_that_map_values,
    "small modules with one importer, beside them": small_modules_of_one_neighbour,
    "op builders that are never called": builders_that_are_never_called,
}


def main() -> None:
    for name, count in MEASURES.items():
        found = count()
        print(f"{len(found):4} {name}")
        if "--places" in sys.argv:
            print("\n".join(f"       {each}" for each in found))
    print(f"{lines():6} lines in {len(FILES)} files")


if __name__ == "__main__":
    main()
