"""
Verdicts on PTX of Triton 3.9, of `tileas compile`, of nvcc, and of what lies in the folders that `TILEAS_PTX` names.

    python -m bench.ptx_corpus [FILE] [--only NAME]     measure what FILE lacks; print what is known

For each kernel whether it is read, the verdict for trip counts 0 to 8 within 30 seconds of processor time, what is
found, and what is found in the TTGIR of the same kernel, where that is known; then, for those that are safe and have
loops, whether that holds for every trip count, which is asked for 60 seconds. Each question has a process of its own,
which ends after `MOST` seconds of the processor. FILE (`bench/ptx_corpus.jsonl` if none is named) has lines of JSON,
each of which is appended as soon as it is known; those of one kernel are one row.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from subprocess import CalledProcessError
from typing import Any

from tests.support.ptx_corpus import Entry, entries, row_of
from tileas_xdsl.tools.errors import InputError

COUNTS, SECONDS, SECONDS_OF_PROOF = range(9), 30.0, 60.0
MOST = 150
"""Seconds of the processor for a question: Triton compiles the kernel, and it is checked."""
RESULTS = Path(__file__).with_suffix(".jsonl")
VERDICTS = ("safe", "violation")
ONE_EXTENT = 128
Facts = dict[str, Any]


def verdict(entry: Entry, _args: Mapping[str, int]) -> Facts:
    """What is found for trip counts 0 to 8, with one tile where extents bound loops. Raises what `entry.made` does."""
    text = entry.made()
    row = row_of(text, list(COUNTS), SECONDS)
    args = dict(text.args)
    if extents := extents_that_bound_loops(row.verdict):
        args |= dict.fromkeys(extents, ONE_EXTENT)
        row = row_of(replace(text, args=args), list(COUNTS), SECONDS)
    found = {"text": entry.text, "target": row.target, "expected": text.expected, "read": row.read, "loops": row.loops}
    return found | {"args": args, "verdict": row.verdict, "kinds": row.kinds, "seconds": row.seconds, "line": row.line}


def extents_that_bound_loops(refusal: str) -> list[str]:
    """The extents of arrays among the arguments for which there are too many combinations: a launch gives them."""
    found = re.search(r"arguments that bound loops \(([^)]*)\)", refusal)
    return [name for name in found[1].split(", ") if re.search(r"_size\d$", name)] if found else []


def proof(entry: Entry, args: Mapping[str, int]) -> Facts:
    """Whether it is right for every trip count, with these arguments. Raises what `entry.made` does."""
    row = row_of(replace(entry.made(), args=args), None, SECONDS_OF_PROOF)
    return {"proved": row.proved, "proof_seconds": row.seconds, "proof_line": row.line}


QUESTIONS = {"verdict": verdict, "proved": proof}
"""The fact that answers a question -> who asks it."""


def answer(question: str, entry: Entry, args: Mapping[str, int]) -> Facts:
    """What a process of its own finds; nothing if the compiler refuses the kernel."""
    context = get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_answer, args=(question, entry, args, theirs))
    child.start()
    theirs.close()
    try:
        return ours.recv()
    except EOFError:
        return {"text": entry.text, question: f"stopped after {MOST} seconds" if question == "verdict" else False}
    finally:
        child.join()


def _answer(question: str, entry: Entry, args: Mapping[str, int], out: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (MOST, MOST))
    try:
        out.send(QUESTIONS[question](entry, args))
    except (CalledProcessError, InputError):
        out.send({})


def known(file: Path) -> dict[tuple[str, str], Facts]:
    """Who made a kernel, and its name -> what a file knows of it."""
    rows: dict[tuple[str, str], Facts] = {}
    for line in file.read_text().splitlines() if file.is_file() else ():
        facts = json.loads(line)
        rows.setdefault((facts["maker"], facts["kernel"]), {}).update(facts)
    return rows


NEEDED = ("triton", "tileas_xdsl.checker.verdict.checking", "tileas_xdsl.readers.ptx.reading")
"""Imported once, ahead of all processes."""


def measure(file: Path = RESULTS, only: str = "") -> Iterator[Facts]:
    """Each answer that `file` lacks, after it has been added there: first the verdicts, then the proofs."""
    for module in NEEDED:
        import_module(module)
    for question in QUESTIONS:
        there = known(file)
        for entry in (entry for entry in entries() if only in entry.kernel):
            row = there.get((entry.maker, entry.kernel), {})
            is_asked = question == "verdict" or (row.get("verdict") == "safe" and row["loops"] > 0)
            if is_asked and question not in row and (facts := answer(question, entry, row.get("args", {}))):
                named = {"kernel": entry.kernel, "maker": entry.maker} | facts
                with file.open("a") as lines:
                    print(json.dumps(named), file=lines)
                yield named


def summary(rows: Iterable[Facts]) -> dict[str, dict[str, int]]:
    """
    What made the kernels -> how many there are, from how many texts, that are read, have a verdict, were asked for a
    proof, and are proved; and `all`.
    """
    found: dict[str, Counter[str]] = {}
    texts: dict[str, set[str]] = {}
    for row in rows:
        for maker in (row["maker"], "all"):
            texts.setdefault(maker, set()).add(f"{row['maker']} {row['text']}")
            count = found.setdefault(maker, Counter())
            count["kernels"] += 1
            count["read"] += row.get("read") == "yes"
            count["verdict"] += row["verdict"] in VERDICTS
            count["asked for a proof"] += "proved" in row
            count["proved"] += row.get("proved", False)
    columns = ("read", "verdict", "asked for a proof", "proved")
    return {
        maker: {"kernels": count["kernels"], "texts": len(texts[maker]), **{name: count[name] for name in columns}}
        for maker, count in found.items()
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.ptx_corpus", description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, default=RESULTS, metavar="FILE")
    parser.add_argument("--only", default="", metavar="NAME", help="kernels with NAME in their names")
    given = parser.parse_args(arguments)
    for facts in measure(given.file, given.only):
        print(*(facts.get(name, "") for name in ("kernel", "read", "verdict", "kinds", "proved")), flush=True)
    for maker, counts in summary(known(given.file).values()).items():
        print(f"{maker}: " + ", ".join(f"{number} {name}" for name, number in counts.items()))


if __name__ == "__main__":
    main()
