import marimo

__generated_with = "0.25.2"
app = marimo.App(app_title="Three schedulers")

with app.setup:
    from functools import cache

    import marimo as mo
    from xdsl.dialects.builtin import ModuleOp

    import tileas_xdsl as tileas
    from tileas_xdsl.views.notebook import PICTURE, Pane, panes_html
    from tileas_xdsl.views.schedule import Schedules

    SCHEDULERS = ["serial", "cost-based", "exact"]
    STAGES, TRIPS = 4, 8
    LOOPS = {
        "one product": """\
    !ring = tensor<128x64xf16, #nv_tileas.layout<smem>>
    !other = tensor<64x128xf16, #nv_tileas.layout<smem>>
    func.func @one(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>, %n: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %zero = arith.constant dense<0.0> : tensor<128x128xf32>
      %r = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
        %at = nv_tileaa.tiled_load %a[%c0, %k] : (memref<?x?xf16>, index, index) -> !ring
        %bt = nv_tileaa.tiled_load %b[%k, %c0] : (memref<?x?xf16>, index, index) -> !other
        %sum = nv_tileaa.dot %at, %bt, %acc : (!ring, !other, tensor<128x128xf32>) -> tensor<128x128xf32>
        scf.yield %sum : tensor<128x128xf32>
      }
      nv_tileaa.tiled_store %c[%c0, %c0], %r : (memref<?x?xf32>, tensor<128x128xf32>, index, index) -> ()
      func.return
    }
    """,
        "two products": """\
    !tile = tensor<16x16xf16, #nv_tileas.layout<smem>>
    !rows = tensor<64x16xf16, #nv_tileas.layout<smem>>
    !columns = tensor<16x64xf16, #nv_tileas.layout<smem>>
    !s = tensor<64x16xf32>
    !c = tensor<64x64xf32>
    func.func @two(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %v: memref<?x?xf16>, %c: memref<?x?xf32>, %n: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %none = arith.constant dense<0.0> : !s
      %zero = arith.constant dense<0.0> : !c
      %q = nv_tileaa.tiled_load %a[%c0, %c0] : (memref<?x?xf16>, index, index) -> !rows
      %r = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!c) {
        %bt = nv_tileaa.tiled_load %b[%c0, %k] : (memref<?x?xf16>, index, index) -> !tile
        %vt = nv_tileaa.tiled_load %v[%k, %c0] : (memref<?x?xf16>, index, index) -> !columns
        %s = nv_tileaa.dot %q, %bt, %none : (!rows, !tile, !s) -> !s
        %p = arith.truncf %s : !s to tensor<64x16xf16>
        %sum = nv_tileaa.dot %p, %vt, %acc : (tensor<64x16xf16>, !columns, !c) -> !c
        scf.yield %sum : !c
      }
      nv_tileaa.tiled_store %c[%c0, %c0], %r : (memref<?x?xf32>, !c, index, index) -> ()
      func.return
    }
    """,
    }

    @cache
    def schedule(loop: str, scheduler: str, target: str) -> Schedules:
        """What a scheduler makes of a loop."""
        return tileas.schedule(tileas.parse(LOOPS[loop]), target=target, strategy=scheduler, num_stages=STAGES)

    @cache
    def carried_out(loop: str, scheduler: str, target: str) -> ModuleOp:
        """The loop, pipelined as this schedule says."""
        how = f"pipeline-strategy=unspecialize unspecialized-pipeline-num-stages={STAGES}"
        passes = f"tileir{{compute-capability={target} schedule-strategy={scheduler} {how}}}"
        return tileas.transform(tileas.parse(LOOPS[loop]), passes)

    @cache
    def verdict(loop: str, scheduler: str, target: str) -> str:
        """What the checker says of it, for every trip count."""
        return tileas.check(carried_out(loop, scheduler, target)).last_line

    @cache
    def cycles(loop: str, scheduler: str, target: str) -> int:
        """How long the machine takes."""
        return tileas.simulate(carried_out(loop, scheduler, target), {"n": TRIPS}, target=target).cycles


@app.cell
def _():
    about = """\
    # Three schedulers

    A scheduler says when each op of a loop starts. `serial` lets one iteration end before the next begins.
    `cost-based` is the heuristic of TileAS. `exact` proves that no interval is shorter, and then takes few stages and
    bytes. Choose a loop, a scheduler and a target. The table compares what each scheduler promises with the cycles of
    the machine. Does the heuristic lose cycles, or memory?
    """
    mo.md(about)
    return (about,)


@app.cell
def _():
    controls = mo.ui.dictionary(
        {
            "loop": mo.ui.dropdown(list(LOOPS), value="one product", label="loop"),
            "scheduler": mo.ui.dropdown(SCHEDULERS, value="cost-based", label="scheduler"),
            "target": mo.ui.dropdown(["sm_80", "sm_90"], value="sm_80", label="target"),
        }
    )
    mo.hstack(list(controls.elements.values()), justify="start")
    return (controls,)


@app.cell
def _(controls):
    loop, scheduler, target = (controls.value[name] for name in ("loop", "scheduler", "target"))
    return loop, scheduler, target


@app.function
def table(chosen: str, loop: str, target: str) -> str:
    """What each scheduler promises, and what its loop takes on the machine; one line each."""
    lines = [f"  scheduler   cycles between iterations  stages  bytes of rings  cycles of {TRIPS} iterations"]
    for scheduler in SCHEDULERS:
        (row,) = schedule(loop, scheduler, target).summary()
        mark = ">" if scheduler == chosen else " "
        promised = f"{row['interval']:<27,}{row['stages']:<8}{row['ring_bytes']:<16,}"
        lines.append(f"{mark} {scheduler:<12}{promised}{cycles(loop, scheduler, target):,}")
    return "\n".join(lines)


@app.cell
def _(loop, scheduler, target):
    found = schedule(loop, scheduler, target)
    program = carried_out(loop, scheduler, target)
    picture = tileas.timeline(program, {"n": TRIPS}, target=target)
    shown = [
        Pane(
            f"At most {STAGES} stages, on {target}",
            table(scheduler, loop, target),
            lit={SCHEDULERS.index(scheduler) + 2},
        ),
        Pane("Verdict", verdict(loop, scheduler, target)),
        Pane("Schedule", str(found)),
        Pane("Reservation table", found.svg(), PICTURE),
        Pane("Timeline", picture.svg(1000), PICTURE),
        Pane("The loop", LOOPS[loop]),
    ]
    mo.Html(panes_html(shown))
    return (shown,)


if __name__ == "__main__":
    app.run()
