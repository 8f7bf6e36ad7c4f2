import marimo

__generated_with = "0.25.2"
app = marimo.App(app_title="From a Python kernel to PTX")

with app.setup:
    import atexit
    from functools import cache
    from pathlib import Path
    from tempfile import TemporaryDirectory

    import marimo as mo
    from xdsl.dialects.builtin import ModuleOp

    import tileas_xdsl as tileas
    from tileas_xdsl.kernels.kernel import Kernel
    from tileas_xdsl.tools.inputs import read_module
    from tileas_xdsl.tools.python.cutile import module_of_kernel
    from tileas_xdsl.views.notebook import PICTURE, Pane, panes_html

    STAGES = ["Python", "Tile IR", "tiles", "pipelines", "PTX"]
    TARGETS = ["sm_90a", "sm_80"]
    TILE = 64, 64, 32
    KERNEL = """\
import cuda.tile as ct

Size = ct.Constant[int]


@ct.kernel
def gemm(A, B, D, tm: Size, tn: Size, tk: Size):
    i, j = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, index=(i, k), shape=(tm, tk), padding_mode=ct.PaddingMode.ZERO)
        b = ct.load(B, index=(k, j), shape=(tk, tn), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(a, b, total)
    ct.store(D, index=(i, j), tile=ct.astype(total, D.dtype))
"""
    FOLDER = TemporaryDirectory()
    atexit.register(FOLDER.cleanup)

    @cache
    def path() -> str:
        """The kernel with its types and constants, as commands take it."""
        file = Path(FOLDER.name) / "gemm.py"
        file.write_text(KERNEL)
        return f"{file}:gemm(f16:?x?, f16:?x?, f16:?x?, {', '.join(map(str, TILE))})"

    @cache
    def tiles() -> ModuleOp:
        """The tile function that it becomes."""
        return read_module(path())

    @cache
    def pipelines(target: str) -> ModuleOp:
        """That function with rings, agents and a schedule."""
        return tileas.transform(tiles(), f"tileir{{pipeline-strategy=warp-specialize compute-capability={target}}}")

    @cache
    def kernel(target: str) -> Kernel:
        """The function compiled; its threads are not checked here."""
        return tileas.compile(tiles(), target=target, check=False)


@app.cell
def _():
    about = """\
    # From a Python kernel to PTX

    A kernel in cuTile Python says what a block does to tiles. Choose how far it has come, and the target. The verdict
    is on the tile function: it holds for every trip count. The schedule says how far loads run ahead of the product.
    """
    mo.md(about)
    return (about,)


@app.cell
def _():
    controls = mo.ui.dictionary(
        {
            "stage": mo.ui.dropdown(STAGES, value=STAGES[0], label="stage"),
            "target": mo.ui.dropdown(TARGETS, value=TARGETS[0], label="target"),
        }
    )
    mo.hstack(list(controls.elements.values()), justify="start")
    return (controls,)


@app.cell
def _(controls):
    stage, target = (controls.value[name] for name in ("stage", "target"))
    return stage, target


@app.function
def text(stage: str, target: str) -> str:
    """The kernel at a stage."""
    texts = {
        "Python": lambda: KERNEL,
        "Tile IR": lambda: str(module_of_kernel(path())),
        "tiles": lambda: str(tiles()),
        "pipelines": lambda: str(pipelines(target)),
        "PTX": lambda: kernel(target).ptx,
    }
    return texts[stage]()


@app.function
def decided(target: str) -> str:
    """What compiling decides, without places."""
    return "\n".join(line.rpartition(": ")[2] for line in kernel(target).decisions)


@app.cell
def _(stage, target):
    picture = tileas.timeline(pipelines(target), {"A_tiles1by32": 6}, target=target)
    shown = [
        Pane(f"{stage}, for {target}" if stage in STAGES[3:] else stage, text(stage, target)),
        Pane("Verdict", tileas.check(tiles(), judge_waits=False).last_line),
        Pane(f"Schedule on {target}", decided(target)),
        Pane(f"Lanes, 6 tiles on {target}", picture.svg(1000), PICTURE),
    ]
    mo.Html(panes_html(shown))
    return (shown,)


if __name__ == "__main__":
    app.run()
