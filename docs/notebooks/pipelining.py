import marimo

__generated_with = "0.25.2"
app = marimo.App(app_title="Pipelining")

with app.setup:
    from functools import cache

    import marimo as mo
    from xdsl.dialects import scf
    from xdsl.dialects.builtin import ModuleOp

    import tileas_xdsl as tileas
    from tileas_xdsl.dialects.async_queue import CommitOp
    from tileas_xdsl.views.notebook import PICTURE, Pane, panes_html

    STAGES = range(1, 7)
    LOOP = """\
    func.func @double(%src: memref<64xf32>, %out: memref<64xf32>, %n: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %i = %c0 to %n step %c1 {
        %a = memref.alloc() : memref<1xf32, 3>
        %b = memref.alloc() : memref<1xf32, 3>
        async_queue.block {
          %x = memref.load %src[%i] : memref<64xf32>
          memref.store %x, %a[%c0] : memref<1xf32, 3>
        }
        async_queue.block {
          %x = memref.load %a[%c0] : memref<1xf32, 3>
          %y = arith.addf %x, %x : f32
          memref.store %y, %b[%c0] : memref<1xf32, 3>
        }
        async_queue.block {
          %y = memref.load %b[%c0] : memref<1xf32, 3>
          memref.store %y, %out[%i] : memref<64xf32>
        }
      } {software_pipeline_stage = array<i64: 0, LAST, LAST>, software_pipeline_order = array<i64: 0, 1, 2>,
         software_pipeline_async_stages = array<i64: 0>}
      func.return
    }
    """

    @cache
    def pipelined(stages: int) -> ModuleOp:
        """The loop with its copy `stages - 1` iterations ahead."""
        return tileas.transform(tileas.parse(LOOP.replace("LAST", str(stages - 1))), "inject-software-pipeline")

    @cache
    def verdict(stages: int) -> str:
        """What the checker says of it, for every trip count."""
        return tileas.check(pipelined(stages)).last_line

    @cache
    def cycles(stages: int, trips: int, target: str) -> int:
        """How long `trips` iterations take."""
        return tileas.simulate(pipelined(stages), {"n": trips}, target=target).cycles


@app.cell
def _():
    about = """\
    # Pipelining

    A loop copies a number, doubles it and stores it. With one stage each iteration waits for its own copy. With more
    stages the copy runs ahead: `inject-software-pipeline` writes the prologue, the loop, the epilogue and the counts.
    Choose the stages, the number of iterations and the target. The second stage gains most, and each stage costs
    a slot. With fewer iterations than stages, parts of the prologue and the epilogue do not run.
    """
    mo.md(about)
    return (about,)


@app.cell
def _():
    controls = mo.ui.dictionary(
        {
            "stages": mo.ui.slider(1, 6, value=2, label="stages", show_value=True),
            "trips": mo.ui.slider(0, 12, value=6, label="trips", show_value=True),
            "target": mo.ui.dropdown(["sm_80", "sm_90"], value="sm_90", label="target"),
        }
    )
    mo.hstack(list(controls.elements.values()), justify="start")
    return (controls,)


@app.cell
def _(controls):
    stages, trips, target = (controls.value[name] for name in ("stages", "trips", "target"))
    return stages, target, trips


@app.function
def table(chosen: int, trips: int, target: str) -> str:
    """Cycles against slots, one line for each number of stages."""
    lines = ["  stages  slots of %a  cycles"]
    for stages in STAGES:
        time = cycles(stages, trips, target)
        lines.append(f"{'>' if stages == chosen else ' '} {stages:<8}{stages:<13}{time:,}")
    return "\n".join(lines)


@app.function
def prologue(program: ModuleOp) -> str:
    """How many copies stand in front of the loop."""
    loop = next(op for op in program.walk() if isinstance(op, scf.ForOp))
    ahead = [op for op in program.walk() if isinstance(op, CommitOp) and not loop.is_ancestor(op)]
    return f"copies in front of the loop: {len(ahead)}; each runs only if there is an iteration for it"


@app.cell
def _(stages, target, trips):
    program = pipelined(stages)
    picture = tileas.timeline(program, {"n": trips}, target=target)
    shown = [
        Pane("Verdict", verdict(stages)),
        Pane(f"Cycles against slots, {trips} iterations on {target}", table(stages, trips, target), lit={stages + 1}),
        Pane("Prologue", prologue(program)),
        Pane("Timeline", picture.svg(1000), PICTURE),
        Pane("Behind the pass", str(program)),
    ]
    mo.Html(panes_html(shown))
    return (shown,)


if __name__ == "__main__":
    app.run()
