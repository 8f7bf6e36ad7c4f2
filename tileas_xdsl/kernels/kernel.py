"""
A compiled kernel as an object: its texts, its code, its launch contract, and what is known of it.

    kernel = kernel_of("gemm.mlir", target="sm_90a")
    kernel.contract.block, kernel.report.registers, str(kernel.verdict), kernel.stages

The program stays with it, so what the commands do with the program (`check`, `timeline`, `explain`) is asked of the
kernel. A kernel that is read from files is made of the program that the launch contract holds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from html import escape
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

from tileas_xdsl.backend.contract import ContractError, KernelContract
from tileas_xdsl.backend.present_gpu import present_chip
from tileas_xdsl.backend.ptxas import AssemblerError, assemble, find_ptxas
from tileas_xdsl.checker.verdict import checking
from tileas_xdsl.checker.verdict.report import Report
from tileas_xdsl.kernels.binding import AskedGrid, Bound, Grid, bound, grid_of, launched
from tileas_xdsl.kernels.cache import Cache
from tileas_xdsl.kernels.compiling import Compiled, Program, Request, compiled, program_in, stages_of
from tileas_xdsl.kernels.gpu import Launchable
from tileas_xdsl.kernels.on_machine import MULTIPROCESSORS, KernelRun, Level, host_arrays, run_on_machine
from tileas_xdsl.kernels.records import CodeReport, ThreadsVerdict
from tileas_xdsl.machine.arguments import ArgumentError, Arguments, find_function, fixed_numbers, named_arguments
from tileas_xdsl.tabular import Tabular, table_html
from tileas_xdsl.tools.compile import Options, lowered
from tileas_xdsl.tools.errors import InputError, MissingFileError
from tileas_xdsl.tools.inputs import ProgramLike, full_context, parse_module, read_text
from tileas_xdsl.tools.machine_code import TO_LLVM
from tileas_xdsl.tools.time_limit import TIMEOUT
from tileas_xdsl.tools.timeline import TRIP_COUNT, timed_run_of
from tileas_xdsl.views import timeline as pictures
from tileas_xdsl.views.timeline.shown import ShownTimeline

if TYPE_CHECKING:
    from tileas_xdsl.views.stages import Road

Device = Literal["machine", "gpu"]
TEXT, MODULE = "<text>", "<module>"
"""The names of programs that are no files."""


class Kernel(Tabular):
    """One kernel of a compiled program."""

    def __init__(self, made: Compiled, function: str | None) -> None:
        data = _chosen(made.kernels, function)
        self._made = made
        self.data = data
        """What stands in the file of the launch contract."""
        self.contract = KernelContract.from_data(data)
        """What the host passes, and what the launch gives."""
        self.report = CodeReport.from_data(data)
        """Registers, spills, shared memory; stages and period of each loop."""
        self.verdict = ThreadsVerdict.from_data(data.get("check"))
        """What the check of the threads said; None where nothing was checked."""

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.contract.name

    @property
    def target(self) -> str:
        """The chip that the code is for."""
        return self._made.options.target

    @property
    def options(self) -> Options:
        """What it was compiled with."""
        return self._made.options

    @property
    def decisions(self) -> tuple[str, ...]:
        """The lines that `tileas compile` prints."""
        return self._made.decisions

    @cached_property
    def llvm_ir(self) -> str:
        """LLVM IR of all kernels of the program."""
        return _there(self._made.llvm_ir or self._again.llvm_ir)

    @cached_property
    def ptx(self) -> str:
        """PTX of all kernels of the program."""
        return _there(self._made.ptx or self._again.ptx)

    @cached_property
    def cubin(self) -> bytes:
        """Machine code of all kernels. Raises `InputError` where there is no ptxas."""
        if self._made.cubin is not None:
            return self._made.cubin
        try:
            return assemble(self.ptx, self.target, find_ptxas()).cubin
        except AssemblerError as error:
            raise InputError([f"error: {error}"]) from None

    @cached_property
    def stages(self) -> Mapping[str, str]:
        """The IR behind each pass, by the number and name of the pass; the passes run when this is first asked for."""
        return stages_of(self._made.program, self.options)

    @cached_property
    def module(self) -> ModuleOp:
        """The program, as it was before it was compiled."""
        return parse_module(self._made.program.text, self._made.program.name, full_context())

    @cached_property
    def _again(self) -> Compiled:
        """The code of a kernel that was read from a file with other code only."""
        request = Request(target=self.target, options=self.options, is_checked=False)
        return compiled(self._made.program, request, None)

    @cached_property
    def threads(self) -> ModuleOp:
        """What each thread does: the program in front of the passes to `llvm`."""
        texts = list(self.stages.items())
        last = next(number for number, (name, _) in enumerate(texts) if name.endswith(f"-{TO_LLVM}"))
        text = texts[last - 1][1] if last > 0 else self._made.program.text
        return parse_module(text, self._made.program.name, full_context())

    def run(
        self,
        *arguments: Any,
        grid: AskedGrid = None,
        device: Device | None = None,
        level: Level = "tiles",
        order: str = "lazy",
        seed: int = 0,
        **named: Any,
    ) -> KernelRun:
        """
        Run the kernel on arrays of numpy, or of another library in memory of the host, and write what it computes into
        them.

        On the `gpu` (the default where there is one) the arrays are copied there and back. On the `machine` it is the
        program that runs, or (`level="threads"`) what its threads became, under an order of
        `tileas.run`. `grid` is as for a launch. Raises `ArgumentError`, which names the parameter, for what a launch
        would refuse.
        """
        if device not in (None, "machine", "gpu"):
            raise ArgumentError(f"there is no device '{device}': choose machine or gpu")
        passed = bound(self.contract, arguments, named)
        extents = grid_of(self.contract, grid, passed)
        if device == "gpu" or (device is None and present_chip() is not None):
            own = host_arrays(passed)
            self._launchable.run(replace(passed, values={**passed.values, **own}), extents)
            return KernelRun("gpu", own)
        module = self.module
        if level == "threads":
            module, extents = self.threads, launched(self.contract, extents, MULTIPROCESSORS)
        return run_on_machine(module, self.name, passed, extents, order=order, seed=seed)

    def __getitem__(self, grid: AskedGrid) -> Launch:
        """The kernel with a grid: a number of blocks, a sequence of them, or a function of the arguments by name."""
        return Launch(self, grid)

    def __call__(self, *arguments: Any, stream: Any = None, **named: Any) -> None:
        """Launch the kernel with the grid that follows from the arrays; see `Launch`."""
        self.launch(None, arguments, named, stream)

    def launch(self, grid: AskedGrid, arguments: Sequence[Any], named: Mapping[str, Any], stream: Any = None) -> None:
        """What `Launch` does."""
        launchable = self._launchable
        launchable.start(grid, launchable.in_order(arguments, named) if named else arguments, stream)

    def seconds_on_gpu(self, passed: Bound, own: Mapping[str, NDArray[Any]], grid: Grid) -> float:
        """
        The median time of a launch on copies of the arrays `own`, by events. So many copies take turns that a launch
        finds none of its own in the second-level cache. Raises `GPUError`.
        """
        return self._launchable.seconds(replace(passed, values={**passed.values, **own}), grid)

    @cached_property
    def _launchable(self) -> Launchable:
        return Launchable(self.contract, self.target, self._image, self.report.static_shared_bytes or 0, self._text)

    def _image(self) -> bytes:
        """What the driver loads: the cubin, or PTX where there is no ptxas."""
        return self._text() if self._made.cubin is None and self._made.ptx is not None else self.cubin

    def _text(self) -> bytes:
        """PTX, as the driver compiles it."""
        return self.ptx.encode() + b"\0"

    def save(self, file: str | Path) -> None:
        """
        Write the code (`.ll`, `.ptx` or `.cubin`) and the launch contract beside it, as `tileas compile` does.

        `tileas.load` reads them. Raises `InputError` for another ending, `OSError` where a file cannot be written.
        """
        path = Path(file)
        if path.suffix not in HOLDS:
            raise InputError([f"{path}: error: the name of machine code ends with one of {', '.join(HOLDS)}"])
        code: str | bytes = getattr(self, HOLDS[path.suffix])
        program = {**asdict(self._made.program), "options": asdict(self.options)}
        kernels = list(self._made.kernels)
        data = {"target": self.target, "code": path.name, "kernels": kernels, "program": program}
        path.write_bytes(code if isinstance(code, bytes) else code.encode())
        path.with_suffix(".json").write_text(f"{json.dumps(data, indent=2)}\n")

    def check(self, arguments: Arguments = (), **options: Any) -> Report:
        """What `tileas.check` says of the program, with its options."""
        return checking.check(self.module, self.name, args=fixed_numbers(self.module, self.name, arguments), **options)

    def timeline(
        self,
        arguments: Arguments = (),
        *,
        target: str | None = None,
        threads: int | None = None,
        timeout: float | None = TIMEOUT,
    ) -> ShownTimeline:
        """The picture of a run of the program behind the passes of the family, on the target of the kernel."""
        module = self._scheduled
        function, _ = find_function(module, self.name)
        given = named_arguments(module, self.name, arguments)
        timed = timed_run_of(module, function, given, target or self.target, threads=threads, timeout=timeout)
        return ShownTimeline.of(pictures.timeline(timed))

    def explain(
        self,
        arguments: Arguments = (),
        *,
        passes: str | None = None,
        trip_count: int = TRIP_COUNT,
        target: str | None = None,
        threads: int | None = None,
    ) -> Road:
        """
        What each of `passes` (None: those of the family, with the options of the kernel) does to the program: its IR,
        remarks, verdict and timeline after each. Raises what `tileas.explain` raises.
        """
        from tileas_xdsl.tools.explain import HowRun, road_of

        numbers = fixed_numbers(self.module, self.name, arguments)
        how = HowRun(
            function=self.name,
            arg=[f"{name}={number}" for name, number in numbers.items()],
            trip_count=trip_count,
            target=target or self.target,
            threads=threads,
        )
        chosen = str(self.options.driver(to_threads=False).pipeline_pass_spec()) if passes is None else passes
        return road_of(self.module, chosen, how)

    @cached_property
    def _scheduled(self) -> ModuleOp:
        """The program as `tileas compile` writes it where it is asked for a program."""
        module = self.module.clone()
        lowered(module, self.options, None)
        return module

    def rows(self) -> list[dict[str, Any]]:
        """A row for each parameter."""
        return [{"parameter": each["name"], "what": _described(each)} for each in self.contract.as_data()["parameters"]]

    def to_dict(self) -> dict[str, Any]:
        """What is known of the kernel as plain data, without its code."""
        verdict = self.verdict.to_dict() if self.verdict is not None else None
        contract = self.contract.as_data()
        return {"target": self.target, "contract": contract, "report": self.report.to_dict(), "verdict": verdict}

    def __repr__(self) -> str:
        said = f"{self.verdict}".partition(";")[0] if self.verdict is not None else "threads: not checked"
        return f"Kernel(@{self.name} on {self.target}: {', '.join(_facts(self))}; {said})"

    def _repr_html_(self) -> str:
        verdict = str(self.verdict) if self.verdict is not None else "threads: not checked"
        lines = [*_facts(self), *_loops(self), verdict]
        items = "".join(f"<li>{escape(line)}</li>" for line in lines)
        head = f"<b>@{escape(self.name)}</b> on {escape(self.target)}"
        return f"<div>{head}<ul>{items}</ul>{table_html(self.rows())}</div>"


class Launch:
    """
    A kernel with a grid: `kernel[grid](a, b, c, n=4)` starts it on arrays on the GPU, and waits for nothing.

    Arrays are those of torch, cupy, jax (as inputs) or others with DLPack or `__cuda_array_interface__`; they are not
    copied. The kernel runs on `stream`, else on the current stream of the library that the arrays are of. Raises
    `ArgumentError`, which names the parameter, and `GPUError`.
    """

    def __init__(self, kernel: Kernel, grid: AskedGrid) -> None:
        self._kernel, self._grid = kernel, grid

    def __call__(self, *arguments: Any, stream: Any = None, **named: Any) -> None:
        """Launch the kernel."""
        self._kernel.launch(self._grid, arguments, named, stream)


def kernel_of(source: ProgramLike, request: Request, *, function: str | None = None, is_cached: bool = True) -> Kernel:
    """
    The kernel `function` (None: the only one) of a program: a file, a text, or a module.

    Raises what `compiled` raises, and `InputError` where it has to be said which kernel.
    """
    return Kernel(compiled(program_of(source), request, Cache.default() if is_cached else None), function)


def program_of(source: ProgramLike) -> Program:
    """
    The text of a program. A `str` is a file if it ends in `.mlir` and has one line. Raises `MissingFileError`, and
    `InputError` for what is not UTF-8.
    """
    if isinstance(source, ModuleOp):
        text = StringIO()
        Printer(stream=text).print_op(source)
        return Program(MODULE, f"{text.getvalue()}\n")
    if isinstance(source, Path) or (source.endswith(".mlir") and "\n" not in source):
        return Program(str(source), _read(str(source)))
    return Program(TEXT, source)


def loaded(file: str | Path, *, function: str | None = None) -> Kernel:
    """
    The kernel of a file that `tileas compile` wrote (`.ll`, `.ptx` or `.cubin`), with its contract beside it.

    What the file does not hold is made of the program in the contract, when it is asked for. Raises `MissingFileError`,
    and `InputError` for files that are no code with a contract.
    """
    path = Path(file)
    if path.suffix not in HOLDS:
        raise InputError([f"{path}: error: this is no machine code: its name ends with one of {', '.join(HOLDS)}"])
    code, beside = _bytes(path), path.with_suffix(".json")
    try:
        contract: Any = json.loads(_bytes(beside))
        found = program_in(contract)
        if found is None:
            raise ContractError("it holds no program: `tileas compile` of this version writes one")
        kernels = cast("Sequence[Mapping[str, Any]]", contract["kernels"])
    except (ValueError, KeyError, TypeError, AttributeError, ContractError) as error:
        raise InputError([f"{beside}: error: this is no launch contract: {error}"]) from None
    program, options = found
    held = HOLDS[path.suffix]
    made: dict[str, Any] = {"llvm_ir": None, "ptx": None, "cubin": None}
    made[held] = code if held == "cubin" else code.decode()
    return Kernel(Compiled(program=program, options=options, kernels=kernels, decisions=(), **made), function)


HOLDS = {".ll": "llvm_ir", ".ptx": "ptx", ".cubin": "cubin"}
"""Which code stands in which file."""


def _read(file: str) -> str:
    try:
        return read_text(file)
    except FileNotFoundError:
        raise MissingFileError([f"{file}: error: no such file or directory"]) from None


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        raise MissingFileError([f"{file}: error: no such file or directory"]) from None
    except OSError as error:
        raise InputError([f"{file}: error: {error.strerror or error}"]) from None


def _chosen(kernels: Sequence[Mapping[str, Any]], function: str | None) -> Mapping[str, Any]:
    names = [str(kernel["name"]) for kernel in kernels]
    if function is None and len(kernels) != 1:
        raise InputError([f"error: say by function= which kernel: {', '.join(names)}"])
    found = next((kernel for kernel in kernels if function in (None, kernel["name"])), None)
    if found is None:
        raise InputError([f"error: there is no kernel '{function}'; there are: {', '.join(names)}"])
    return found


def _there(code: str | None) -> str:
    assert code is not None, "whoever compiles for a cubin writes LLVM IR and PTX"
    return code


def _facts(kernel: Kernel) -> list[str]:
    """Threads, registers, spills and shared memory, as far as they are known."""
    block, report = kernel.contract.block, kernel.report
    facts = [f"{block[0] * block[1] * block[2]:,} threads a block" if block is not None else "any number of threads"]
    if report.registers is not None:
        facts += [f"{report.registers} registers a thread", f"{report.spill_bytes:,} bytes spilled"]
    if report.shared_bytes is not None:
        facts.append(f"{report.shared_bytes:,} bytes of shared memory")
    if report.serialized_products:
        facts.append(f"products one by one ({report.serialized_products})")
    return facts


def _loops(kernel: Kernel) -> list[str]:
    return [
        f"{loop.place}: {loop.stages} stages, a turn every {loop.cycles:,} cycles ({loop.bound})"
        for loop in kernel.report.loops
    ]


def _described(parameter: Mapping[str, Any]) -> str:
    words = [str(parameter["kind"])]
    for what, value in parameter.items():
        if what not in ("name", "kind") and value is not None:
            words.append(f"{what} {value}")
    return ", ".join(words)
