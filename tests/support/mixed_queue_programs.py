"""
Random programs of which the checker can judge one part and not another, as IR text, and what that other part may be.

    func.func @f(%n: index, %k: index, %src: memref<64xf32>, %out: memref<256xf32>, %flags: memref<4xindex>)

A rotating program (`counted_programs`) with *obstacles* put in front of its loop, into it or behind it: waits and
commits whose queue is data, counts that are data, loops and branches that data decide, calls that lead out of the
module. Each obstacle comes with its *realisations*: ways to write it that the checker can follow, one for each thing
that the obstacle may be at run time. What is done to the program without knowing them has to be right for all of them.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from tests.support.counted_programs import random_rotation, rotating_program


@dataclass(frozen=True)
class Obstacle:
    """`text` stands in the function, `declaration` beside it; `others` are pairs of the same that can be followed."""

    name: str
    text: str
    others: tuple[tuple[str, str], ...]
    declaration: str = ""


STORE = "memref.store %one, %own[%c0] : memref<4xf32>"
SCOPE = f"async_queue.scope {{\n{STORE}\n}}"
EXT = "func.func private @ext(%own: memref<4xf32>)"


def _issue(queue: object) -> str:
    return f"async_queue.commit {queue} {{\n{SCOPE}\n}}"


def _group_of(text: str) -> str:
    return f"async_queue.commit 3 {{\n{text}\n}}\nasync_queue.wait 3, 0"


def _flag(name: str) -> str:
    return f"%{name} = memref.load %flags[%c1] : memref<4xindex>\n"


def _body(text: str) -> str:
    """A function that `@ext` may be."""
    constants = "%c0 = arith.constant 0 : index\n%one = arith.constant 1.0 : f32"
    return f"{EXT} {{\n{constants}\n{text}\nfunc.return\n}}"


def _while(body: str) -> str:
    return f"""%turns = scf.while (%w = %c0) : (index) -> index {{
      %left = memref.load %flags[%c2] : memref<4xindex>
      %more = arith.cmpi slt, %w, %left : index
      scf.condition(%more) %w : index
    }} do {{
    ^bb0(%turn: index):
      {body}
      %next = arith.addi %turn, %c1 : index
      scf.yield %next : index
    }}"""


def _loops(body: str) -> tuple[tuple[str, str], ...]:
    return tuple((f"scf.for %w = %c0 to %c{trips} step %c1 {{\n{body}\n}}", "") for trips in (0, 1, 3))


def _branch(condition: str, body: str) -> str:
    return f"{condition}scf.if %yes {{\n{body}\n}}"


def _branches(body: str) -> tuple[tuple[str, str], ...]:
    return tuple((_branch(f"%yes = arith.constant {value}\n", body), "") for value in ("true", "false"))


def _if_data(body: str) -> str:
    return _branch(f"{_flag('flag')}%yes = arith.cmpi sgt, %flag, %c0 : index\n", body)


QUEUES = (0, 1, 3, 5)

OBSTACLES: tuple[Callable[[int], Obstacle], ...] = (
    lambda queue: Obstacle(
        "a wait for a queue that is data",
        f"{_flag('id')}async_queue.wait %id, 0",
        tuple((f"async_queue.wait {other}, 0", "") for other in QUEUES),
    ),
    lambda queue: Obstacle(
        "a commit to a queue that is data",
        f"{_flag('id')}{_issue('%id')}\nasync_queue.wait %id, 0",
        tuple((f"{_issue(other)}\nasync_queue.wait {other}, 0", "") for other in QUEUES),
    ),
    lambda queue: Obstacle(
        "a commit to a queue that is data, and no wait",
        f"{_flag('id')}{_issue('%id')}",
        tuple((_issue(other), "") for other in QUEUES),
    ),
    lambda queue: Obstacle(
        "a call",
        "func.call @ext(%own) : (memref<4xf32>) -> ()",
        tuple(
            ("func.call @ext(%own) : (memref<4xf32>) -> ()", _body(text))
            for text in ("", STORE, _issue(queue), f"async_queue.wait {queue}, 0", f"async_queue.wait {queue}, 1")
        ),
        EXT.replace("%own: ", ""),
    ),
    lambda queue: Obstacle("a loop that data end", _while(STORE), _loops(STORE)),
    lambda queue: Obstacle(
        "a loop that data end, with groups of its own",
        _while(f"{_issue(queue)}\nasync_queue.wait {queue}, 0"),
        _loops(f"{_issue(queue)}\nasync_queue.wait {queue}, 0"),
    ),
    lambda queue: Obstacle("a group if data say so", _if_data(_issue(queue)), _branches(_issue(queue))),
    lambda queue: Obstacle(
        "a copy if data say so",
        _group_of(_if_data(SCOPE)),
        tuple((_group_of(text), "") for text, _ in _branches(SCOPE)),
    ),
    lambda queue: Obstacle(
        "a wait for a number of groups that is data",
        f"{_flag('count')}async_queue.wait {queue}, %count",
        tuple((f"async_queue.wait {queue}, {count}", "") for count in (0, 1, 4)),
    ),
)


@dataclass(frozen=True)
class MixedProgram:
    """A program with one obstacle at one place."""

    frame: str
    """The module, with `OBSTACLE` and `DECLARATION` where they go."""
    obstacle: Obstacle
    place: str
    queue: int
    """The queue of the ring."""
    counts: tuple[int, ...]
    """The exact counts of the waits of the ring; `text` has smaller ones."""

    @property
    def text(self) -> str:
        return self._with(self.obstacle.text, self.obstacle.declaration)

    def realisations(self) -> list[str]:
        """The programs that this one may be; all can be followed."""
        return [self._with(text, declaration) for text, declaration in self.obstacle.others]

    def _with(self, text: str, declaration: str) -> str:
        return self.frame.replace("OBSTACLE", text).replace("DECLARATION", declaration)


def mixed_program(seed: int) -> MixedProgram:
    """The waits of the ring, and the one at the end, carry an attribute `tag`."""
    rng = random.Random(seed)
    rotation = replace(random_rotation(seed), predicated=False, drained=True)
    obstacle = OBSTACLES[seed % len(OBSTACLES)](rotation.queue)
    place = rng.choice(["in front", "inside", "behind"])
    lines, counts = _lowered(rotating_program(rotation).splitlines(), rng)
    lines[0] = lines[0].replace("%out: memref<256xf32>", "%out: memref<256xf32>, %flags: memref<4xindex>")
    loop = next(number for number, line in enumerate(lines) if line.lstrip().startswith("scf.for %i"))
    end = next(number for number in range(loop, len(lines)) if lines[number] == "  }")
    lines.insert({"in front": loop, "inside": loop + 1, "behind": end + 1}[place], "OBSTACLE")
    first = next(number for number, line in enumerate(lines) if "memref.alloc" in line)
    lines.insert(first, "%own = memref.alloc() : memref<4xf32>\n%one = arith.constant 1.0 : f32")
    last = next(number for number, line in enumerate(lines) if "func.return" in line)
    lines.insert(last, "%z = memref.load %own[%c0] : memref<4xf32>\nmemref.store %z, %out[%c8] : memref<256xf32>")
    return MixedProgram("\n".join([*lines, "DECLARATION"]), obstacle, place, rotation.queue, counts)


def _lowered(lines: list[str], rng: random.Random) -> tuple[list[str], tuple[int, ...]]:
    """The lines with waits for fewer groups, or as many, and with tags; and the counts there were."""
    counts: list[int] = []
    found: list[str] = []
    for line in lines:
        match = re.match(r"(\s*async_queue.wait \d+, )(\d+)(.*)", line)
        if match is not None:
            head, count, rest = match.groups()
            line = f"{head}{rng.randint(0, int(count))} attributes {{tag = {len(counts)} : i64}}{rest}"
            counts.append(int(count))
        found.append(line)
    return found, tuple(counts)
