"""What is wrong with a run at its end, when nothing can happen any more."""

from __future__ import annotations

from tests.checker.explorer import steps
from tests.checker.explorer.clocks import Mind
from tests.checker.explorer.execution import ABSENT, DEADLOCK, UNDRAINED, Run
from tests.checker.explorer.registers import MALFORMED


def judge_end(run: Run) -> None:
    """Who waits for ever, and what is left over. A wait that is stuck could have come earlier, and gone on."""
    unfinished = [thread for thread in run.threads.values() if not thread.is_done]
    for thread in unfinished:
        if isinstance(step := thread.step, steps.WaitPhase):
            run.barriers[step.barrier].look_back(run.search, step, thread.number, thread.mind)
        if isinstance(step := thread.step, steps.Until):
            run.numbers[step.word].look_back(run.search, thread.number, thread.mind)
    if unfinished and not _lacks_an_answer(run):
        run.report(DEADLOCK, ", ".join(thread.code.name for thread in unfinished))
    if all(run.threads[number].is_done for number in run.program.main):
        _judge_left_over(run)
    if not unfinished and not all(pool.is_executed_alike() for pool in run.pools.values()):
        run.report(MALFORMED, "warps of a warpgroup move registers by different instructions")
    for rank, cells in run.program.owned.items():
        if all(run.threads[number].is_done for number in run.program.mains_of(rank)):
            _judge_end_of_block(run, rank, cells)


def _lacks_an_answer(run: Run) -> bool:
    """Whether a thread waits for an answer that it was given and does not get: then this is not a whole run."""
    return any(_waits_for_its_answer(run, thread.step) for thread in run.threads.values() if not thread.is_done)


def _waits_for_its_answer(run: Run, step: steps.Step) -> bool:
    match step:
        case steps.WaitPhase():
            return step.is_answer
        case steps.TakeTurn():
            return True
        case steps.Change():
            return step.found is not None
        case steps.AddToGroup():
            return step.rank is not None
        case steps.Allocate():
            return run.columns[step.memory].free_start(step.count) is not None
        case _:
            return False


def _judge_left_over(run: Run) -> None:
    """What need not be over when the function is."""
    last = Mind.of_size(run.size)
    for number in run.program.main:
        last.follow(run.threads[number].mind)
    for number in run.issued:
        if not run.program.operations[number].ends_with_grid and not last.order[run.first_operation + number]:
            run.report(UNDRAINED, str(run.program.operations[number].source))
    for number, thread in run.threads.items():
        has_ended = thread.is_done and thread.mind.order[number] <= last.order[number]
        if not thread.code.is_empty and not has_ended:
            run.report(UNDRAINED, thread.code.name)
    for number in run.program.counters:
        if run.counters[number].balance(last) > 0:
            run.report(UNDRAINED, "what was published and not taken")
    if any(columns.taken for columns in run.columns.values()):
        run.report(UNDRAINED, "columns of tensor memory")


def lacks_bytes(run: Run) -> bool:
    """Whether some phase has its arrivals and not its bytes."""
    return any(b.is_live and b.pending == 0 and b.bytes != 0 for b in run.barriers.values())


def _judge_end_of_block(run: Run, rank: int, owned: int) -> None:
    """Other blocks may touch the shared memory of a block, the cells `owned`, only before it ends."""
    last = Mind.of_size(run.size)
    for number in run.program.mains_of(rank):
        last.acquire(run.threads[number].mind)
    for cells, kinds in run.histories.touches.items():
        for toucher, (event, _) in (each for kind in kinds for each in kind.items() if cells & owned):
            if run.rank_of(toucher) != rank and event > last.known[toucher]:
                run.report(ABSENT, f"block {rank} may have ended")
