"""
Steps of a tuning on all cores: each worker is a process, which is sent one task after the other.

A worker is a fresh interpreter and not a fork, so it works beside the threads of torch, jax or a progress bar, and a
script of a user needs no guard for it. Ctrl-C is for the process that tunes: it ends the workers.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tileas_xdsl.kernels.tuning.steps import Found, Task

TASKS_EACH = 4
"""Candidates for which a worker is worth its start."""


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Workers:
    """Processes for steps of so many candidates; `close` ends them."""

    def __init__(self, candidates: int) -> None:
        count = min(cores(), candidates // TASKS_EACH)
        self._processes = [_Worker() for _ in range(count)] if count > 1 else []

    def found(self, tasks: Sequence[Task]) -> Generator[tuple[int, Found]]:
        """What is found by each task, with its number, as soon as it is known."""
        if not self._processes:
            from tileas_xdsl.kernels.tuning.steps import done

            yield from ((number, done(task)) for number, task in enumerate(tasks))
            return
        idle: SimpleQueue[_Worker] = SimpleQueue()
        for worker in self._processes:
            idle.put(worker)

        def ask(task: Task) -> Found:
            worker = idle.get()
            try:
                return worker.found(task)
            finally:
                idle.put(worker)

        threads = ThreadPoolExecutor(len(self._processes))
        try:
            numbers = {threads.submit(ask, task): number for number, task in enumerate(tasks)}
            for future in as_completed(numbers):
                yield numbers[future], future.result()
        finally:
            threads.shutdown(wait=False, cancel_futures=True)

    def close(self) -> None:
        """End the processes, and what they are doing."""
        for worker in self._processes:
            worker.end()


class _Worker:
    """A process, which starts with its first task."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def found(self, task: Task) -> Found:
        """What the process finds. Where it dies, that is the candidate's problem, and the next task starts another."""
        process = self._process = self._process if self._process is not None else _started()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            pickle.dump(task, process.stdin)
            process.stdin.flush()
            return pickle.load(process.stdout)
        except (OSError, EOFError, ValueError, pickle.UnpicklingError):
            self._process = None
            return {"problem": f"the process that compiled it ended with status {_ended(process)}"}

    def end(self) -> None:
        """End the process."""
        process = self._process
        if process is not None:
            process.kill()
            _ended(process)


def _ended(process: subprocess.Popen[bytes]) -> int:
    """The status of a process that ends, and whose pipes nobody needs."""
    status = process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError):
                stream.close()
    return status


def _started() -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(
        [sys.executable, "-m", __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        start_new_session=True,  # Ctrl-C in a terminal is not for them
    )


def main() -> None:
    """A worker: reads tasks, and writes what is found, until the input ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what is printed meanwhile is no answer
    from tileas_xdsl.tools.start import hasten

    hasten()
    from tileas_xdsl.kernels.tuning.steps import done

    while True:
        try:
            task: Any = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump(done(task), answers)
        answers.flush()


if __name__ == "__main__":
    main()
