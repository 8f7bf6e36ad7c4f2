"""
What a run says of the corpora: a failure names the program, and a run at full size ends with a report.

And what a process of tests does once: garbage is collected seldom, which spares a tenth of its time.

The longest tests start first, so that no worker is left alone with one of them; `tests/support/durations.py` says how
long each takes. `make test` leaves out a part of each long family, and says which seed draws the rest.
"""

from __future__ import annotations

import atexit
import gc
import sys
from collections import Counter
from collections.abc import Generator, Mapping, Sequence

import pytest

from tests.support import durations, ir
from tests.support.corpora import FULL, PART, SAMPLED, SEED
from tests.support.families import axes_of, chosen
from tileas_xdsl.checker.verdict.collector import SELDOM
from tileas_xdsl.tools.main import say_no_more


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "corpus(programs): a test that runs so many programs of a corpus")
    config.addinivalue_line("markers", "nightly(reason): a test that `make test` leaves to `make test-full`")
    config.addinivalue_line("markers", "whole(reason): a test of which every run takes all members")


def pytest_unconfigure() -> None:
    """Triton lists the objects that are left when all of Python has ended; that is not about a test."""
    if "triton" in sys.modules:
        atexit.register(say_no_more)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    known = durations.read()
    if SAMPLED:
        taken = in_this_run(items, known["members"], PART)
        config.hook.pytest_deselected(items=[item for item in items if item not in taken])
        items[:] = [item for item in items if item in taken]
    items.sort(key=lambda item: -known["tests"].get(item.nodeid, 0.0))


def in_this_run(items: Sequence[pytest.Item], seconds: Mapping[str, float], seed: int) -> set[pytest.Item]:
    """What `make test` runs: every short test, and a part of each long family. `seconds` are those of a member."""
    families: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("nightly") is None:
            families.setdefault(durations.function_of(item.nodeid), []).append(item)
    taken: set[pytest.Item] = set()
    for name, members in families.items():
        if any(member.get_closest_marker("whole") for member in members):
            taken |= set(members)
            continue
        axes = [axes_of(spec.params, spec.indices) if (spec := getattr(m, "callspec", None)) else {} for m in members]
        taken |= {members[n] for n in chosen(name, axes, seconds.get(name, 0.0) * len(members), seed)}
    return taken


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """The processor time of a test, with what it sets up and the processes it starts, travels with its last report."""
    began = durations.processor_time()
    item.stash[durations.BEGAN] = began
    return (yield)


def pytest_collection_finish() -> None:
    """
    Thousands of tests and all modules stay to the end: the collector does not walk them again and again. What the tests
    make it looks at seldom, as a check does; and all of it often enough, since a collection of some gigabytes takes
    longer than a check may.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(SELDOM, 20, 10)


def programs_of(item: pytest.Item) -> int | None:
    marker = item.get_closest_marker("corpus")
    if marker is None:
        return None
    return marker.args[0]() if callable(marker.args[0]) else marker.args[0]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """The number of programs travels with the report, also out of a process of xdist's."""
    report = yield
    if report.when == "teardown":
        report.user_properties.append(("processor_time", durations.processor_time() - item.stash[durations.BEGAN]))
    programs = programs_of(item) if report.when == "call" else None
    if programs is not None:
        report.user_properties.append(("programs", programs))
        if call.excinfo is not None:
            report.sections.append(("Program", "\n".join(which_program(item, call.excinfo))))
    return report


def which_program(item: pytest.Item, error: pytest.ExceptionInfo[BaseException]) -> list[str]:
    """How to run it again, the program's own seed where a test loops over seeds, and its text."""
    again = "TILEAS_CASES=full" if FULL else f"TILEAS_SEED={SEED}"
    seeds = [entry.frame.f_locals["seed"] for entry in error.traceback if "seed" in entry.frame.f_locals]
    lines = [f"{again} python -m pytest '{item.nodeid}'"]
    lines += [f"seed of the program: {seed}" for seed in seeds[:1]]
    return [*lines, "the program read last:", ir.last_program_read()]


# The report -----------------------------------------------------------------------------------------------------------


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if SAMPLED:
        terminalreporter.write_line(f"a sample of the tests: TILEAS_SEED={SEED} TILEAS_PART={PART}")
    write_durations(terminalreporter)
    write_corpora(terminalreporter)


def write_durations(terminalreporter: pytest.TerminalReporter) -> None:
    """Keep the processor time of every test, if the run is asked to."""
    if durations.ASKED:
        reports = [report for reports in terminalreporter.stats.values() for report in reports]
        taken = [report for report in reports if getattr(report, "when", "") == "teardown"]
        durations.write({report.nodeid: float(dict(report.user_properties)["processor_time"]) for report in taken})


def write_corpora(terminalreporter: pytest.TerminalReporter) -> None:
    """A row for each test that takes programs of a corpus."""
    programs: Counter[str] = Counter()
    seconds: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            count = dict(report.user_properties).get("programs")
            if count is not None:
                name = report.nodeid.partition("[")[0]
                programs[name] += int(str(count))
                seconds[name] += report.duration
                failed[name] += outcome == "failed"
    if not FULL or not programs:
        return
    terminalreporter.section("corpora")
    terminalreporter.write_line(f"{'programs':>8} {'seconds':>8}  result  corpus")
    for name in sorted(programs):
        result = "failed" if failed[name] else "passed"
        terminalreporter.write_line(f"{programs[name]:8} {seconds[name]:8.1f}  {result}  {name}")
    terminalreporter.write_line(f"{programs.total():8} {seconds.total():8.1f}  {failed.total()} failed")
