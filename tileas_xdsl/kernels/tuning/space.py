"""
The candidates: points of a space, and the program and the options of each.

    {"depth": [32, 64], "num_stages": [3, 4]}                  four points
    [{"num_stages": 3}, {"num_stages": 4, "blocks": 2}]        two points

What `make` takes by name goes to it; everything else is an option of `tileas.compile`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, cast, get_args

from tileas_xdsl.pipelines import Strategy
from tileas_xdsl.tools.compile import Options
from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.tools.inputs import ProgramLike

OPTIONS = (
    *(
        "strategy",
        "num_stages",
        "sub_tiles",
        "dynamic_persistent",
        "persistent",
        "blocks",
        "under_load",
        "group_programs",
    ),
    *("num_warps", "threads"),
)
"""The options of `tileas.compile` that a space may vary."""

Point = Mapping[str, Any]
Space = Mapping[str, Sequence[Any]] | Sequence[Point]
Make = ProgramLike | Callable[..., ProgramLike]
MOST_POINTS = 10_000


def points_of(space: Space) -> list[Point]:
    """The points of a space, the last name varying first. Raises `InputError` for none, and for far too many."""
    if not space:
        raise InputError(["error: the space has no points"])
    if isinstance(space, Mapping):
        alone = next((name for name, values in space.items() if not _are_many(values)), None)
        if alone is not None:
            raise InputError([f"error: '{alone}' has no values to choose from: give a list of them"])
        count = 1
        for values in space.values():
            count *= len(values)
        if count > MOST_POINTS:
            raise InputError([f"error: the space has {count:,} points, and at most {MOST_POINTS:,} are tried"])
        points: list[Point] = [dict(zip(space, values, strict=True)) for values in product(*space.values())]
    else:
        points = [dict(point) for point in space]
    return points


def _are_many(values: Any) -> bool:
    return isinstance(values, Sequence) and not isinstance(values, str) and len(cast("Sequence[Any]", values)) > 0


def made(make: Make, point: Point) -> ProgramLike:
    """The program of a point. Raises `InputError` for a name that is neither an option nor one that `make` takes."""
    mine = taken(make, point) if callable(make) else {}
    unknown = [name for name in point if name not in mine and name not in OPTIONS]
    if unknown:
        what = "make takes no" if callable(make) else "there is no option"
        raise InputError([f"error: {what} '{unknown[0]}'; options are: {', '.join(OPTIONS)}"])
    return make(**mine) if callable(make) else make


def taken(function: Callable[..., Any], point: Point) -> dict[str, Any]:
    """What of a point a function takes by name."""
    parameters = inspect.signature(function).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return dict(point)
    names = {parameter.name for parameter in parameters if parameter.kind is not parameter.POSITIONAL_ONLY}
    return {name: value for name, value in point.items() if name in names}


def options_of(point: Point, base: Options) -> Options:
    """The options of a point. Raises `InputError` for values that an option does not take."""
    chosen = {name: value for name, value in point.items() if name in OPTIONS}
    for name, value in chosen.items():
        _require(name, value)
    return replace(base, **chosen)


def _require(name: str, value: Any) -> None:
    if name == "strategy":
        if value not in get_args(Strategy):
            raise InputError([f"error: there is no strategy '{value}'; choose one of {', '.join(get_args(Strategy))}"])
    elif name in ("dynamic_persistent", "persistent", "under_load"):
        if not isinstance(value, bool):
            raise InputError([f"error: {name} is True or False, not {value!r}"])
    elif type(value) is not int or value < (0 if name == "group_programs" else 1):
        raise InputError([f"error: {name} is a number of 1 or more, not {value!r}"])
