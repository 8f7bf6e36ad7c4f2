"""
`tileas compile FILE -o OUT`: run the TileAS family on a program, and say what was decided. OUT is a program, or machine
code if it ends with `.ll`, `.ptx` or `.cubin` (`machine_code.py`).

The decisions are read from the IR when they are made: stages, interval and bound of each loop behind the scheduler,
bytes behind the assignment of buffers, agents, warps and registers at the end. One line each, on standard output, or on
standard error where the program goes to standard output. With `--save-temps DIR` the program is written down behind
every pass. Exit status 0: compiled. 1: what would be written is unsafe, or computes other numbers than the program. 2:
the input is wrong, or a pass refused it. Nothing is written then.

Where OUT is machine code, annotated loops are pipelined, queues become `cp.async`, and the rest LLVM. Functions that
nobody calls are the kernels, of `--threads` threads a block. A cubin needs ptxas, from `--ptxas`, `TILEAS_PTXAS`, the
path or a wheel; then the line of a kernel says what ptxas reports, `products one by one` among it: it lets no two
products of `wgmma` overlap.

The launch contract, with the suffix `.json`, has block and cluster, shared memory, and the parameters in their order. A
buffer is a pointer that begins at a multiple of 16 bytes; sizes and strides that its type leaves open follow it as
numbers. A tensor map has 128 bytes and begins at a multiple of 64; where the kernel says by `tileas.tensor_map` what it
maps, the contract has the type, shape, box and swizzle, from which the host makes it. `serialized_products` says why
products go one by one. Either both files are written or none.

`--num-ctas N` lets N blocks form a cluster, which load together what all of them need. The other options of TileAS'
driver, from `--opt-level` to `--enable-random-delay`, are there with their help, and refused: no pass reads them.
`--remarks` shows what the passes remark, `--num-warps N` says how many warps move a tile.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, get_args

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, IntAttr, IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass
from xdsl.printer import Printer
from xdsl.utils.exceptions import PassFailedException, VerifyException

from tileas_xdsl.diagnostics import Diagnostic, location_of, recorded_diagnostics
from tileas_xdsl.dialects.cuda_tile.structure import hints_of
from tileas_xdsl.dialects.nv_tileaa.attributes import ComputeCapabilityAttr, compute_capability_of
from tileas_xdsl.dialects.nv_tileas.agents import AgentSwitchOp
from tileas_xdsl.dialects.nv_tileas.pipeline import CreatePipelineOp
from tileas_xdsl.dialects.nv_tileas.verification import integers_of
from tileas_xdsl.interfaces import FunctionOpInterface, functions_in
from tileas_xdsl.pipelines import Strategy, TileIRPass
from tileas_xdsl.scheduling.block_structure import Structure, structure_of
from tileas_xdsl.targets.chips import capability_of
from tileas_xdsl.targets.warps import REGISTERS, WARP, WORKING_REGISTERS
from tileas_xdsl.tools import machine_code
from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.tools.inputs import STDIN, full_context, parse_module, read_text
from tileas_xdsl.tools.machine_code.default_target import DEFAULT_CHIP, DEFAULT_TARGET, chosen_target
from tileas_xdsl.tools.main import without_collector
from tileas_xdsl.tools.output_files import write_files, write_text
from tileas_xdsl.tools.progress import Tell, progress
from tileas_xdsl.tools.python import add_launches, of_each_launch
from tileas_xdsl.transforms.tileas.assign_buffers import BUFFER
from tileas_xdsl.transforms.tileas.generate_schedule import SCHEDULE, scheduled_loops
from tileas_xdsl.transforms.tileas.materialize_schedule import AGENTS

if TYPE_CHECKING:
    from tileas_xdsl.tools.machine_code.validation import Worth

OF_THE_DRIVER = ("num_warps", "num_ctas", "opt_level", "v2_opt_level", "index_bitwidth", "enable_random_delay")
"""Options of TileAS' driver that are no options of ours; `TileIRPass` has their help, and says which have an effect."""

HINTED = {"num_worker_warps_per_cta": "num_warps", "occupancy": "blocks"}
"""Hint of an entry of Tile IR -> the option that it decides where the user gives none."""
SCHEDULED = "tileas-generate-schedule"
TARGET = ComputeCapabilityAttr.name
"""The attribute of a module that says what it is compiled for."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the program; - is standard input")
    add_launches(parser)
    parser.add_argument("-o", "--out", metavar="OUT", help="the file to write (default: standard output)")
    parser.add_argument(
        "--strategy", default="warp-specialize", choices=get_args(Strategy), help="default: warp-specialize"
    )
    parser.add_argument("--num-stages", type=int, default=4, metavar="N", help="the most stages (default: 4)")
    parser.add_argument(
        "--sub-tiles", type=int, default=1, choices=(1, 2), help="split products into two tiles of half the rows"
    )
    parser.add_argument(
        "--dynamic-persistent", action="store_true", help="let a block compute one program of the grid after the other"
    )
    parser.add_argument(
        "--persistent",
        action=argparse.BooleanOptionalAction,
        help="launch as many blocks as fit on the GPU, and let each compute every n-th program",
    )
    parser.add_argument(
        "--blocks", type=int, metavar="N", help="blocks that a multiprocessor holds at a time (default: 1 or 2)"
    )
    parser.add_argument(
        "--under-load",
        action="store_true",
        help="add slots, so that loads arrive in time when all multiprocessors load at once (sm_90 only)",
    )
    parser.add_argument(
        "--group-programs",
        type=int,
        default=0,
        metavar="ROWS",
        help="group this many rows of tiles, so that programs that run at a time share rows and columns",
    )
    parser.add_argument(
        "--target",
        metavar="T",
        help="compute capability (default: what the program says; for machine code the GPU of this machine, else "
        f"{DEFAULT_CHIP}; for a program {DEFAULT_TARGET})",
    )
    machine_code.add_arguments(parser)
    parser.add_argument("--save-temps", metavar="DIR", help="write the program after each pass")
    parser.add_argument("--remarks", action="store_true", help="show the remarks of the passes")
    others = parser.add_argument_group(
        "options of TileAS' driver", "All but --num-warps and --num-ctas are refused: they have no effect."
    )
    for name in OF_THE_DRIVER:
        option, flag = TileIRPass.__dataclass_fields__[name], f"--{name.replace('_', '-')}"
        help_text: str = option.metadata["help"]
        if isinstance(option.default, bool):
            others.add_argument(flag, action="store_true", help=help_text)
        else:
            default = None if name == "num_warps" else option.default
            others.add_argument(flag, type=int, metavar="N", default=default, help=help_text)


@of_each_launch
def run(arguments: argparse.Namespace) -> int:
    with without_collector():
        return _compile(arguments)


def _compile(arguments: argparse.Namespace) -> int:
    wanted = machine_code.wanted(arguments)
    name = "<stdin>" if arguments.file == STDIN else arguments.file
    text = read_text(arguments.file)
    module = parse_module(text, name, full_context())
    chosen = chosen_target(arguments.target, module, is_machine_code=wanted is not None)
    arguments.target = chosen.name
    machine_code.refuse_what_cannot_be_had(arguments, wanted)
    options = Options(
        target=chosen.name,
        strategy=arguments.strategy,
        num_stages=arguments.num_stages,
        sub_tiles=arguments.sub_tiles,
        dynamic_persistent=arguments.dynamic_persistent,
        persistent=arguments.persistent,
        blocks=arguments.blocks,
        under_load=arguments.under_load,
        group_programs=arguments.group_programs,
        threads=arguments.threads,
        remarks=arguments.remarks,
        **{option: getattr(arguments, option) for option in OF_THE_DRIVER},
    )
    options, choices = options.for_module(module) if wanted is not None else (options, [])
    is_judged = wanted is not None and not arguments.no_check
    written: dict[str, str] = {}
    keep = keeping(written) if arguments.save_temps is not None else None
    programs = machine_code.programs_of(module) if wanted is not None else {}
    written_arrays = machine_code.written_of(module) if wanted is not None else {}
    done = lowered(module, options, wanted, is_judged=is_judged, keep=keep)
    decisions = [*filter(None, [chosen.line]), *choices, *done.decisions]
    if wanted is None:
        files: dict[str | None, bytes] = {arguments.out: printed(module).encode()}
    else:
        how = machine_code.HowCoded(
            source=arguments.file,
            target=chosen.name,
            ptxas=arguments.ptxas,
            programs=programs,
            written=written_arrays,
            loops=done.loops,
            with_lines=not arguments.no_lines,
        )
        with progress() as tell:
            judge = done.judge(arguments.check_timeout, tell) if is_judged else None
            code = machine_code.code_of(module, {wanted}, how, judge)
        program = {"name": name, "text": text, "options": asdict(options)}
        files = machine_code.files(arguments.out, wanted, code, chosen.name, program)
        decisions += code.lines
    _write(arguments, files, written)
    stream = sys.stderr if arguments.out is None else sys.stdout
    for line in decisions:
        print(line, file=stream)
    if arguments.remarks:
        _show(done.said)
    return 0


# Passes ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Options:
    """What decides how a program is compiled, but for the kind of the result."""

    target: str
    strategy: Strategy = "warp-specialize"
    num_stages: int = 4
    """The most stages."""
    sub_tiles: int = 1
    dynamic_persistent: bool = False
    persistent: bool | None = None
    """Whether the blocks that there is room for compute many programs each; None: what suits the program."""
    blocks: int | None = None
    """That a multiprocessor holds at a time: they share its registers and its memory; None: what suits the program."""
    under_load: bool = False
    """Whether loads lead by as many turns as hide their latency if all multiprocessors load at once."""
    group_programs: int = 0
    """Rows of programs in a group that follow each other in time; 0 leaves them in the order of the grid."""
    threads: int = 1
    """Threads a block of kernels that have no tiles."""
    num_warps: int | None = None
    """Warps of an agent that computes; None: what suits the program."""
    num_ctas: int = 1
    opt_level: int = 2
    v2_opt_level: int = 0
    index_bitwidth: int = 32
    enable_random_delay: bool = False
    remarks: bool = False
    """Whether passes remark on what they leave."""
    hinted: tuple[tuple[str, int | None], ...] = ()
    """The options that hints of the program decide, and what they are without: a pass may refuse what hints ask for."""

    @property
    def structure(self) -> Structure:
        """What is asked for a block, with the driver's defaults for what is not."""
        return replace(Structure(num_warps=4, persistent=False), **self._asked)

    @property
    def _asked(self) -> dict[str, Any]:
        asked = {"num_warps": self.num_warps, "persistent": self.persistent, "blocks": self.blocks}
        return {name: value for name, value in asked.items() if value is not None}

    def for_module(self, module: ModuleOp) -> tuple[Options, list[str]]:
        """
        These options, with what is chosen for machine code of `module` where they ask for nothing, by its hints first;
        and a line for each choice.
        """
        chosen, lines = self._for_sums(module)
        hints = {HINTED[hint]: number for hint, number in hints_of(module, self.target).items() if hint in HINTED}
        wished = {option: number for option, number in hints.items() if option not in self._asked}
        if not wished:
            return chosen, lines
        made = replace(chosen.structure, **wished)
        if made == chosen.structure:
            return chosen, lines
        if (left := REGISTERS // (made.blocks * made.num_warps * WARP)) < WORKING_REGISTERS:
            words = f"{made.num_warps} warps of {made.blocks} blocks leave {left} registers a thread"
            return chosen, [*lines, f"its hints are ignored: {words}"]
        before = tuple((option, getattr(chosen, option)) for option in wished)
        return replace(chosen, **wished, hinted=before), [f"as its hints say, {made.asked}"]

    @property
    def without_hints(self) -> Options:
        """What would be chosen if the program had no hints."""
        return replace(self, **dict(self.hinted), hinted=())

    def _for_sums(self, module: ModuleOp) -> tuple[Options, list[str]]:
        """The same without hints."""
        others = (self.strategy, self.sub_tiles, self.dynamic_persistent, self.num_ctas)
        is_free = others == ("warp-specialize", 1, False, 1) and self._asked.keys() <= {"persistent"}
        found = structure_of(module, self.target) if is_free else None
        if found is None or (self.persistent and found[1].blocks > 1):
            return self, []
        name, chosen = found[0], replace(found[1], **self._asked)
        return replace(self, **vars(chosen)), [f"@{name}: {chosen}"]

    def driver(self, *, to_threads: bool) -> TileIRPass:
        """
        The driver of the family. Raises `PassFailedException` for a target that does not exist, and for options that
        no pass reads.
        """
        driver = TileIRPass(
            compute_capability=self.target,
            pipeline_strategy=self.strategy,
            unspecialized_pipeline_num_stages=self.num_stages,
            sub_tiles=self.sub_tiles,
            dynamic_persistent=self.dynamic_persistent,
            num_warps=self.structure.num_warps,
            persistent=self.structure.persistent,
            blocks=self.structure.blocks,
            under_load=self.under_load,
            group_programs=self.group_programs,
            layouts=to_threads,
            threads=to_threads,
            remarks=self.remarks,
            **{name: getattr(self, name) for name in OF_THE_DRIVER if name != "num_warps"},
        )
        driver.refuse_unknown_target()
        driver.refuse_unbuilt_options()
        return driver


@dataclass(kw_only=True)
class Lowered:
    """What became of a program on its way down, and what was decided."""

    options: Options
    decisions: list[str]
    loops: list[LoopDecision]
    said: list[Diagnostic]
    """Remarks and warnings of the passes."""
    tiles: ModuleOp | None
    """The program as it was, where it has tiles and its threads are judged."""
    threads: ModuleOp | None
    """The threads that are judged; None where nobody shall."""

    def judge(self, seconds: float | None, tell: Tell | None = None) -> machine_code.Judge | None:
        """What judges the threads, within that processor time each, and tells what it does."""
        if self.threads is None:
            return None
        tiles, threads = self.tiles, self.threads

        def judge() -> Mapping[str, Worth]:
            from tileas_xdsl.tools.machine_code.validation import worth_of

            return worth_of(tiles, threads, self.options.threads, seconds, tell)

        return judge


def lowered(
    module: ModuleOp,
    options: Options,
    wanted: str | None,
    *,
    is_judged: bool = False,
    keep: Callable[[ModulePass, ModuleOp], None] | None = None,
) -> Lowered:
    """
    Run the passes on `module`, in place: down to `llvm` where machine code of a kind is wanted, else to agents. `keep`
    is handed the module behind each pass. What hints decide is left where a pass refuses it, and a line says so. Raises
    `InputError` where a pass refuses.
    """
    if not options.hinted:
        return _lowered(module, options, wanted, is_judged, keep)
    before = module.clone()
    try:
        return _lowered(module, options, wanted, is_judged, keep)
    except InputError as error:
        module.detach_region(module.body)
        module.add_region(before.detach_region(before.body))
        done = _lowered(module, options.without_hints, wanted, is_judged, keep)
        done.decisions.insert(0, f"its hints are ignored: {error.messages[0].splitlines()[0]}")
        return done


def _lowered(
    module: ModuleOp,
    options: Options,
    wanted: str | None,
    is_judged: bool,
    keep: Callable[[ModulePass, ModuleOp], None] | None,
) -> Lowered:
    """
    Where tiles become threads and there is no `keep`, the module is verified in front of the threads. If it is wrong
    there, or a pass fails, the passes run again on a copy, and what each leaves is verified.
    """
    is_shown = wanted is None or keep is not None
    copy = None if is_shown or not machine_code.has_tiles(module) else module.clone()
    try:
        return _passed(module, options, wanted, is_judged=is_judged, keep=keep, verifies_each=copy is None)
    except Exception:
        if copy is not None:
            _passed(copy, options, wanted, verifies_each=True)
        raise


def _passed(
    module: ModuleOp,
    options: Options,
    wanted: str | None,
    *,
    is_judged: bool = False,
    keep: Callable[[ModulePass, ModuleOp], None] | None = None,
    verifies_each: bool,
) -> Lowered:
    driver = options.driver(to_threads=wanted is not None)
    say_target(module, options.target)
    steps = driver.steps() if wanted is None else machine_code.steps(driver, module, options.threads)
    context = full_context()
    done = Lowered(options=options, decisions=[], loops=[], said=[], tiles=None, threads=None)
    if is_judged and machine_code.has_tiles(module):
        done.tiles = module.clone()
    with recorded_diagnostics() as said:
        for step in steps:
            if step.name == machine_code.TO_KERNELS:
                if not verifies_each:
                    _verify(module)
                verifies_each = True
                done.decisions += agents_of(module)
            if step.name == machine_code.TO_LLVM and is_judged:
                done.threads = module.clone()
            _apply(step, module, context)
            if keep is not None or (verifies_each and not machine_code.is_verified_by_next(step.name, wanted)):
                _verify(module)
            done.decisions += decisions_behind(step.name, module)
            if step.name == SCHEDULED:
                done.loops += loops_of(module)
            if keep is not None:
                keep(step, module)
    if wanted is None:
        done.decisions += agents_of(module)
    done.said = said
    return done


def keeping(texts: dict[str, str]) -> Callable[[ModulePass, ModuleOp], None]:
    """What keeps the text behind each pass: `00-tileas-queue-to-pipeline.mlir` and so on."""

    def keep(step: ModulePass, module: ModuleOp) -> None:
        texts[f"{len(texts):02}-{step.name}.mlir"] = printed(module)

    return keep


def say_target(module: ModuleOp, target: str) -> None:
    """Let the IR name its target, so that `tileas timeline` and `tileas run` count its cycles; what it says stays."""
    capability = capability_of(target)
    if capability is not None and all(compute_capability_of(function) is None for function in functions_in(module)):
        module.attributes[TARGET] = ComputeCapabilityAttr(IntAttr(capability))


def _apply(step: ModulePass, module: ModuleOp, context: Context) -> None:
    try:
        step.apply(context, module)
    except (PassFailedException, VerifyException) as error:
        raise InputError([str(error)]) from None


def _verify(module: ModuleOp) -> None:
    try:
        module.verify()
    except VerifyException as error:
        raise InputError([str(error)]) from None


def _write(arguments: argparse.Namespace, files: Mapping[str | None, bytes], written: dict[str, str]) -> None:
    if arguments.save_temps is not None:
        directory = Path(arguments.save_temps)
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in written.items():
            write_text(str(directory / name), text)
    if arguments.out is None:
        sys.stdout.write(files[None].decode())
    else:
        write_files({file: _writing(content) for file, content in files.items() if file is not None})


def _writing(content: bytes) -> Callable[[BinaryIO], object]:
    return lambda stream: stream.write(content)


def _show(said: list[Diagnostic]) -> None:
    for diagnostic in said:
        print(diagnostic, file=sys.stderr)


def printed(module: ModuleOp) -> str:
    """The text of a module, as `xdsl-opt` prints it."""
    text = StringIO()
    Printer(stream=text).print_op(module)
    return f"{text.getvalue()}\n"


# Decisions ------------------------------------------------------------------------------------------------------------


def decisions_behind(name: str, module: ModuleOp) -> Iterator[str]:
    """What the pass `name`, which has just run, has decided; a line each."""
    if name == SCHEDULED:
        yield from (loop.line for loop in loops_of(module))
    if name == "tileas-assign-buffers":
        yield from (line for function in functions_in(module) for line in _bytes(function))


@dataclass(frozen=True)
class LoopDecision:
    """What the scheduler has decided of a loop: its stages, how often a turn begins, and what binds."""

    function: str
    place: str
    stages: int
    cycles: int
    """From one turn to the next."""
    bound: str

    @property
    def line(self) -> str:
        """The decision, for people."""
        plural = "s" * (self.stages != 1)
        return f"{self.place}loop: {self.stages} stage{plural}, a turn every {self.cycles:,} cycles ({self.bound})"


def loops_of(module: ModuleOp) -> Iterator[LoopDecision]:
    """What the scheduler has decided of each loop of a module that has just been scheduled."""
    for loop in scheduled_loops(module):
        found = loop.attributes[SCHEDULE]
        assert isinstance(found, DictionaryAttr)
        stages, cycles = (_number(found.data.get(key)) for key in ("stages", "ii"))
        yield LoopDecision(_function_around(loop), _place(loop), stages, cycles, _word(found.data.get("bound")))


def _function_around(op: Operation) -> str:
    node: Operation | None = op
    while node is not None:
        view = FunctionOpInterface.of(node)
        if view is not None:
            return view.function_name
        node = node.parent_op()
    return "?"


def _bytes(function: Operation) -> Iterator[str]:
    """The bytes of each kind of memory up to the end of its last ring."""
    records = [op.attributes.get(BUFFER) for op in function.walk() if isinstance(op, CreatePipelineOp)]
    ends: dict[str, list[int]] = {}
    for record in (record.data for record in records if isinstance(record, DictionaryAttr)):
        size = _number(record.get("stages")) * _number(record.get("footprint"))
        ends.setdefault(_word(record.get("class")), []).append(
            _number(record.get("handle", record.get("offset"))) + size
        )
    for space, found in ends.items():
        yield f"{_name(function)}: {max(found):,} bytes of {space} in {len(found)} ring{'s' * (len(found) != 1)}"


def agents_of(module: ModuleOp) -> Iterator[str]:
    """One agent or several, why, and what each has."""
    for function in functions_in(module):
        switches = [op for op in function.walk() if isinstance(op, AgentSwitchOp)]
        for switch in switches:
            warps, registers = (integers_of(entry) or () for entry in (switch.num_warps, switch.max_regs))
            each = [f"{count} warps" for count in warps]
            if len(registers) == len(each):
                each = [f"{line}, {count} registers a thread" for line, count in zip(each, registers, strict=True)]
            agents = sum(switch.group_sizes)
            yield f"{_name(function)}: {agents} agents" + "".join(f"; agent {n}: {line}" for n, line in enumerate(each))
        decided = function.attributes.get(AGENTS)
        reason = decided.data.get("reason") if isinstance(decided, DictionaryAttr) else None
        if not switches:
            yield f"{_name(function)}: 1 agent" + (f": {_word(reason)}" if reason is not None else "")
        elif reason is not None:
            yield f"{_name(function)}: {_word(reason)}"


def _name(function: Operation) -> str:
    view = FunctionOpInterface.of(function)
    return f"{_place(function)}@{view.function_name if view is not None else '?'}"


def _place(op: Operation) -> str:
    place = location_of(op)
    return f"{place}: " if place else ""


def _word(value: Attribute | None) -> str:
    if isinstance(value, StringAttr):
        return value.data
    return f"{_number(value):,}"


def _number(value: Attribute | None) -> int:
    return value.value.data if isinstance(value, IntegerAttr) else 0
