"""
The pages of the zoo in `docs/zoo/`: an index, and one page a pair. Written from the headers of the programs and from
what the checker says of them, so that they cannot say anything else.
"""

from __future__ import annotations

import difflib
from pathlib import Path

from examples.zoo.exhibits import ISSUE, PTX, ROOT, TTGIR, Exhibit, code
from examples.zoo.in_ttgir import NOT_IN_TTGIR
from tileas_xdsl.tools.rendering import Source, finding_lines
from tileas_xdsl.views.timeline.svg import timeline_svg

PAGES = ROOT / "docs" / "zoo"
INDEX = "index.md"
PICTURES = PAGES / "pictures"
WIDTH = 1000
"""The width of a picture, in pixels."""
PROGRAMS = "../../examples/zoo"

INDEX_HEAD = """\
# The bug zoo

Each exhibit is a failure that hurt users of another tool. It is a small pipeline that is wrong, with a twin that is
right and differs by as little as possible. `make zoo` checks them all. `tileas check` says of one what is wrong:

```sh exit=1
tileas check examples/zoo/tma-arrival-count.bad.mlir
```

```sh
tileas check examples/zoo/tma-arrival-count.good.mlir
```

The programs are models. What matters for the failure is in them, and the arithmetic around it is a sum. A product of
tiles is a sum of what the tiles begin with; a block of a cluster is an agent.

Each page names the kind of mistake, where it is, and the issue that it mirrors. It shows the violation that
`tileas check` shows first of the program that is wrong. Its picture is one run of the call that the report names, in
simulated cycles, with the violation in red frames. The command below the picture draws it. The program that is right is
safe for every trip count, unless the page says otherwise. A number as T005 is that of the cause: `tileas explain-error
T005` shows its pages in the terminal.

A read before an asynchronous write of the same bytes needs a fence. Some kernels do without one, so `--relaxed-proxy`
makes a warning of that case; a page says so where it applies. `python -m examples.zoo --write-docs` writes the pages.

What Triton can say is there in TTGIR, too, and is wrong in the same way. The last column links it, or says why not.

"""


def write_pages(found: list[Exhibit]) -> None:
    """Write the index, every page and every picture anew; remove those of exhibits that are gone."""
    for folder, pattern, texts in ((PAGES, "*.md", pages(found)), (PICTURES, "*.svg", pictures(found))):
        for path in folder.glob(pattern):
            if path.name not in texts:
                path.unlink()
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")


def pages(found: list[Exhibit]) -> dict[str, str]:
    """File name -> text."""
    return {INDEX: index(found), **{f"{exhibit.name}.md": page(exhibit) for exhibit in found}}


def pictures(found: list[Exhibit]) -> dict[str, str]:
    """File name -> SVG."""
    return {f"{exhibit.name}.svg": timeline_svg(exhibit.timeline, WIDTH) for exhibit in found}


def index(found: list[Exhibit]) -> str:
    rows = ["| exhibit | kind | level | mirrors | TTGIR |", "|---|---|---|---|---|"]
    for exhibit in found:
        link = f"[{exhibit.title}]({exhibit.name}.md)"
        row = (link, exhibit.kind, exhibit.level, linked(exhibit.mirrors), in_ttgir(exhibit))
        rows.append(f"| {' | '.join(row)} |")
    return INDEX_HEAD + "\n".join(rows) + "\n"


def in_ttgir(exhibit: Exhibit) -> str:
    """Links to the pair in Triton's words, or why there is none."""
    if exhibit.suffix == PTX:
        return "only PTX shows it"
    if exhibit.suffix == TTGIR:
        return "the page shows it"
    if exhibit.name in NOT_IN_TTGIR:
        return NOT_IN_TTGIR[exhibit.name]
    bad, good = (path.with_suffix(".ttgir").name for path in (exhibit.bad, exhibit.good))
    return f"[bad]({PROGRAMS}/{bad}), [good]({PROGRAMS}/{good})"


def page(exhibit: Exhibit) -> str:
    finding = exhibit.finding
    assert finding is not None
    source = Source(str(exhibit.bad.relative_to(ROOT)), exhibit.bad.read_text())
    said = "\n".join("".join(text for text, _ in line).rstrip() for line in finding_lines(finding, source))
    return f"""\
# {exhibit.title}

*{exhibit.kind}*: {exhibit.level}; {linked(exhibit.mirrors)}.

**What happened.** {exhibit.happened}

**[Here]({PROGRAMS}/{exhibit.bad.name}).** {exhibit.wrong}

```
{said}
```
{under_relaxed_proxy(exhibit)}
{in_time(exhibit)}

**[The fix]({PROGRAMS}/{exhibit.good.name}).** {exhibit.fix}{verdict_on_fix(exhibit)}

```diff
{difference(exhibit.bad, exhibit.good)}
```
"""


def verdict_on_fix(exhibit: Exhibit) -> str:
    """What is said of the program that is right, where it is not safe for every trip count without a condition."""
    verdict = exhibit.report_on_good.verdict_line
    return "" if verdict == "safe for every trip count" else f" It is `{verdict}`."


def under_relaxed_proxy(exhibit: Exhibit) -> str:
    """A paragraph about kernels that do without this fence, where `--relaxed-proxy` is about it; else nothing."""
    report = exhibit.report_under_relaxed_proxy
    if report is None:
        return ""
    return f"""
With `--relaxed-proxy` this is a warning, and the verdict is `{report.verdict_line}`.
"""


def in_time(exhibit: Exhibit) -> str:
    """The picture of a page and its command; where no violation shows in it, that is said."""
    call = " ".join(f"--arg {name}={value}" for name, value in exhibit.arguments.items())
    command = " ".join(f"tileas timeline examples/zoo/{exhibit.bad.name} {call} -o picture.svg".split())
    calm = "" if exhibit.timeline.marks else "\n\nAt this pace all goes well."
    return f"""\
![One run](pictures/{exhibit.name}.svg)

```text
{command}
```{calm}"""


def difference(bad: Path, good: Path) -> str:
    """What changes from one program to the other, with a line of context."""
    lines = list(difflib.unified_diff(code(bad), code(good), n=1, lineterm=""))[2:]
    return "\n".join("@@" if line.startswith("@@") else line.rstrip() for line in lines)


def linked(mirrors: str) -> str:
    """Issue numbers as links."""
    return ISSUE.sub(r"[\1#\2](https://github.com/\1/issues/\2)", mirrors)
