import marimo

__generated_with = "0.25.2"
app = marimo.App(app_title="Warp specialisation")

with app.setup:
    from functools import cache
    from importlib.resources import files

    import marimo as mo
    from xdsl.dialects.builtin import ModuleOp

    import tileas_xdsl as tileas
    from tileas_xdsl.machine.time.simulation import TimedRun
    from tileas_xdsl.views.listing import ADDED, KEPT, compared, listed
    from tileas_xdsl.views.notebook import PICTURE, Pane, panes_html

    STEPS = ["as written", "tileas-queue-to-pipeline", "tileas-materialize-async"]
    TRIPS = 6
    WRITTEN = (files("tileas_xdsl") / "course" / "11-warp-specialisation" / "start.mlir").read_text()

    @cache
    def program_after(depth: int, passes: int) -> ModuleOp:
        """The program behind that many passes."""
        if passes == 0:
            return tileas.parse(WRITTEN.replace("depth = 1", f"depth = {depth}"))
        return tileas.transform(program_after(depth, passes - 1), STEPS[passes])

    @cache
    def verdict(depth: int, passes: int) -> str:
        """What the checker says of it, for every trip count."""
        return tileas.check(program_after(depth, passes)).last_line


@app.cell
def _():
    about = """\
    # Warp specialisation

    One agent loads tiles, another one multiplies them. Queues lie between the two. The first pass makes rings with
    full and empty slots of the queues. The second one makes the loads asynchronous, so that the producer runs ahead.
    Choose the depth of both queues and how many of the passes have run, and look at who stands still, and why.
    """
    mo.md(about)
    return (about,)


@app.cell
def _():
    controls = mo.ui.dictionary(
        {
            "depth": mo.ui.slider(1, 4, value=2, label="depth", show_value=True),
            "step": mo.ui.dropdown(STEPS, value=STEPS[-1], label="step"),
        }
    )
    mo.hstack(list(controls.elements.values()), justify="start")
    return (controls,)


@app.cell
def _(controls):
    depth, step = (controls.value[name] for name in ("depth", "step"))
    return depth, step


@app.function
def difference(depth: int, passes: int) -> Pane:
    """What the last of the passes changed: all lines, the new ones lit."""
    after = listed(program_after(depth, passes)).lines
    before = listed(program_after(depth, max(passes - 1, 0))).lines
    lines = compared(before, after)
    marks = [f"{' ' if line.change == KEPT else '+' if line.change == ADDED else '-'} {line.text}" for line in lines]
    lit = {number for number, line in enumerate(lines, 1) if line.change == ADDED}
    return Pane("What the pass changed" if passes else "The program", "\n".join(marks), lit=lit)


@app.function
def stalls(run: TimedRun) -> str:
    """Who stands still, at which op, for what, and how long."""
    longest = sorted(run.stalls, key=lambda stall: -stall.cycles)
    lines = [f"{stall.agent:<10}{stall.cycles:>8,} cycles at {stall.place}, on {stall.on}" for stall in longest]
    return "\n".join(lines) or "no agent stands still"


@app.cell
def _(depth, step):
    passes = STEPS.index(step)
    program = program_after(depth, passes)
    run = tileas.simulate(program, {"n": TRIPS}, target="sm_90")
    picture = tileas.timeline(program, {"n": TRIPS}, target="sm_90")
    shown = [
        Pane("Verdict", verdict(depth, passes)),
        Pane("Stalls", stalls(run)),
        Pane(f"Lanes, {TRIPS} tiles on sm_90", picture.svg(1000), PICTURE),
        difference(depth, passes),
    ]
    mo.Html(panes_html(shown))
    return (shown,)


if __name__ == "__main__":
    app.run()
