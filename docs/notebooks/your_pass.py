import marimo

__generated_with = "0.25.2"
app = marimo.App(app_title="A pass")

with app.setup:
    from functools import cache
    from importlib.resources import files

    import marimo as mo
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass

    import tileas_xdsl as tileas
    from tileas_xdsl.dialects.async_queue import WaitOp
    from tileas_xdsl.tools.errors import explain
    from tileas_xdsl.views.listing import KEPT, REMOVED, compared, listed
    from tileas_xdsl.views.notebook import Pane, panes_html

    COURSE = files("tileas_xdsl") / "course"
    FOLDER = COURSE / "12-your-pass"
    SOLVED = ("01-asynchronous-work", "02-races", "04-counts", "05-rings", "09-by-hand")
    PASSES = {
        "does nothing": "start.py",
        "right": "solution.py",
        "forgets commits": "wrong-over-commits.py",
        "mixes up queues": "wrong-any-queue.py",
        "keeps the weaker wait": "wrong-stronger.py",
    }
    PROGRAMS = {
        **{name: FOLDER / f"{name}.mlir" for name in ("twice", "weaker", "behind-the-use")},
        **{name: FOLDER / f"{name}.mlir" for name in ("recommitted", "two-queues", "weak-first")},
        **{name: COURSE / name / "solution.mlir" for name in SOLVED},
    }

    @cache
    def module_of(program: str) -> ModuleOp:
        """The program of that name."""
        return tileas.parse(PROGRAMS[program].read_text())

    def pass_in(code: str) -> ModulePass:
        """The pass that `code` defines. Raises `ValueError` where it defines none or several."""
        names = {"__name__": "code_cell"}
        exec(compile(code, "<code cell>", "exec"), names)
        found = [v for v in names.values() if isinstance(v, type) and issubclass(v, ModulePass) and v is not ModulePass]
        if len(found) != 1:
            raise ValueError(f"{len(found)} passes are defined; one is needed")
        return found[0]()

    @cache
    def row(code: str, program: str) -> str:
        """A line of the table: the program, its waits before and behind the pass, the verdict behind it."""
        before = module_of(program)
        after = tileas.transform(before, [pass_in(code)])
        waits = [sum(isinstance(op, WaitOp) for op in module.walk()) for module in (before, after)]
        return f"{program:<23}{waits[0]} -> {waits[1]}   {tileas.check(after).verdict_line}"


@app.cell
def _():
    about = """\
    # A pass

    A pass removes waits that an earlier wait implies. Which waits may go? Choose a pass and a program, and see the
    program before and behind the pass. The table has the verdicts for all programs: a pass is right only if every
    safe program stays safe. In the notebook you can change the pass.
    """
    mo.md(about)
    return (about,)


@app.cell
def _():
    controls = mo.ui.dictionary(
        {
            "answer": mo.ui.dropdown(list(PASSES), value="right", label="answer"),
            "program": mo.ui.dropdown(list(PROGRAMS), value="recommitted", label="program"),
        }
    )
    mo.hstack(list(controls.elements.values()), justify="start")
    return (controls,)


@app.cell
def _(controls):
    answer, program = (controls.value[name] for name in ("answer", "program"))
    return answer, program


@app.cell
def _(answer):
    editor = mo.ui.code_editor((FOLDER / PASSES[answer]).read_text(), language="python", label="code cell")
    editor
    return (editor,)


@app.cell
def _(editor):
    code = editor.value
    return (code,)


@app.function
def change(code: str, program: str) -> Pane:
    """The program with what the pass did to it, and what it removed lit."""
    before = listed(module_of(program)).lines
    after = listed(tileas.transform(module_of(program), [pass_in(code)])).lines
    lines = compared(before, after)
    marks = [f"{' ' if line.change == KEPT else '-' if line.change == REMOVED else '+'} {line.text}" for line in lines]
    lit = {number for number, line in enumerate(lines, 1) if line.change != KEPT}
    return Pane(f"{program}, before and behind the pass", "\n".join(marks), lit=lit)


@app.cell
def _(code, program):
    try:
        rows = [row(code, name) for name in PROGRAMS]
        table = "\n".join([f"{'program':<23}waits    verdict", *rows])
        shown = [change(code, program), Pane("All programs", table), Pane("The pass", code)]
    except Exception as error:
        # What a reader writes may raise anything.
        shown = [Pane("The code cell fails", explain(error)), Pane("The pass", code)]
    mo.Html(panes_html(shown))
    return (shown,)


if __name__ == "__main__":
    app.run()
