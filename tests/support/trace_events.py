"""
The trace-event format as Perfetto's trace processor reads it, with what it would refuse, drop, move or connect wrongly.

Of the format this knows what our traces are made of: complete events (`X`), instants (`i`), flows (`s`, `f`) and the
names of processes and threads (`M`); another phase or key is a problem. Times are microseconds in the file and are read
as whole nanoseconds. Events are read by time; at the same time complete ones, the longest first, and then the others in
the order of the file.

Slices of a thread lie on a stack. One that begins takes those off that have ended, and must end before those that have
not. An instant is a slice of no length. Either end of a flow belongs to what then lies on top, and an arrow is drawn
from whichever of its slices begins earlier.
"""

from __future__ import annotations

import math
import string
from dataclasses import dataclass, field
from typing import Any, cast

Event = dict[str, Any]
Thread = tuple[int, int]
"""Process and thread."""

ALL = {"ph", "name", "pid", "tid"}
TIMED = ALL | {"ts"}
REQUIRED = {
    "X": TIMED | {"dur"},
    "i": TIMED | {"s"},
    "s": TIMED | {"id", "cat"},
    "f": TIMED | {"id", "cat", "bp"},
    "M": ALL | {"args"},
}
OPTIONAL = {"X": {"cat", "args"}, "i": {"cat", "args"}}
TOP_LEVEL = {"traceEvents", "otherData"}
"""
The keys that a trace may have. `displayTimeUnit` is none: some trace processors take the times to be in that unit.
"""
LARGEST = (1 << 32) - 1
"""The largest number of a process or thread; larger ones are read as 0."""


@dataclass(frozen=True, eq=False)
class Slice:
    """What lies on the stack of a thread for the nanoseconds from `start` until `end`."""

    event: Event
    start: int
    end: int

    def covers(self, time: int) -> bool:
        return self.start <= time < self.end or self.start == time == self.end

    def __str__(self) -> str:
        return f"'{self.event['name']}' [{self.start}, {self.end}) ns"


@dataclass(frozen=True)
class Arrow:
    """A flow from slice to slice."""

    event: Event
    """The one with which it begins."""
    source: Slice
    target: Slice


@dataclass
class Reading:
    """What is seen of a trace, and what is wrong with it."""

    problems: list[str] = field(default_factory=list[str])
    slices: list[Slice] = field(default_factory=list[Slice])
    arrows: list[Arrow] = field(default_factory=list[Arrow])
    processes: dict[int, str] = field(default_factory=dict[int, str])
    threads: dict[Thread, str] = field(default_factory=dict[Thread, str])


def read_trace(trace: Any) -> Reading:
    """Read what a file holds, as `json.loads` gives it."""
    reading = Reading()
    if not isinstance(trace, dict) or not isinstance(trace.get("traceEvents"), list):
        reading.problems.append("there is no object with an array 'traceEvents'")
        return reading
    whole = cast(dict[str, Any], trace)
    reading.problems += [f"the key '{key}' is none of the trace" for key in whole if key not in TOP_LEVEL]
    events: list[Event] = []
    for number, event in enumerate(whole["traceEvents"]):
        wrong = problems_of(event)
        reading.problems += [f"event {number}: {problem}" for problem in wrong]
        if not wrong:
            events.append(event)
    _read_names(events, reading)
    _read_times(events, reading)
    return reading


# One event ------------------------------------------------------------------------------------------------------------


def problems_of(event: Any) -> list[str]:
    """What is wrong with an event by itself."""
    if not isinstance(event, dict):
        return ["is no object"]
    phase = event.get("ph")
    if phase not in REQUIRED:
        return [f"has the phase {phase!r}"]
    keys = set(cast(Event, event))
    wrong = [f"has no '{key}'" for key in sorted(REQUIRED[phase] - keys)]
    wrong += [f"has the key '{key}'" for key in sorted(keys - REQUIRED[phase] - OPTIONAL.get(phase, set()))]
    if wrong:
        return wrong
    return [f"{key} is {event[key]!r}" for key in sorted(keys) if not _fits(key, event[key], cast(Event, event))]


def _fits(key: str, value: Any, event: Event) -> bool:
    match key:
        case "pid" | "tid":
            return _is_integer(value) and 0 < value <= LARGEST
        case "ts" | "dur":
            return _is_time(value)
        case "id":
            is_hexadecimal = isinstance(value, str) and bool(value) and set(value) <= set(string.hexdigits)
            return is_hexadecimal or (_is_integer(value) and value >= 0)
        case "s":
            return value in ("g", "p", "t")
        case "bp":
            return value == "e"
        case "args":
            return isinstance(value, dict) and (event["ph"] != "M" or _is_metadata(event["name"], cast(Event, value)))
        case _:
            return isinstance(value, str) and bool(value)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_time(value: Any) -> bool:
    """Whether it is a number of whole nanoseconds from 0 up."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        return False
    return abs(value * 1000 - round(value * 1000)) < 1e-3


def _is_metadata(name: str, args: Event) -> bool:
    if name in ("process_name", "thread_name"):
        return set(args) == {"name"} and isinstance(args["name"], str) and bool(args["name"])
    if name in ("process_sort_index", "thread_sort_index"):
        return set(args) == {"sort_index"} and _is_integer(args["sort_index"])
    return False


# Names ----------------------------------------------------------------------------------------------------------------


def _read_names(events: list[Event], reading: Reading) -> None:
    for event in events:
        thread = (event["pid"], event["tid"])
        if event["name"] == "process_name" and event["ph"] == "M":
            _name(reading.processes, event["pid"], event["args"]["name"], reading)
        elif event["name"] == "thread_name" and event["ph"] == "M":
            _name(reading.threads, thread, event["args"]["name"], reading)
    used = dict.fromkeys((event["pid"], event["tid"]) for event in events)
    processes = {process for process, _ in used}
    owners: dict[int, int] = {}
    reading.problems += [f"process {process} has no name" for process in sorted(processes - set(reading.processes))]
    for process, thread in used:
        if (process, thread) not in reading.threads:
            reading.problems.append(f"thread {thread} of process {process} has no name")
        if thread in processes - {process}:
            reading.problems.append(f"thread {thread} of process {process} has the number of another process")
        if owners.setdefault(thread, process) != process:
            reading.problems.append(f"thread {thread} is in the processes {owners[thread]} and {process}")


def _name(names: dict[Any, str], which: Any, name: str, reading: Reading) -> None:
    if names.setdefault(which, name) != name:
        reading.problems.append(f"{which} is called '{names[which]}' and '{name}'")


# Slices and flows -----------------------------------------------------------------------------------------------------


@dataclass
class _Flow:
    event: Event
    source: Slice
    has_ended: bool = False


def _read_times(events: list[Event], reading: Reading) -> None:
    stacks: dict[Thread, list[Slice]] = {}
    flows: dict[tuple[int, str, str], _Flow] = {}
    timed = [event for event in events if event["ph"] != "M"]
    for event in sorted(timed, key=lambda event: (_nanoseconds(event["ts"]), -_nanoseconds(event.get("dur", 0)))):
        stack = stacks.setdefault((event["pid"], event["tid"]), [])
        if event["ph"] == "X" or (event["ph"] == "i" and event["s"] == "t"):
            _begin(event, stack, reading)
        elif event["ph"] in ("s", "f"):
            _connect(event, stack, flows, reading)
    reading.problems += [f"flow {key} does not end" for key, flow in flows.items() if not flow.has_ended]


def _nanoseconds(time: float) -> int:
    return round(time * 1000)


def _begin(event: Event, stack: list[Slice], reading: Reading) -> None:
    start = _nanoseconds(event["ts"])
    new = Slice(event, start, start + _nanoseconds(event.get("dur", 0)))
    while stack and _is_over(stack[-1], new):
        stack.pop()
    for other in stack:
        if new.start < other.end < new.end:
            reading.problems.append(f"{new} begins in {other} and ends after it")
            return
    stack.append(new)
    reading.slices.append(new)


def _is_over(old: Slice, new: Slice) -> bool:
    """Whether `old` has ended where `new` begins; of two without a length the second lies on the first."""
    return old.end < new.start or (old.end == new.start and (old.start < old.end or new.start < new.end))


MAY_END_IN_A_WAIT = "arrives"
"""The arrows that may end in a slice which began before theirs: a wait, for what then arrives."""


def _connect(event: Event, stack: list[Slice], flows: dict[tuple[int, str, str], _Flow], reading: Reading) -> None:
    number = event["id"]
    key = (int(number, 16) if isinstance(number, str) else number, event["cat"], event["name"])
    top = stack[-1] if stack else None
    if top is None or top.event["ph"] != "X" or not top.covers(_nanoseconds(event["ts"])):
        reading.problems.append(f"flow {key} has an end at {event['ts']} us on {top}")
        return
    if event["ph"] == "s":
        if flows.setdefault(key, flow := _Flow(event, top)) is not flow:
            reading.problems.append(f"flow {key} begins twice")
        return
    if key not in flows:
        reading.problems.append(f"flow {key} ends before it begins")
        return
    flow = flows[key]
    flow.has_ended = True
    if flow.source.start > top.start and event["cat"] != MAY_END_IN_A_WAIT:
        reading.problems.append(f"flow {key} is drawn from {top} to {flow.source}, the wrong way round")
    reading.arrows.append(Arrow(flow.event, flow.source, top))
