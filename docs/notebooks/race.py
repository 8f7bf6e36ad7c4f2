import marimo

__generated_with = "0.25.2"
app = marimo.App(app_title="A race, step by step")

with app.setup:
    from importlib.resources import files

    import marimo as mo

    import tileas_xdsl as tileas
    from tileas_xdsl.diagnostics import place_in
    from tileas_xdsl.machine.core.asynchronous_work import AsyncWork
    from tileas_xdsl.machine.core.trace import Happening
    from tileas_xdsl.tools.errors import InputError
    from tileas_xdsl.views.drawing import Arrow, Box, draw
    from tileas_xdsl.views.notebook import PICTURE, Pane, panes_html

    CHAPTERS = ["02-races", "03-tokens", "05-rings", "06-phases", "08-proxies"]


@app.cell
def _():
    about = """\
    # A race, step by step

    The checker shows a fault by a witness: the steps of one execution that lead to it. Go through the steps one by
    one. The lines of the steps so far are lit. The table says what each agent has done, and which asynchronous works
    it knows to be complete. Behind the last step stand the two that collide.

    The programs are those with which exercises of the course begin. In the notebook you can change the text.
    """
    mo.md(about)
    return (about,)


@app.cell
def _():
    controls = mo.ui.dictionary(
        {
            "program": mo.ui.dropdown(CHAPTERS, value=CHAPTERS[0], label="program"),
            "step": mo.ui.slider(1, 9, value=3, label="step", show_value=True),
        }
    )
    mo.hstack(list(controls.elements.values()), justify="start")
    return (controls,)


@app.cell
def _(controls):
    program, step = (controls.value[name] for name in ("program", "step"))
    return program, step


@app.cell
def _(program):
    written = (files("tileas_xdsl") / "course" / program / "start.mlir").read_text()
    editor = mo.ui.code_editor(written, language="plaintext", label="IR text")
    editor
    return (editor,)


@app.cell
def _(editor):
    text = editor.value
    return (text,)


@app.function
def line_of(step: Happening) -> int:
    """The line of the step's op in the text, from 1."""
    place = place_in(step.op.location)
    return place.line.data if place is not None else 0


@app.function
def knowledge(steps: list[Happening]) -> str:
    """What each agent has done in `steps`, and which of the works issued in them it knows to be complete."""
    works = {id(s.on): s.on for s in steps if s.kind == "issue" and isinstance(s.on, AsyncWork)}
    clocks: dict[str, dict[int, int]] = {}
    for s in steps:
        clock = clocks.setdefault(s.agent_name, {})
        for agent, moment in {**(s.learnt or {}), s.agent: s.moment}.items():
            clock[agent] = max(clock.get(agent, -1), moment)
    lines: list[str] = []
    for name, clock in clocks.items():
        own = [str(k) for k, s in enumerate(steps, 1) if s.agent_name == name and s.kind != "complete"]
        lines.append(f"{name}: steps {', '.join(own)}")
        for work in works.values():
            knows = any(clock.get(agent, -1) >= moment for agent, moment in work.observers.items())
            lines.append(f"  {work.label}: {'known to be complete' if knows else 'may be in flight'}")
    return "\n".join(lines) or "no step yet"


@app.function
def graph(steps: list[Happening], collision: list[Happening]) -> str:
    """Steps and what follows from what: program order, issue to work, arrival to wait; dashed what is missing."""
    boxes = [Box(f"{k}. {s.who}: {s.text}") for k, s in enumerate(steps, 1)]
    boxes += [Box(f"=> {s.who}: {s.text}", stands_out=True) for s in collision]
    arrows: list[Arrow] = []
    everything = [*steps, *collision]
    for k, s in enumerate(everything):
        issued = [j for j in range(min(k, len(steps))) if steps[j].op is s.op and steps[j].iteration == s.iteration]
        before = [j for j in range(min(k, len(steps))) if steps[j].agent == s.agent and steps[j].kind != "complete"]
        told = [j for j in range(k) if s.kind == "wait" and everything[j].kind in ("arrive", "complete")]
        sources = issued[-1:] or before[-1:]
        sources += [j for j in told if everything[j].on is s.on and everything[j].turn == s.turn and j not in sources]
        arrows += [Arrow(j, k) for j in sources]
    if len(collision) == 2 and collision[0].kind == "access":
        arrows.append(Arrow(len(steps), len(steps) + 1, "dashed"))
    return draw(boxes, arrows)


@app.cell
def _(text):
    try:
        report, problem = tileas.check(tileas.parse(text)), None
    except InputError as error:
        report, problem = None, str(error)
    return problem, report


@app.cell
def _(problem, report, step, text):
    if report is None:
        shown = [Pane("IR text does not parse", problem)]
    elif not report.findings or report.findings[0].witness is None:
        shown = [Pane("Verdict", report.last_line), Pane("The program", text)]
    else:
        finding = report.findings[0]
        witness = finding.witness
        steps = [s for s in witness.steps if isinstance(s, Happening)]
        taken = steps[:step]
        collision = list(witness.collision) if step > len(steps) else []
        listed = [f"{k}. {s}" for k, s in enumerate(taken, 1)] + [f"=> {s}" for s in collision]
        shown = [
            Pane(
                "Verdict",
                f"{report.verdict_line}\n{finding.violation.headline}, {finding.call}",
            ),
            Pane(f"Steps, {min(step, len(steps))} of {len(steps)}", "\n".join(listed)),
            Pane("Who knows what", knowledge(taken)),
            Pane("Order; dashed: nothing orders these two", graph(taken, collision), PICTURE),
            Pane("Missing", finding.violation.missing),
            Pane("The program", text, lit={line_of(s) for s in [*taken, *collision]}),
        ]
    mo.Html(panes_html(shown))
    return (shown,)


if __name__ == "__main__":
    app.run()
