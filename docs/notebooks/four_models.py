import marimo

__generated_with = "0.25.2"
app = marimo.App(app_title="Four models")

with app.setup:
    from functools import cache

    import marimo as mo
    import numpy as np
    from xdsl.dialects.builtin import ModuleOp

    import tileas_xdsl as tileas
    from tileas_xdsl.machine.time.simulation import simulate
    from tileas_xdsl.views.charts import chart_svg
    from tileas_xdsl.views.notebook import PICTURE, Pane, panes_html
    from tileas_xdsl.views.queues import queues_chart
    from tileas_xdsl.views.slots import SlotUses, slots_chart
    from tileas_xdsl.views.timeline import timeline
    from tileas_xdsl.views.timeline.svg import timeline_svg

    SLOTS = 3
    TRIPS = 6
    PASSES = {
        "counts": "",
        "tokens": "convert-queue-to-async",
        "phases": "convert-queue-to-pipeline",
        "marks": "convert-queue-to-rocdl",
    }

    def copy(element: str, slot: str, indent: str = "  ") -> list[str]:
        """A group with one copy, from `%src[element]` into `%ring[slot]`."""
        lines = [
            "async_queue.commit 0 {",
            "  async_queue.scope {",
            f"    %x = memref.load %src[{element}] : memref<68xf32>",
            f"    memref.store %x, %ring[{slot}] : memref<{SLOTS}xf32, 3>",
            "  }",
            "}",
        ]
        return [indent + line for line in lines]

    def doubling(distance: int) -> str:
        """The loop whose copies run `distance` iterations ahead, in the model of counts."""
        constants = range(max(distance, SLOTS) + 1)
        return "\n".join(
            [
                "func.func @double(%src: memref<68xf32>, %out: memref<64xf32>, %n: index) {",
                *(f"  %c{k} = arith.constant {k} : index" for k in constants),
                f"  %ring = memref.alloc() : memref<{SLOTS}xf32, 3>",
                *(line for k in range(distance) for line in copy(f"%c{k}", f"%c{k % SLOTS}")),
                "  scf.for %i = %c0 to %n step %c1 {",
                f"    %ahead = arith.addi %i, %c{distance} : index",
                f"    %fill = arith.remui %ahead, %c{SLOTS} : index",
                f"    %use = arith.remui %i, %c{SLOTS} : index",
                *copy("%ahead", "%fill", "    "),
                f"    async_queue.wait 0, {distance}",
                f"    %x = memref.load %ring[%use] : memref<{SLOTS}xf32, 3>",
                "    %y = arith.addf %x, %x : f32",
                "    memref.store %y, %out[%i] : memref<64xf32>",
                "  }",
                "  async_queue.wait 0, 0",
                "  func.return",
                "}",
            ]
        )

    @cache
    def program_in(model: str, distance: int) -> ModuleOp:
        """The loop in one of the models."""
        counted = tileas.parse(doubling(distance))
        return tileas.transform(counted, PASSES[model]) if PASSES[model] else counted

    @cache
    def verdict(model: str, distance: int) -> str:
        """What the checker says of it, for every trip count."""
        return tileas.check(program_in(model, distance)).last_line

    @cache
    def pictures(model: str, distance: int) -> list[Pane]:
        """Its timeline, its slots, and its queue, if it has one."""
        run = simulate(program_in(model, distance), None, {"n": TRIPS}, "sm_90", observer=SlotUses())
        panes = [
            Pane("Timeline on sm_90", timeline_svg(timeline(run), 1000), PICTURE),
            Pane("What lies in the slots", chart_svg(slots_chart(run), 690), PICTURE),
        ]
        queues = queues_chart(run)
        if queues.rows:
            panes.append(Pane("What is in the queue, by age", chart_svg(queues, 690), PICTURE))
        return panes


@app.cell
def _():
    about = """\
    # Four models

    A loop doubles numbers that come in through three slots. Its copies run some iterations ahead, and the wait of the
    loop has to say so. Choose the model that says it, and how far the copies run ahead. At most two are right: with
    three slots, a copy that is three ahead lands in the slot that is about to be read.

    The order is that of one run: copies are performed at once (`eager`), as late as possible (`lazy`), or in between.
    A program with a race computes the right numbers under some orders.
    """
    mo.md(about)
    return (about,)


@app.cell
def _():
    controls = mo.ui.dictionary(
        {
            "model": mo.ui.dropdown(list(PASSES), value="counts", label="model"),
            "distance": mo.ui.slider(0, 4, value=2, label="distance", show_value=True),
            "order": mo.ui.dropdown(["eager", "lazy", "random"], value="eager", label="order"),
        }
    )
    mo.hstack(list(controls.elements.values()), justify="start")
    return (controls,)


@app.cell
def _(controls):
    model, distance, order = (controls.value[name] for name in ("model", "distance", "order"))
    return distance, model, order


@app.function
def fifo(distance: int) -> str:
    """The groups at the wait of iteration 5, and which of them the wait demands."""
    groups = [f"{f'number {5 + k}':<12}{distance - k:<8}{'yes' if k == 0 else ''}" for k in range(distance + 1)]
    return "\n".join([f"{'group':<12}{'age':<8}must be complete", *groups])


@app.cell
def _(distance, model):
    program = program_in(model, distance)
    return (program,)


@app.cell
def _(order, program):
    numbers = np.arange(68, dtype=np.float32)
    outcome = tileas.run(program, {"n": TRIPS, "src": numbers, "out": np.zeros(64, np.float32)}, order=order)
    computed = outcome.arrays["out"][:TRIPS]
    is_right = np.array_equal(computed, 2 * numbers[:TRIPS])
    return computed, is_right


@app.cell
def _(computed, distance, is_right, model, order, program):
    shown = [
        Pane("Verdict", verdict(model, distance)),
        Pane(f"Numbers of one run, {order}", f"{computed.tolist()}: {'right' if is_right else 'WRONG'}"),
        Pane("The FIFO at the wait of iteration 5", fifo(distance)),
        *pictures(model, distance),
        Pane(f"The program, in {model}", str(program)),
    ]
    mo.Html(panes_html(shown))
    return (shown,)


if __name__ == "__main__":
    app.run()
