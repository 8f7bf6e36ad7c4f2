"""Traces for Perfetto: every example as its trace processor reads it, and a reader that finds what it should."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.support.ir import ROOT
from tests.support.trace_events import Event, Reading, read_trace
from tests.views.test_timeline import DRAWN, each_picture
from tileas_xdsl.machine.arguments import find_function, public_functions
from tileas_xdsl.tools.inputs import full_context, parse_module
from tileas_xdsl.tools.timeline import run_values, timed_run_of
from tileas_xdsl.views.timeline import Timeline, timeline
from tileas_xdsl.views.timeline.chrome import chrome_trace

EXAMPLES = sorted((ROOT / "examples").glob("**/*.mlir"))
RACES = ("double_buffer_race.mlir", "release-before-load.bad.mlir")


def written(picture: Timeline) -> Any:
    """What the file holds."""
    return json.loads(json.dumps(chrome_trace(picture), allow_nan=False))


def pictures_of(path: Path, trip_count: int) -> list[Timeline]:
    module = parse_module(path.read_text(), str(path), full_context())
    pictures: list[Timeline] = []
    for name in public_functions(module):
        function, body = find_function(module, name)
        pictures.append(timeline(timed_run_of(module, function, run_values(body, [], trip_count), "generic")))
    return pictures


def assert_shows(trace: Any, picture: Timeline) -> Reading:
    """
    Assert that nothing in the trace is wrong, and that its slices and arrows are the bars and edges of the picture.
    """
    reading = read_trace(trace)
    assert reading.problems == []
    slices = {id(seen.event): seen for seen in reading.slices}
    events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    for event, bar in zip(events, picture.bars, strict=True):
        seen, lane = slices[id(event)], picture.lanes[bar.lane]
        assert (seen.start, seen.end) == (1000 * bar.start, 1000 * bar.end)
        assert reading.threads[event["pid"], event["tid"]].startswith(lane.name)
        assert reading.processes[event["pid"]] == ("engines" if lane.is_engine else "agents")
    number = {id(event): bar.number for event, bar in zip(events, picture.bars, strict=True)}
    arrows = [(number[id(a.source.event)], number[id(a.target.event)], a.event["name"]) for a in reading.arrows]
    assert sorted(arrows) == sorted((edge.source, edge.target, edge.kind) for edge in picture.edges)
    return reading


# What we write --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name.removesuffix(".mlir"))
def test_every_example_is_read_as_it_was_meant(path: Path) -> None:
    for trip_count in (0, 1, 5):
        for picture in pictures_of(path, trip_count):
            assert_shows(written(picture), picture)


@each_picture
def test_slices_of_a_thread_do_not_even_nest(name: str) -> None:
    picture = DRAWN[name]()
    threads: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for seen in assert_shows(written(picture), picture).slices:
        if seen.event["ph"] == "X":
            threads.setdefault((seen.event["pid"], seen.event["tid"]), []).append((seen.start, seen.end))
    assert {process for process, _ in threads} == {1, 2}
    for slices in threads.values():
        assert all(before[1] <= after[0] for before, after in pairwise(sorted(slices)))


@pytest.mark.parametrize("name", RACES)
def test_a_violation_stands_at_the_bars_of_its_parties(name: str) -> None:
    (path,) = (path for path in EXAMPLES if path.name == name)
    (picture,) = pictures_of(path, 5)
    trace = written(picture)
    assert_shows(trace, picture)
    slices = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    instants = [event for event in trace["traceEvents"] if event["ph"] == "i"]
    marked = [(slices[bar], mark) for mark in picture.marks for bar in mark.bars]
    assert len(marked) >= 2
    for event, (party, mark) in zip(instants, marked, strict=True):
        assert [event[key] for key in ("pid", "tid", "ts")] == [party[key] for key in ("pid", "tid", "ts")]
        assert event["name"] == f"race: {mark.message}"
        assert len(event["args"]["witness"]) == len(mark.steps) > 2


def test_an_arrow_leaves_the_bar_of_a_party_and_not_the_violation() -> None:
    """The arrow would leave the violation if it came later in the file, or the violation earlier."""
    (path,) = (path for path in EXAMPLES if path.name == RACES[0])
    (picture,) = pictures_of(path, 5)
    trace = written(picture)
    assert {edge.source for edge in picture.edges} & {bar for mark in picture.marks for bar in mark.bars}
    later = deepcopy(trace)
    for event in later["traceEvents"]:
        if event["ph"] == "s":
            event["ts"] += 0.5
    trace["traceEvents"].sort(key=lambda event: event["ph"] != "i")
    for changed in (later, trace):
        assert any(problem.startswith("flow") and "'race: " in problem for problem in read_trace(changed).problems)


# What the reader finds ------------------------------------------------------------------------------------------------


def metadata(name: str, tid: int, value: str, pid: int = 1) -> Event:
    return {"ph": "M", "pid": pid, "tid": tid, "name": name, "args": {"name": value}}


def complete(name: str, tid: int, start: float, length: float) -> Event:
    return {"ph": "X", "pid": 1, "tid": tid, "ts": start, "dur": length, "name": name}


def flow(phase: str, tid: int, time: float, number: int | str = 7) -> Event:
    return {"ph": phase, "pid": 1, "tid": tid, "ts": time, "id": number, "cat": "c", "name": "n"}


PROCESS, THREAD, OTHER = (
    metadata("process_name", 3, "p"),
    metadata("thread_name", 3, "t"),
    metadata("thread_name", 4, "u"),
)
LONG, INNER, LATER = complete("long", 3, 0, 10), complete("inner", 3, 2, 3.5), complete("later", 4, 10, 5)
BEGIN, END = flow("s", 4, 11), {**flow("f", 5, 20), "bp": "e"}
LAST, LAST_NAME = complete("last", 5, 20, 1), metadata("thread_name", 5, "v")
EVENTS = [PROCESS, THREAD, OTHER, LAST_NAME, LONG, INNER, LATER, LAST, BEGIN, END]
"""An order that is none of time."""


def reading_of(*events: Any) -> Reading:
    return read_trace({"traceEvents": deepcopy(list(events))})


def test_a_right_trace_has_no_problems() -> None:
    reading = reading_of(*EVENTS)
    assert reading.problems == []
    assert [seen.event["name"] for seen in reading.slices] == ["long", "inner", "later", "last"]
    assert [(arrow.source.event["name"], arrow.target.event["name"]) for arrow in reading.arrows] == [("later", "last")]
    assert reading.threads == {(1, 3): "t", (1, 4): "u", (1, 5): "v"}
    assert reading.processes == {1: "p"}


def test_of_slices_that_begin_together_the_longest_is_outside() -> None:
    """The order in the file does not matter; an instant is inside of both."""
    inside, instant = complete("inside", 3, 0, 7), without({**complete("i", 3, 2, 0), "ph": "i", "s": "t"}, "dur")
    reading = reading_of(instant, inside, *EVENTS)
    assert reading.problems == []
    assert [seen.event["name"] for seen in reading.slices] == ["long", "inside", "inner", "i", "later", "last"]


def test_what_ends_where_another_begins_is_over() -> None:
    following, instant = complete("following", 3, 10, 1), {**complete("i", 3, 11, 0), "ph": "i", "s": "t"}
    del instant["dur"]
    assert reading_of(*EVENTS, following, instant, instant, complete("z", 3, 11, 2)).problems == []


def without(event: Event, key: str) -> Event:
    return {name: value for name, value in event.items() if name != key}


WRONG_EVENTS: dict[str, tuple[Any, str]] = {
    "no object": (5, "is no object"),
    "another phase": ({**LONG, "ph": "B"}, "has the phase 'B'"),
    "no phase": (without(LONG, "ph"), "has the phase None"),
    "no length": (without(LONG, "dur"), "has no 'dur'"),
    "no binding point": (without(END, "bp"), "has no 'bp'"),
    "an unknown key": ({**LONG, "colour": "red"}, "has the key 'colour'"),
    "a time that is text": ({**LONG, "ts": "5"}, "ts is '5'"),
    "a time that is none": ({**LONG, "ts": float("nan")}, "ts is nan"),
    "a time before all": ({**LONG, "ts": -1}, "ts is -1"),
    "a time between nanoseconds": ({**LONG, "ts": 0.0005}, "ts is 0.0005"),
    "a time that is true": ({**LONG, "ts": True}, "ts is True"),
    "a length below 0": ({**LONG, "dur": -1}, "dur is -1"),
    "no number of a thread": ({**LONG, "tid": 0}, "tid is 0"),
    "too large a number of a process": ({**LONG, "pid": 1 << 32}, "pid is 4294967296"),
    "no name": ({**LONG, "name": ""}, "name is ''"),
    "arguments in an array": ({**LONG, "args": []}, "args is []"),
    "an id that is a fraction": ({**BEGIN, "id": 1.5}, "id is 1.5"),
    "an id that is a word": ({**BEGIN, "id": "first"}, "id is 'first'"),
    "another binding point": ({**END, "bp": "n"}, "bp is 'n'"),
    "an instant of nobody": ({**without(LONG, "dur"), "ph": "i", "s": "x"}, "s is 'x'"),
    "unknown metadata": (metadata("colour", 3, "red"), "args is {'name': 'red'}"),
    "a thread without a name": (metadata("thread_name", 3, ""), "args is {'name': ''}"),
    "a place that is no number": ({**THREAD, "name": "thread_sort_index"}, "args is {'name': 't'}"),
}


@pytest.mark.parametrize("name", WRONG_EVENTS)
def test_each_wrong_event_is_found(name: str) -> None:
    event, problem = WRONG_EVENTS[name]
    assert reading_of(*EVENTS, event).problems == [f"event {len(EVENTS)}: {problem}"]


WRONG_TRACES: dict[str, tuple[Callable[[], list[Event]], str]] = {
    "a process without a name": (lambda: EVENTS[1:], "process 1 has no name"),
    "a thread without a name": (lambda: [e for e in EVENTS if e is not OTHER], "thread 4 of process 1 has no name"),
    "two names": (lambda: [*EVENTS, metadata("thread_name", 3, "w")], "(1, 3) is called 't' and 'w'"),
    "a thread in two processes": (
        lambda: [*EVENTS, metadata("process_name", 3, "q", 2), metadata("thread_name", 3, "w", 2)],
        "thread 3 is in the processes 1 and 2",
    ),
    "a thread with the number of a process": (
        lambda: [*EVENTS, metadata("process_name", 9, "q", 4), metadata("thread_name", 9, "w", 4)],
        "thread 4 of process 1 has the number of another process",
    ),
    "slices that overlap": (
        lambda: [*EVENTS, complete("across", 3, 4, 3)],
        "'across' [4000, 7000) ns begins in 'inner' [2000, 5500) ns and ends after it",
    ),
    "a flow from nowhere": (
        lambda: [*EVENTS, flow("s", 3, 11, 8)],
        "flow (8, 'c', 'n') has an end at 11 us on 'inner' [2000, 5500) ns",
    ),
    "a flow from a slice that is over": (
        lambda: [*EVENTS, flow("s", 3, 7, 8)],
        "flow (8, 'c', 'n') has an end at 7 us on 'inner' [2000, 5500) ns",
    ),
    "a flow that begins twice": (lambda: [*EVENTS, flow("s", 4, 11, "7")], "flow (7, 'c', 'n') begins twice"),
    "a flow that does not end": (lambda: [*EVENTS, flow("s", 4, 11, "a")], "flow (10, 'c', 'n') does not end"),
    "a flow that only ends": (
        lambda: [*EVENTS, {**flow("f", 4, 11, 8), "bp": "e"}],
        "flow (8, 'c', 'n') ends before it begins",
    ),
    "a flow against the time": (
        lambda: [*EVENTS, flow("s", 3, 3, 8), {**flow("f", 6, 4, 8), "bp": "e"}, complete("first", 6, 1, 9), SIXTH],
        "flow (8, 'c', 'n') is drawn from 'first' [1000, 10000) ns to 'inner' [2000, 5500) ns, the wrong way round",
    ),
}
SIXTH = metadata("thread_name", 6, "w")


@pytest.mark.parametrize("name", WRONG_TRACES)
def test_each_wrong_trace_is_found(name: str) -> None:
    events, problem = WRONG_TRACES[name]
    assert reading_of(*events()).problems == [problem]


def test_wrong_files_are_found() -> None:
    assert read_trace([]).problems == ["there is no object with an array 'traceEvents'"]
    assert read_trace({"traceEvents": {}}).problems == ["there is no object with an array 'traceEvents'"]
    unit = {"traceEvents": EVENTS, "displayTimeUnit": "ns"}
    assert read_trace(unit).problems == ["the key 'displayTimeUnit' is none of the trace"]
