"""Draws the pictures of the documentation anew: `python docs/pictures/make.py [NAME …]`, where Chromium is installed.

The data are scikit-learn's, those of examples/, and loans that examples/board-and-production makes.
"""

import runpy
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT))

from sklearn.datasets import load_breast_cancer  # noqa: E402

import odtc  # noqa: E402

STUDY = ("flowoct", "flowoct:literal=true", "binoct", "dpflow")


def first_tree() -> odtc.OptimalTreeClassifier:
    """The tree of the first screen: 569 tumours, 30 measurements of each, depth 2."""
    table = load_breast_cancer(as_frame=True)
    return odtc.OptimalTreeClassifier(max_depth=2).fit(table.data, table.target_names[table.target])


def command(*words, folder: Path) -> None:
    subprocess.run([sys.executable, "-m", "odtc", *map(str, words)], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def tree(folder: Path) -> None:
    fitted = first_tree()
    (folder / "breast-cancer.svg").write_text(odtc.export(fitted, "svg"), encoding="utf-8")
    print(f"breast-cancer.svg: {fitted.status_}, objective {fitted.objective_:g}, bound {fitted.bound_:g}")


def tutorials(folder: Path) -> None:
    """The trees and the report of the two tutorials."""
    from tests.browser import Browser

    table, rows = ROOT / "examples" / "breast-cancer" / "breast-cancer.csv", ("--depth", 2, "--hold-out", 0.2)
    command("fit", table, *rows, "-o", "tumours", folder=folder)
    words = ("--encoding", "auto:bins=16", "--constraint", "recall[malignant] >= 0.95")
    command("fit", table, *rows, *words, "-o", "careful", folder=folder)
    command("report", "careful", folder=folder)
    monks = ROOT / "examples" / "monks" / "monks-3.csv"
    command("fit", monks, "--model", "flowoct", "--encoding", "onehot", "-o", "monks-3", folder=folder)
    for name in ("tumours", "monks-3"):
        command("export", f"{name}.tree.json", "--to", "svg", "-o", f"{name}.svg", folder=folder)
    with Browser() as browser:
        report = browser.open((folder / "careful.html").as_uri(), width=1000, height=900)
        report.screenshot(folder / "careful.png", whole=False)


def page(folder: Path) -> None:
    """The page of the board, by day and on a phone by night."""
    from tests.browser import Browser

    runpy.run_path(str(ROOT / "examples" / "board-and-production" / "run.py"))["main"](folder)
    with Browser() as browser:
        where = (folder / "january.html").as_uri()
        browser.open(where, width=1000, height=1150).screenshot(folder / "report.png", whole=False)
        phone = browser.open(where, width=390, height=800, dark=True)
        phone.screenshot(folder / "report-phone.png", whole=False)


def frontier(folder: Path) -> None:
    words = ("--depth", 3, "--encoding", "onehot", "--vary", "recall[1] >= 0.5:0.95:0.05")
    command("frontier", ROOT / "examples" / "monks" / "monks-2.csv", *words, "-o", "frontier.svg", folder=folder)


def regions(folder: Path) -> None:
    iris = ROOT / "examples" / "iris" / "iris.csv"
    command("fit", iris, "--depth", 3, "-o", "iris", folder=folder)
    columns = ("--x", "petal length (cm)", "--y", "petal width (cm)")
    command("plot", "regions", "iris.tree.json", iris, *columns, "-o", "regions.png", folder=folder)


def profile(folder: Path) -> None:
    data = ",".join(str(ROOT / "examples" / "monks" / f"monks-{number}.csv") for number in (1, 2, 3))
    words = ("--data", data, "--depths", "1,2", "--formulations", ",".join(STUDY), "--time-limit", 60)
    command("bench", "models", *words, "--results", "study.jsonl", folder=folder)
    command("plot", "profile", "study.jsonl", "-o", "profile.svg", folder=folder)


def progress(folder: Path) -> None:
    monks = ROOT / "examples" / "monks" / "monks-2.csv"
    words = ("--model", "flowoct", "-p", "literal=true", "--depth", 2, "--encoding", "onehot", "--solver", "highs")
    command("fit", monks, *words, "-o", "m", folder=folder)
    command("plot", "progress", "m", "-o", "progress.svg", folder=folder)


def performance(folder: Path) -> None:
    """The table of benchmarks/results as bars: CPU seconds of odtc and of ConTree at depth 3, on a logarithmic axis."""
    import csv

    from matplotlib.figure import Figure

    with open(ROOT / "benchmarks" / "results" / "numbers-thresholds.csv", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["depth"] == "3" and row["set"] != "all"]
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.add_subplot()
    for offset, tool, name, colour in ((0.2, "odtc", "odtc", "#1f6f8b"), (-0.2, "pycontree", "ConTree", "#c9c9c9")):
        seconds = [float(row[tool].lstrip("> ")) for row in rows]
        places = [len(rows) - at + offset for at in range(len(rows))]
        axes.barh(places, [s - 0.001 for s in seconds], height=0.38, left=0.001, color=colour, label=name)
        for place, row, value in zip(places, rows, seconds):
            if row[tool].startswith(">"):
                axes.text(value * 1.05, place, "not proved in 60 s", va="center", fontsize=7)
    axes.set_yticks([len(rows) - at for at in range(len(rows))], [row["set"] for row in rows])
    axes.set_xscale("log")
    axes.set_xlim(0.001, 400)
    axes.set_xlabel("CPU seconds of the search, depth 3, all thresholds")
    axes.legend(loc="upper right", frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(folder / "performance.svg", metadata={"Date": None})


def sizes(folder: Path) -> None:
    """The table of benchmarks/results/sizes.csv, one panel for each depth: the CPU seconds of a proof, or how near the
    bound came to the tree."""
    import csv

    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    with open(ROOT / "benchmarks" / "results" / "sizes.csv", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    depths, rows, columns = (sorted({int(line[name]) for line in lines}) for name in ("depth", "rows", "columns"))
    figure = Figure(figsize=(9, 3.2), layout="constrained")
    for axes, depth in zip(figure.subplots(1, len(depths), sharey=True), depths):
        for line in (line for line in lines if int(line["depth"]) == depth):
            x, y = rows.index(int(line["rows"])), columns.index(int(line["columns"]))
            reached = float(line["bound"]) / max(1.0, float(line["objective"]))
            proved = line["end"] == "optimal"
            text = f"{float(line['cpu']):.1f} s" if proved else f"{100 * reached:.0f} %"
            shade = "#1f6f8b" if proved else (1 - 0.55 * reached, 1 - 0.3 * reached, 1 - 0.25 * reached)
            axes.add_patch(Rectangle((x - 0.48, y - 0.46), 0.96, 0.92, color=shade))
            axes.text(x, y, text, ha="center", va="center", fontsize=9, color="white" if proved else "black")
        axes.set_xlim(-0.5, len(rows) - 0.5)
        axes.set_ylim(-0.5, len(columns) - 0.5)
        axes.set_xticks(range(len(rows)), [f"{number:,}" for number in rows])
        axes.set_yticks(range(len(columns)), [f"{number:,} columns" for number in columns])
        axes.set_xlabel("rows")
        axes.set_title(f"depth {depth}", fontsize=10)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    figure.savefig(folder / "sizes.svg", metadata={"Date": None})


PICTURES = {
    performance: ("performance.svg",),
    sizes: ("sizes.svg",),
    tree: ("breast-cancer.svg",),
    tutorials: ("tumours.svg", "monks-3.svg", "careful.png"),
    page: ("report.png", "report-phone.png"),
    frontier: ("frontier.svg",),
    regions: ("regions.png",),
    profile: ("profile.svg",),
    progress: ("progress.svg",),
}


if __name__ == "__main__":
    for draw, files in PICTURES.items():
        if sys.argv[1:] and draw.__name__ not in sys.argv[1:]:
            continue
        with tempfile.TemporaryDirectory() as made:
            draw(Path(made))
            for file in files:
                shutil.copy(Path(made) / file, HERE / file)
                print(file, f"{(HERE / file).stat().st_size:,} bytes")
