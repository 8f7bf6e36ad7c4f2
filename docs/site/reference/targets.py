"""Reference of the targets: the rates and latencies that simulated time is made of, each with its source."""

from __future__ import annotations

from docs.site.reference.docstrings import cell
from tileas_xdsl.targets.cycles import TABLES, TimingTable

HEAD = """\
# Targets

Rates and latencies of one multiprocessor, in cycles. A copy takes its engine for its bytes divided by the rate, and
is complete one latency later. They are a model to
compare schedules with, not a promise about a GPU. [The machine](../machine.md) says how time passes.
"""


def targets_page() -> str:
    """A section for each target that has a timing table."""
    return "\n\n".join([HEAD, *map(section, TABLES.values())]) + "\n"


def section(table: TimingTable) -> str:
    rows = [("| engine or memory | per cycle | latency |"), "|---|---|---|"]
    rows += [
        f"| asynchronous: {name} | {rate.per_cycle} bytes | {rate.latency} |" for name, rate in table.copies.items()
    ]
    rows += [f"| {name} memory | {rate.per_cycle} bytes | {rate.latency} |" for name, rate in table.memory.items()]
    core = table.tensor_core
    rows += [
        f"| products, {bits} bits | {flops} operations | {core.latency} |"
        for bits, flops in core.flops_per_cycle.items()
    ]
    rows.append(f"| arithmetic on tiles | {table.arithmetic.per_cycle} elements | {table.arithmetic.latency} |")
    rows.append(f"| roots, exponentials | {table.special.per_cycle} elements | {table.special.latency} |")
    rows.append(f"| an instruction | | {table.instruction} |")
    rows.append(f"| a signal | | {table.signal} |")
    sources = "\n".join(f"- {cell(source)}" for source in table.sources)
    return f"## {table.target}\n\n" + "\n".join(rows) + f"\n\nSources:\n\n{sources}"
