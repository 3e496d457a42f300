"""The page of a run, opened in a real browser; its facts, its commands, and the words of `odtc explain`."""

import html
import json
import re
import shlex

import numpy as np
import pytest

from odtc.data.dataset import Feature
from odtc.data.splits import Missing, Oblique, Subset, Term, Threshold
from odtc.data.task import TASKS
from odtc.errors import DataError, TreeError
from odtc.evaluation.html_report import commands, open_run, progress_plot, render_page, training_score
from odtc.trees.explanation import explain
from odtc.trees.tree import Branch, Leaf, Tree
from tests.command_line import MONKS, odtc

HOSTILE = Tree(
    Branch(
        Threshold(0, 2.5),
        Branch(Subset(1, (0.0,)), Leaf(0, (4.0, 1.0), (4, 1)), Leaf(1, (0.0, 3.0), (0, 3))),
        Branch(
            Oblique((Term(0, 0.5), Term(1, -1.0, 1.0)), 2.0),
            Branch(Missing(1), Leaf(1, (1.0, 0.0), (1, 0)), Leaf(0, (2.0, 0.0), (2, 0))),
            Leaf(1, (0.0, 0.0), (0, 0)),
        ),
    ),
    (
        Feature('<script>alert("x")</script>', "numeric"),
        Feature("{{ 7 * 7 }} \u2028 'q'", "categorical", ("</script><b>", 'say "no"')),
    ),
    ("<i>yes</i>", "it's & no"),
    "<target>",
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    said = odtc(
        "fit",
        MONKS / "monks-1.csv",
        "--model",
        "flowoct",
        "--depth",
        "2",
        "--encoding",
        "onehot",
        "-p",
        "lambda=0.01",
        "-o",
        "m",
        "--json",
        folder=folder,
    )
    assert said.code == 0, said.err
    said = odtc("report", "m", "--test", MONKS / "monks-1_test.csv", folder=folder)
    assert (said.code, said.err) == (0, "")
    return folder


def test_the_page_tests_the_tree_on_the_rows_that_the_run_set_aside(tmp_path):
    numbers = "x,z,y\n" + "".join(f"{i * 7 % 13},{i * 5 % 11},{(i * 7 % 13) ** 2 + i % 3}\n" for i in range(60))
    (tmp_path / "t.csv").write_text(numbers)
    said = odtc("fit", MONKS / "monks-1.csv", "--depth", 2, "--hold-out", 0.25, "-o", "m", "--json", folder=tmp_path)
    right = f"{round(31 * said.facts['test_accuracy'])} of 31 correct; 95 % interval"
    words = ("--task", "regression", "--depth", 1, "--hold-out", 0.25, "-o", "r", "--json")
    metrics = odtc("fit", "t.csv", *words, folder=tmp_path).facts["metrics"]
    assert odtc("report", "m", folder=tmp_path).code == odtc("report", "r", folder=tmp_path).code == 0
    page = html.unescape((tmp_path / "m.html").read_text("utf-8"))
    assert right in page and "test (rows set aside) accuracy" in page and "not an estimate for new rows" not in page
    page = html.unescape((tmp_path / "r.html").read_text("utf-8"))
    assert all(line in page for line in TASKS.get("regression").figure_lines(metrics["test"]))


def test_the_page_opens_folds_and_explains_in_a_browser(run, browser):
    shown = browser.open((run / "m.html").as_uri())
    nodes = "document.querySelectorAll('[role=treeitem]').length"
    assert shown.evaluate(nodes) == 7
    shown.evaluate("document.getElementById('n0').focus()")
    shown.key("ArrowDown")
    assert shown.evaluate("document.activeElement.id") == "n1"
    shown.key("Enter")
    assert (
        shown.evaluate(nodes) == 5
        and shown.evaluate("document.getElementById('n1').getAttribute('aria-expanded')") == "false"
    )
    assert "If a2 = 1" in shown.evaluate("document.getElementById('node').textContent")
    shown.key("Enter")
    shown.key("ArrowRight")
    assert shown.evaluate(nodes) == 7 and shown.evaluate("document.activeElement.id") == "n4"
    shown.click("#n4")
    assert shown.evaluate(nodes) == 5, "a click on the chosen node folds it"
    shown.click("[data-act=open]")
    shown.click("#n2")
    assert shown.evaluate("document.querySelector('#node h3').textContent") == "Predicts 1"
    shown.evaluate(
        "for (const [k, v] of [[0, 1], [1, 1], [2, 3]]) { const f = document.querySelectorAll('#row input')[k]; "
        "f.value = v; f.dispatchEvent(new Event('input', {bubbles: true})); }"
    )
    assert shown.evaluate("document.querySelector('#path strong').textContent") == "Predicts 1"
    assert shown.evaluate("[...document.querySelectorAll('.node.on')].map(e => e.id).join()") == "n0,n1,n2"
    before = shown.evaluate("document.getElementById('scene').getAttribute('transform')")
    x, y = shown.evaluate(
        "(() => { const b = document.getElementById('drawing').getBoundingClientRect(); return [b.x + 5, b.y + "
        "b.height - 5]; })()"
    )
    for kind, moved in (("mousePressed", 0), ("mouseMoved", 40), ("mouseReleased", 40)):
        shown.mouse(kind, x + moved, y)
    assert shown.evaluate("document.getElementById('scene').getAttribute('transform')") != before
    assert shown.complaints() == []


@pytest.mark.parametrize("dark", [False, True])
def test_the_page_can_be_read_on_a_phone_by_day_and_night(run, browser, dark):
    shown = browser.open((run / "m.html").as_uri(), width=390, height=800, dark=dark)
    assert shown.evaluate("document.documentElement.scrollWidth") <= 390
    red = shown.evaluate("+getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0]")
    assert (red < 60) == dark
    small = shown.evaluate(
        "[...document.querySelectorAll('button')].filter(e => e.getBoundingClientRect().height < 36).length"
    )
    assert small == 0 and shown.complaints() == []


def test_what_cannot_be_read_at_once_is_folded_at_first_and_opens_in_its_place(browser, tmp_path):
    root = Leaf(0, (1.0, 1.0), (1, 1))
    for depth in range(6):
        root = Branch(Threshold(0, float(depth)), root, root)
    (tmp_path / "w.tree.json").write_text(
        json.dumps(Tree(root, (Feature("x", "numeric"),), ("a", "b")).to_json()), encoding="utf-8"
    )
    (tmp_path / "w.html").write_text(render_page(open_run(tmp_path / "w.tree.json")), encoding="utf-8")
    for width in (390, 1200):
        shown = browser.open((tmp_path / "w.html").as_uri(), width=width)
        boxes = "[...document.querySelectorAll('[role=treeitem]')].map(e => e.getBoundingClientRect())"
        assert shown.evaluate(f"{boxes}.every(b => b.left >= 0 && b.right <= innerWidth && b.width >= 110)")
        folded = shown.evaluate("document.querySelector('[aria-expanded=false]').id")
        left, many = (
            f"document.getElementById('{folded}').getBoundingClientRect().left",
            "document.querySelectorAll('[role=treeitem]').length",
        )
        before = shown.evaluate(left), shown.evaluate(many)
        shown.click(f"#{folded}")
        shown.click(f"#{folded}")
        assert shown.evaluate(left) == pytest.approx(before[0], abs=1) and shown.evaluate(many) == before[1] + 2
        shown.click("[data-act=open]")
        assert shown.evaluate(many) == 127 and shown.complaints() == []


def test_long_words_stay_in_their_box_with_their_number_and_many_classes_have_many_colours(browser, tmp_path):
    classes = tuple(f"class W{'W' * (2 * k)} {k}" for k in range(12))
    counts = (tuple(float(k == j or j == 0) for k in range(12)) for j in range(12))
    leaves = [Leaf(k, held, tuple(map(int, held))) for k, held in enumerate(counts)]
    root = leaves[0]
    for k in range(1, 12):
        root = Branch(Threshold(k % 2, round(-1.2345678 - k, 7)), leaves[k], root)
    tree = Tree(
        root,
        (Feature("intercolumnar_distance_of_WIDE_MARGINS", "numeric"), Feature("長い名前" * 9, "numeric")),
        classes,
    )
    (tmp_path / "w.tree.json").write_text(json.dumps(tree.to_json()), encoding="utf-8")
    (tmp_path / "w.html").write_text(render_page(open_run(tmp_path / "w.tree.json")), encoding="utf-8")
    shown = browser.open((tmp_path / "w.html").as_uri())
    shown.click("[data-act=open]")
    said = shown.evaluate(
        "[...document.querySelectorAll('.node')].map(n => [n.querySelector('text').textContent, "
        "n.querySelector('text').getBBox().width, n.querySelector('.box').getBBox().width])"
    )
    assert len(said) == 23 and all(wide <= box for _, wide, box in said), [
        words for words, wide, box in said if wide > box
    ]
    asked = [words for words, *_ in said if "≤" in words]
    assert len(asked) == 11 and all(re.search(r"^.+….* ≤ -\d+\.2345678$", words) for words in asked), asked
    assert (
        shown.evaluate("new Set([...document.querySelectorAll('#node .dot')].map(dot => dot.style.background)).size")
        == 12
    )


def test_names_are_text_on_the_page_and_the_row_goes_as_the_tree_sends_it(browser, tmp_path):
    (tmp_path / "h.tree.json").write_text(json.dumps(HOSTILE.to_json()), encoding="utf-8")
    (tmp_path / "h.html").write_text(render_page(open_run(tmp_path / "h.tree.json")), encoding="utf-8")
    shown = browser.open((tmp_path / "h.html").as_uri())
    assert shown.complaints() == [] and shown.evaluate("document.querySelectorAll('script').length") == 1
    assert shown.evaluate("document.querySelector('header strong').textContent") == "<target>"
    words = {np.nan: "missing", 0.0: "level0", 1.0: "level1", -1.0: "unseen"}
    for number in (2.5, 3.0, 4.0, 6.0, np.nan):
        for level, value in words.items():
            shown.evaluate(
                f"document.querySelector('#row input').value = {json.dumps('' if np.isnan(number) else str(number))}"
            )
            shown.evaluate(
                f"(() => {{ const f = document.querySelector('#row select'); f.value = '{value}'; "
                f"f.dispatchEvent(new Event('input', {{bubbles: true}})); }})()"
            )
            said = shown.evaluate("document.getElementById('path').textContent")
            try:
                assert said.startswith(f"Predicts {explain(HOSTILE, np.array([number, level])).prediction}")
            except DataError:
                assert "The tree refuses this row" in said


def test_the_page_holds_what_the_run_says(run):
    text = (run / "m.html").read_text(encoding="utf-8")
    facts = json.loads(odtc("decode", "m.sol", "--json", "-o", "again.tree.json", folder=run).out)
    assert f"{facts['train_correct']} of 124 correct" in text and "proof</span><strong>optimal" in text
    assert not re.search(r"(?:src|href)=[\"']?https?:", text)
    opened = open_run(run / "m")
    assert (
        training_score(opened.tree)["correct"]
        == facts["train_correct"]
        == sum(np.diagonal(training_score(opened.tree)["confusion"]))
    )
    again = odtc(
        *shlex.split(re.search(r"<code>odtc (fit .*?)</code>", text)[1])[:-2], "-o", "again", "--json", folder=run
    )
    assert again.code == 0, again.err
    assert again.facts["objective"] == pytest.approx(facts["objective"]) and again.facts["n_cols"] == facts["n_cols"]


def test_solvers_that_raced_stand_on_the_page(tmp_path):
    said = odtc(
        "fit",
        MONKS / "monks-1.csv",
        "--model",
        "dpflow",
        "--depth",
        "2",
        "--encoding",
        "onehot",
        "--solver",
        "highs,glpk",
        "-o",
        "r",
        "--json",
        folder=tmp_path,
    )
    if said.code == 1 and "not on this machine" in said.err:
        pytest.skip("glpk is not installed")
    assert said.code == 0, said.err
    text = render_page(open_run(tmp_path / "r"))
    for racer in said.facts["race"]:
        assert re.search(rf'<tr><th scope="row"[^>]*>{racer["name"]}</th>', text)
    assert "ran side by side" in text


@pytest.mark.parametrize(
    "words",
    [
        # By a model: a tree of dpflow's own search under constraints has no solution file, so no command on its page.
        ("--model", "flowoct", "--depth", "1", "--class-weight", "0=2", "--constraint", "leaf_rows >= 4")
        + ("--missing", "separate"),
        ("--solver", "highs", "--select", "balanced"),
        ("--solver", "highs", "--auxiliary", "a6", "--categorical", "a1,a2", "--weights", "a4"),
        # So many seconds that the search ends by its restarts: what it finds then does not hang on the machine's speed.
        ("--solver", "highs", "--encoding", "oblique:pool=5,seconds=600"),
    ],
)
def test_the_command_on_the_page_makes_the_run_again(tmp_path, words):
    first = odtc(
        "fit",
        MONKS / "monks-1.csv",
        "--model",
        "dpflow",
        "--depth",
        "2",
        *words,
        "-o",
        "one",
        "--json",
        folder=tmp_path,
    )
    assert first.code == 0, first.err
    assert odtc("report", "one", folder=tmp_path).code == 0
    line = html.unescape(
        re.search(r"<code>odtc (fit .*?)</code>", (tmp_path / "one.html").read_text(encoding="utf-8"))[1]
    )
    again = odtc(*shlex.split(line)[:-2], "-o", "two", "--json", folder=tmp_path)
    assert again.code == 0, again.err
    same = ("objective", "bound", "n_rows", "n_cols", "n_model_rows", "cost", "constraints", "encoding", "n_features")
    assert {key: again.facts[key] for key in same} == {key: first.facts[key] for key in same}


def test_the_command_has_the_solver_and_the_start_of_the_record_not_of_words_for_people(tmp_path):
    seed = str(2**31 - 1)
    words = ("--model", "flowoct", "--depth", "1", "--seed", seed, "--time-limit", "1234567", "--start", "none")
    assert odtc("fit", MONKS / "monks-1.csv", *words, "-o", "m", folder=tmp_path).code == 0
    record = tmp_path / "m.run.json"
    facts = json.loads(record.read_text())
    assert facts["options"]["solver"] == "highs" and facts["options"]["start"] == "none"
    for solver, named in (("highs-cli", ["--solver", "highs-cli"]), ("highs,glpk", ["--solver", "highs,glpk"])):
        changed = facts | {"solver": "Any Name 1.0", "options": facts["options"] | {"solver": solver}}
        record.write_text(json.dumps(changed))
        line = shlex.split(commands(open_run(tmp_path / "m"))[0])
        at = line.index("--solver")
        assert line[at : at + 2] == named and line[line.index("--seed") + 1] == seed
        assert line[line.index("--time-limit") + 1] == "1234567" and line[line.index("--start") + 1] == "none"
    record.unlink()  # then it is made again by the usual solver from the usual start
    line = shlex.split(commands(open_run(tmp_path / "m"))[0])
    assert "--solver" not in line and "--start" not in line
    assert odtc(*line[1:], "--json", folder=tmp_path).facts["verified"]


def test_a_report_without_a_run_is_a_sentence(tmp_path):
    with pytest.raises(TreeError, match="give the STEM"):
        open_run(tmp_path / "nothing")
    said = odtc("report", "nothing", folder=tmp_path)
    assert said.code == 1 and "found no run 'nothing'" in said.err and not list(tmp_path.iterdir())
    rows = odtc("report", MONKS / "monks-1.csv", folder=tmp_path)
    assert rows.code == 1 and rows.err.endswith("name a file of rows with --data\n")


def test_the_plot_is_steps_between_known_values():
    assert progress_plot(()) is None and progress_plot(((0.1, 3.0, None),)) is None
    plot = progress_plot(((0.0, 4.0, -100.0), (1.0, 2.0, 1.0), (2.0, 2.0, 2.0)))
    bound = [tuple(map(float, corner.split(","))) for corner in plot["bound"].split()]
    assert bound[0][1] == max(y for _, y in bound) and [x for x, _ in bound] == sorted(x for x, _ in bound)
    assert len(plot["rows"]) == 3


def test_explain_says_the_path_of_a_row(run):
    said = odtc("explain", "m.tree.json", MONKS / "monks-1_test.csv", "--row", "3", folder=run)
    assert said.code == 0 and re.match(r"row 3: \S+ \(its label is \d\)\n  \S+ . \S+, since \S+ is \d; here ", said.out)
    facts = odtc(
        "explain", "m.tree.json", MONKS / "monks-1_test.csv", "--row", "1", "--row", "2", "--json", folder=run
    ).facts
    assert [entry["row"] for entry in facts["rows"]] == [1, 2] and all(entry["path"] for entry in facts["rows"])
    wrong = odtc("explain", "m.tree.json", MONKS / "monks-1_test.csv", "--row", "0", folder=run)
    assert wrong.code == 2 and "expected a number from 1 to 432" in wrong.err


def test_the_path_has_the_cells_the_answers_and_the_rows_left():
    path = explain(HOSTILE, np.array([3.0, 0.0]))
    assert [step.answer for step in path.steps] == [
        HOSTILE.root.split.words(HOSTILE.features)[1],
        HOSTILE.root.right.split.words(HOSTILE.features)[0],
        Missing(1).words(HOSTILE.features)[1],
    ]
    assert path.steps[1].cells == ((HOSTILE.features[0].name, "3"), (HOSTILE.features[1].name, "</script><b>"))
    assert path.prediction == "<i>yes</i>" and path.leaf.rows == (2, 0)
    with pytest.raises(DataError):
        explain(HOSTILE, np.array([np.nan, 0.0]))


def test_each_file_of_a_run_stands_for_its_run(tmp_path):
    words = ("fit", MONKS / "monks-1.csv", "--depth", "1", "--within", "1", "-o", "m")
    assert odtc(*words, folder=tmp_path).code == 0
    assert odtc("report", "m", folder=tmp_path).code == 0
    page = (tmp_path / "m.html").read_bytes()
    files = sorted(path.name for path in tmp_path.glob("*.json"))
    assert files == ["m.near-optimal.json", "m.run.json", "m.tree.json"]
    for name in files:
        said = odtc("report", name, folder=tmp_path)
        assert said.code == 0 and (tmp_path / "m.html").read_bytes() == page, (name, said.err)
