"""
What is found of one candidate without a GPU: an estimate from its schedule, a forecast from its code.

A `Task` holds all that decides it as plain data, so a step may be done in another process (`workers.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException, VerifyException

from tileas_xdsl.checker.verdict.loop_bounds import bounding_arguments
from tileas_xdsl.diagnostics import Error
from tileas_xdsl.kernels.cache import Cache
from tileas_xdsl.kernels.compiling import Program, Request, compiled
from tileas_xdsl.kernels.kernel import Kernel
from tileas_xdsl.kernels.tuning.estimate import agents_of, estimated
from tileas_xdsl.kernels.tuning.forecast import Problem, forecast, gpu_of, work_in
from tileas_xdsl.machine.arguments import find_function
from tileas_xdsl.machine.warps.multiprocessor import StuckError
from tileas_xdsl.readers.ptx.syntax import PtxError
from tileas_xdsl.scheduling.program_work import ProgramWork
from tileas_xdsl.tools.inputs import full_context, parse_module
from tileas_xdsl.transforms.tileas.group_programs import GroupProgramsPass

Step = Literal["estimate", "compile"]
Found = dict[str, Any]
"""Fields of a `Candidate`."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """A step to do for a candidate."""

    step: Step
    program: Program
    request: Request
    function: str | None
    problem: Problem | None
    """The launch; None where none can be foretold."""
    cache: Cache | None

    @property
    def target(self) -> str:
        """What the candidate is compiled for."""
        return self.request.target or ""


def done(task: Task) -> Found:
    """Do it; a candidate that is refused, or does not fit, has a `problem`."""
    try:
        return _estimated(task) if task.step == "estimate" else _foretold(task)
    except (Error, PassFailedException, VerifyException) as error:
        return {"problem": first_line(error)}


def first_line(error: Exception) -> str:
    """What an error says, for a table."""
    return str(error).partition("\n")[0].removeprefix("error: ")


def _estimated(task: Task) -> Found:
    gpu = gpu_of(task.target)
    assert gpu is not None
    assert task.problem is not None
    module = _module(task)
    work = _work(module, task, task.problem)
    found = estimated(agents_of(task.program, task.function, task.request.options), work, task.problem, gpu)
    return {"estimated": found.seconds, "blocks": found.together, "bound": found.bound}


def _foretold(task: Task) -> Found:
    kernel = Kernel(compiled(task.program, task.request, task.cache), task.function)
    report, gpu = kernel.report, gpu_of(task.target)
    known: Found = {
        "registers": report.registers,
        "spill_bytes": report.spill_bytes,
        "shared_bytes": report.shared_bytes,
    }
    if gpu is None or task.problem is None:
        return known
    module = _module(task)
    try:
        work = _work(module, task, task.problem)
        loops = bounding_arguments(find_function(module, task.function)[1])
        found = forecast(kernel.ptx, kernel.data, work, task.problem, gpu, loops)
    except (PtxError, StuckError):
        return known  # the model does not run it: the estimate stays
    except Error as error:
        return {**known, "problem": first_line(error)}
    return {**known, "foretold": found.seconds, "blocks": found.together, "bound": found.bound}


def _module(task: Task) -> ModuleOp:
    return parse_module(task.program.text, task.program.name, full_context())


def _work(module: ModuleOp, task: Task, problem: Problem) -> ProgramWork:
    """What a program does, in the order of the candidate."""
    rows = task.request.options.group_programs
    if rows:
        module = module.clone()
        GroupProgramsPass(rows=rows).apply(full_context(), module)
    return work_in(find_function(module, task.function)[0], problem, task.target)
