"""`odtc bench models`: its cells and keys, the cells that a rerun skips, pairs with a peer, and bad input."""

import contextlib
import csv
import json
import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from odtc.errors import ChoiceError, DataError
from odtc.evaluation import benchmark
from odtc.evaluation.benchmark_formats import draw_profiles, profiles, to_latex
from odtc.evaluation.benchmark_table import markdown, optima_agree, pair_results
from odtc.evaluation.plots import save
from odtc.fileformats.model_files import write_model
from odtc.testing.exhaustive import cheapest
from odtc.workflow.specification import ReadingSpec
from tests import pipeline
from tests.command_line import MONKS, environment, odtc, refused

COMMON = benchmark.Settings().spec
QUICK = benchmark.Settings(COMMON.with_solving(time_limit=30))

FIGURES = benchmark.UNMEASURED | {"data": "few", "peer": False, "n_rows": 30, "termination": "optimal"}


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> Path:
    """A folder with 30 rows of a data set, and a model of it that is called a peer's."""
    folder = tmp_path_factory.mktemp("bench")
    pl.read_csv(MONKS / "monks-2.csv", infer_schema=False).head(30).write_csv(folder / "few.csv")
    write_model(
        pipeline.build(folder / "few.csv", "flowoct", 1, encoding="onehot", params={"literal": True}),
        folder / "peer_few_d1.lp.gz",
        "lp",
    )
    return folder


@pytest.fixture(scope="module")
def measured(small) -> tuple[list[dict], Path]:
    """All forms at depth 1, and the peer."""
    path = small / "all.jsonl"
    forms = [
        benchmark.Form.parse(text)
        for text in ("flowoct", "flowoct:literal=true", "bendersoct", "bendersoct:fit", "oct", "binoct")
    ]
    data = [small / "few.csv"]
    cells = benchmark.list_cells(data, [1], forms, benchmark.find_peers(str(small / "peer_*.lp.gz"), data))
    return benchmark.run(cells, QUICK, path), path


def test_a_printed_model_counts_each_row(small):
    forms = [benchmark.Form.parse(text) for text in ("flowoct", "flowoct:literal=true", "flowoct:merge=false")]
    twice = small / "twice.csv"
    head, *rows = (small / "few.csv").read_text().splitlines()
    twice.write_text("\n".join([head, *rows, *rows]) + "\n")
    cells = benchmark.list_cells([twice], [1], forms, {})
    merged, *printed = [benchmark.measure(cell, QUICK)["n_rows_merged"] for cell in cells]
    assert printed == [60, 60] and merged == len(set(rows))


@pytest.mark.slow
def test_every_form_has_the_optimum_of_an_exhaustive_search(measured, small):
    results, path = measured
    encoded = pipeline.build(small / "few.csv", "flowoct", 1, encoding="onehot").problem.encoded
    best = cheapest(encoded.X, encoded.y, encoded.weight, 1)
    assert len(results) == 7
    for result in results:
        assert result["termination"] == "optimal" and result["gap"] == 0, result
        assert result["objective"] == pytest.approx(best, abs=1e-9)
        assert result["lp_bound"] <= best + 1e-6
        assert result["cpu_seconds"] > 0 and result["verified"] is (None if result["peer"] else True)
    assert unsealed(path) == results == benchmark.read_results(path)


def test_the_sizes_are_those_of_the_written_model(measured, small):
    for result in measured[0]:
        if result["peer"] or result["formulation"].endswith(":fit"):
            continue
        form = benchmark.Form.parse(result["formulation"])
        model = pipeline.build(small / "few.csv", form.model, 1, encoding="onehot", params=dict(form.params))
        assert (result["columns"], result["rows"], result["nonzeros"]) == (model.n_cols, model.n_rows, model.A.nnz)


def test_a_pair_is_the_same_data_and_depth(measured):
    pairs = pair_results(measured[0])
    assert [result["formulation"] for result, _ in pairs] == [
        result["formulation"] for result in measured[0] if not result["peer"]
    ]
    assert all(peer["formulation"] == "peer peer_few_d1.lp.gz" and optima_agree(result, peer) for result, peer in pairs)
    other = [result | {"key": result["key"] | {"data": "another"}} for result in measured[0] if result["peer"]]
    assert not pair_results([r for r in measured[0] if not r["peer"]] + other)


def test_a_rerun_solves_nothing_and_says_the_same(measured, small, monkeypatch):
    results, path = measured
    before = path.read_bytes()
    monkeypatch.setattr(benchmark, "measure", lambda *_: pytest.fail("measured again"))
    forms = [benchmark.Form.parse("oct"), benchmark.Form.parse("flowoct")]
    again = benchmark.run(benchmark.list_cells([small / "few.csv"], [1], forms, {}), QUICK, path)
    assert again == [results[5], results[0]] and path.read_bytes() == before


@pytest.mark.parametrize(
    "other",
    [
        {"spec": COMMON.with_solving(time_limit=31)},
        {"spec": QUICK.spec.with_solving(seed=1)},
        {"spec": QUICK.spec.with_model(start="none")},
        {"spec": QUICK.spec.with_model(encoding="thresholds")},
        {"lp_limit": 1.0},
        {"spec": QUICK.spec.with_solving(solver="highs-cli")},
        {"spec": replace(QUICK.spec, reading=ReadingSpec(target="a1"))},
        {"spec": QUICK.spec.with_model(constraints=("leaf_rows >= 2",))},
    ],
)
def test_whatever_a_figure_depends_on_is_in_the_key(small, other):
    cell = benchmark.Cell(small / "few.csv", 1, benchmark.Form("flowoct"))
    try:
        assert benchmark.key(cell, QUICK) != benchmark.key(cell, replace(QUICK, **other))
    except benchmark.OdtcError:
        pytest.skip("the program of HiGHS is not here")


def test_the_key_knows_the_bytes_of_the_data(small, tmp_path):
    copy = tmp_path / "few.csv"
    copy.write_bytes((small / "few.csv").read_bytes())
    same = benchmark.key(benchmark.Cell(copy, 1, benchmark.Form("oct")), QUICK)
    assert same == benchmark.key(benchmark.Cell(small / "few.csv", 1, benchmark.Form("oct")), QUICK)
    copy.write_bytes(copy.read_bytes() + copy.read_bytes().splitlines(keepends=True)[-1])
    assert benchmark.key(benchmark.Cell(copy, 1, benchmark.Form("oct")), QUICK) != same


def test_data_that_were_changed_are_told_apart_in_the_table(measured):
    """Rows of both stood under one name."""
    (one, *_), _ = measured
    changed = one | {"key": one["key"] | {"data": "0123456789abcdef"}, "objective": 99.0}
    lines = [line for line in markdown([one, changed]).splitlines() if line.startswith("| few")]
    assert {line.split(" | ")[0] for line in lines} == {f"| few {one['key']['data'][:8]}", "| few 01234567"}
    assert [line.startswith("| few |") for line in markdown([one, one]).splitlines()].count(True) == 1


def with_key(result, **key):
    return result | {"key": result["key"] | key}


def test_settings_in_which_cells_differ_are_in_tables_and_separate_problems_in_profiles():
    cells = [with_key(cell(form, "a", cpu), encoding="onehot") for form, cpu in (("f", 1.0), ("g", 2.0))]
    cells += [with_key(one | {"cpu_seconds": 4.0}, encoding="auto") for one in cells]
    assert profiles(cells)["g"].tolist() == [1, 2]
    assert "| a (encoding onehot) | 2 | f |" in markdown(cells) and "| a | 2 | f |" in markdown(cells[:2])
    assert "a (encoding auto) & 2 & f" in to_latex(cells) and to_latex(cells).count("textbf") == 3
    other = [*cells[:2], with_key(cells[0], time_limit=5), with_key(cells[0], reading={"missing": "separate"})]
    told = [line.split(" | ")[0] for line in markdown(other).splitlines() if line.startswith("| a")]
    assert sorted(told) == ["| a (5 s)", "| a (60 s)", "| a (60 s)", "| a (60 s) (missing separate)"]
    with_peer = [*cells, cell("peer p", "a", 8.0)]
    assert profiles(with_peer)["peer p"].tolist() == [2, 8] and len(pair_results(with_peer)) == 4


def test_starts_are_compared_as_formulations():
    cells = [with_key(cell("f", "a", 1.0), start="auto"), with_key(cell("f", "a", 3.0), start="none")]
    assert profiles(cells) == {"f": [1], "f (start: none)": [3]}


def test_different_optima_of_one_problem_are_reported():
    cells = [cell("f", "a", 1.0), cell("g", "a", 1.0) | {"objective": 4.0}]
    assert "* a depth 2: the proved optima differ (f 10, g 4)" in markdown(cells)
    assert "optima differ" not in markdown([cells[0], cells[1] | {"termination": "time_limit"}])


def test_remarks_on_the_data_are_printed_before_the_cells(tmp_path):
    """29 of 90 rows were left out, and a column of numbers was read as text, without a word."""
    (tmp_path / "gaps.csv").write_text("a;y\n1,5;0\n;1\n2,5;1\n3,5;0\n")
    said = []
    cells = [benchmark.Cell(tmp_path / "gaps.csv", 1, benchmark.Form("oct"))]
    benchmark.run(cells, QUICK, tmp_path / "r.jsonl", said.append)
    assert said[0].startswith("gaps: dropped 1 row of 4") and "decimal" in said[1]


def test_a_line_that_was_cut_off_is_measured_again(measured, small, tmp_path):
    results, path = measured
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(path.read_bytes()[:-30])
    assert benchmark.read_results(cut) == results[:-1]
    cell = benchmark.Cell(small / "few.csv", 1, benchmark.Form("binoct"))
    benchmark.run([cell], QUICK, cut)
    lines = unsealed(cut)
    assert lines[:-1] == results[:-1] and lines[-1]["key"] == results[-1]["key"]


def test_a_cell_that_was_changed_in_the_file_is_not_taken(measured, small, tmp_path, monkeypatch):
    """Another objective in a line stood in the table of the next run; a line without a seal is measured again."""
    results, path = measured
    cells = [benchmark.Cell(small / "few.csv", 1, benchmark.Form("flowoct"))]
    changed = tmp_path / "changed.jsonl"
    whole = path.read_text().splitlines(keepends=True)
    first = json.loads(whole[0])
    changed.write_text(json.dumps(first | {"objective": first["objective"] - 1}) + "\n" + "".join(whole[1:]))
    for reading in (lambda: benchmark.run(cells, QUICK, changed), lambda: benchmark.expect_results(changed)):
        with pytest.raises(DataError, match=r"line 1 of .* as it was written, but its seal does not fit"):
            reading()
    first.pop("seal")
    changed.write_text(json.dumps(first) + "\n")
    assert benchmark.read_results(changed) == results[:1]
    monkeypatch.setattr(benchmark, "measure", lambda *_: results[0] | {"message": "again"})
    assert [one["message"] for one in benchmark.run(cells, QUICK, changed)] == ["again"]


def unsealed(path) -> list[dict]:
    """The lines of a results file without their seals."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [{key: value for key, value in line.items() if key != "seal"} for line in lines]


def test_the_order_is_depth_then_first_form_then_peers_then_the_rest():
    data, peer = [Path("a.csv"), Path("b.csv")], {(Path("b.csv"), 2): [Path("x_b_d2.lp")]}
    cells = benchmark.list_cells(data, [2, 3], [benchmark.Form("flowoct"), benchmark.Form("oct")], peer)
    assert [(c.depth, c.what, c.data.stem) for c in cells] == [
        (2, "flowoct", "a"),
        (2, "flowoct", "b"),
        (2, "peer x_b_d2.lp", "b"),
        (2, "oct", "a"),
        (2, "oct", "b"),
        (3, "flowoct", "a"),
        (3, "flowoct", "b"),
        (3, "oct", "a"),
        (3, "oct", "b"),
    ]


def test_peers_are_found_by_their_names(tmp_path):
    for name in ("odtlearn_flow_monk1_d2.lp.gz", "flow_monks-1_d3.mps", "x_other_d2.lp", "x_not-monks-1_d2.lp"):
        (tmp_path / name).touch()
    data = Path("data/monks-1.csv.gz")
    found = benchmark.find_peers(str(tmp_path / "*"), [data])
    assert {place: [f.name for f in files] for place, files in found.items()} == {
        (data, 2): ["odtlearn_flow_monk1_d2.lp.gz"],
        (data, 3): ["flow_monks-1_d3.mps"],
    }


def test_refusals_are_results(small, tmp_path):
    [result] = benchmark.run(
        [benchmark.Cell(small / "few.csv", 2, benchmark.Form.parse("oct:n_min=31"))], QUICK, tmp_path / "r.jsonl"
    )
    assert (
        result["termination"] == "refused" and "at most the 30 rows" in result["message"] and result["nonzeros"] is None
    )
    assert result["message"] in markdown([result])


@pytest.mark.slow
def test_constraints_hold_for_every_form(small, tmp_path):
    """The optimum is that of trees that keep it; a form that cannot say it is refused; a row says what was kept."""
    settings = replace(QUICK, spec=QUICK.spec.with_model(constraints=("leaf_rows >= 12",)))
    forms = [benchmark.Form.parse(text) for text in ("flowoct", "oct", "bendersoct")]
    results = benchmark.run(benchmark.list_cells([small / "few.csv"], [1], forms, {}), settings, tmp_path / "r.jsonl")
    encoded = pipeline.build(small / "few.csv", "flowoct", 1, encoding="onehot").problem.encoded
    best = cheapest(encoded.X, encoded.y, encoded.weight, 1, copies=encoded.copies, least=12)
    assert [result["termination"] for result in results] == ["optimal", "optimal", "refused"]
    assert results[0]["objective"] == results[1]["objective"] == pytest.approx(best) and results[0]["verified"]
    assert "needs a model that says" in results[2]["message"] and "few (leaf_rows >= 12)" in markdown(results)


def cell(form, data, cpu, termination="optimal", nonzeros=100):
    key = {
        "data": data,
        "reading": {},
        "depth": 2,
        "formulation": form,
        "solver": "S 1",
        "time_limit": 60,
        "lp_limit": 20,
        "threads": 1,
        "gap": 0,
        "odtc": "0",
    }
    return {
        "key": key,
        "data": data,
        "depth": 2,
        "formulation": form,
        "peer": form == "peer p",
        "n_rows": 50,
        "columns": 1,
        "rows": 1,
        "nonzeros": nonzeros,
        "build_seconds": 0.1,
        "lp_bound": 1.0,
        "lp_termination": "optimal",
        "termination": termination,
        "objective": -40.0 if form == "peer p" else 10.0,
        "bound": 0.0,
        "gap": 0.0,
        "nodes": 1,
        "seconds": cpu,
        "cpu_seconds": cpu,
        "verified": True,
        "message": "",
    }


def test_geometric_means_are_over_the_pairs_that_both_solve():
    results = [
        cell("f", "a", 1.0, nonzeros=50),
        cell("f", "b", 2.0),
        cell("f", "c", 3.0),
        cell("peer p", "a", 2.0),
        cell("peer p", "b", 16.0, nonzeros=200),
        cell("peer p", "c", 60.0, "time_limit", 800),
    ]
    row = next(line for line in markdown(results).splitlines() if line.startswith("| f | 2 |"))
    cells = [text.strip() for text in row.strip("|").split("|")]
    assert cells == ["f", "2", "3", "3", "3", "3", "2", "2", f"{(2 * 2 * 8) ** (1 / 3):.2f}", f"{math.sqrt(2 * 8):.2f}"]
    assert "time_limit (had" not in markdown(results)
    assert "time_limit (had 25 % of a core)" in markdown(
        [*results, cell("f", "d", 60.0, "time_limit") | {"cpu_seconds": 15.0}]
    )
    results[3]["objective"] = -41.0
    assert "OPTIMA DIFFER" in markdown(results)


def test_a_profile_counts_the_problems_within_a_factor_of_the_quickest():
    results = [
        *(cell("f", data, cpu) for data, cpu in (("a", 1.0), ("b", 6.0), ("c", 2.0))),
        *(cell("g", data, cpu) for data, cpu in (("a", 4.0), ("b", 2.0), ("other", 1.0))),
        cell("g", "c", 60.0, "time_limit"),
    ]
    found = profiles(results)
    assert found["f"].tolist() == [1, 1, 3] and found["g"].tolist() == [1, 4, math.inf]
    unknown = results[-1] | {"termination": "optimal", "cpu_seconds": None, "seconds": None}
    assert profiles([*results[:-1], unknown])["g"].tolist() == [1, 4, math.inf]
    nodes = [result | {"nodes": many} for result, many in zip(results, (0, 4, None, 8, 2, 1, 9))]
    found = profiles(nodes, "nodes")
    assert found["f"].tolist() == [1, 1, 2] and found["g"].tolist() == [1, 8, math.inf]
    pytest.importorskip("matplotlib")
    axes = []
    save(lambda ax: axes.append(ax) or draw_profiles(found, ax, "nodes"), "svg")
    told = [text.get_text() for text in axes[0].get_legend().get_texts()]
    assert told == ["f (proved 3 of 3)", "g (proved 2 of 3)"] and axes[0].get_xlabel() == "τ: nodes over the fewest"
    with pytest.raises(ChoiceError, match="two or more formulations"):
        profiles(results[:3])
    with pytest.raises(ChoiceError, match="that all of"):
        profiles([results[0], results[4]])


def test_columns_in_which_nothing_is_known_are_left_out():
    assert "proven optimal" not in markdown([cell("f", "a", 1.0), cell("g", "a", 2.0)])  # one data set needs no summary
    results = [cell("f", "a", 1.0) | {"nodes": None}, cell("g", "b", 2.0) | {"nodes": None}]
    heads = [line for line in markdown(results).splitlines() if line.startswith(("| data", "| form"))]
    assert not any("peer" in head or "nodes" in head.split(" | ") for head in heads) and len(heads) == 2
    assert "nodes" not in to_latex(results) and " -- " not in to_latex(results)
    with_peer = markdown([*results, cell("peer p", "a", 2.0)])
    assert "CPU peer/this" in with_peer and "pairs with a peer" in with_peer
    assert "nodes" in to_latex([results[0], cell("g", "a", 2.0) | {"nodes": 5}])


def test_the_quickest_proof_is_bold_in_latex_and_hostile_names_are_text():
    table = to_latex([cell("f_1", "a&b", 1.0), cell("g", "a&b", 2.0), cell("h", "a&b", 0.5, "time_limit")])
    rows = [line for line in table.splitlines() if line.startswith("a\\&b")]
    assert [line.split(" & ")[-1] for line in rows] == ["\\textbf{1} \\\\", "2 \\\\", "time limit \\\\"]
    assert "f\\_1" in rows[0] and table.count("\\begin") == table.count("\\end") == 1


def test_the_command_line_goes_on_where_it_was(small):
    words = (
        "bench",
        "models",
        "--data",
        "few.csv",
        "--depths",
        "1",
        "--formulations",
        "flowoct,binoct",
        "--time-limit",
        "30",
        "--results",
        "r.jsonl",
    )
    first = odtc(*words, folder=small)
    assert first.code == 0 and first.err.count("CPU s") == 2 and "| few | 1 | binoct |" in first.out
    second = odtc(*words, folder=small)
    assert second.code == 0 and "CPU s" not in second.err and second.out == first.out
    assert second.err.splitlines()[-1].startswith("wrote r.jsonl; ")
    assert odtc("bench", "table", "r.jsonl", folder=small).out == first.out
    assert (
        odtc("bench", "table", "r.jsonl", "-o", "t.md", folder=small).out == ""
        and (small / "t.md").read_text() == first.out
    )
    facts = odtc(*words, "--json", folder=small).facts
    assert [cell["formulation"] for cell in facts["cells"]] == ["flowoct", "binoct"] and facts["files"] == ["r.jsonl"]
    for name in ("t.csv", "t.tex", "t.parquet"):
        assert odtc("bench", "table", "r.jsonl", "-o", name, folder=small).err == f"wrote {name}\n"
    lines = list(csv.DictReader((small / "t.csv").read_text().splitlines()))
    assert [(line["formulation"], float(line["objective"])) for line in lines] == [
        (cell["formulation"], cell["objective"]) for cell in facts["cells"]
    ]
    tidy = pl.read_parquet(small / "t.parquet")
    assert tidy["objective"].to_list() == [cell["objective"] for cell in facts["cells"]]
    assert tidy.columns == list(lines[0]) and tidy["verified"].to_list() == [True, True]
    assert lines[0]["nonzeros"] == str(facts["cells"][0]["nonzeros"]) and lines[0]["verified"] == "True"
    assert "few & 1 & binoct" in (small / "t.tex").read_text()
    said = odtc(*words, "-o", "t.md", "--json", folder=small)
    assert said.facts["files"] == ["r.jsonl", "t.md"] and (small / "t.md").read_text() == first.out
    assert "t.xls" in refused(odtc("bench", "table", "r.jsonl", "-o", "t.xls", folder=small))
    assert "is not a file" in refused(odtc("bench", "table", folder=small))
    pytest.importorskip("matplotlib")
    words = ("plot", "profile", "r.jsonl", "-o", "p.svg")
    assert odtc(*words, "--size", "5x3", "--metric", "nodes", folder=small).out == "p.svg\n"
    drawn = (small / "p.svg").read_text()
    assert 'width="360pt" height="216pt"' in drawn
    for option, text in (("--size", "5"), ("--size", "0x3"), ("--metric", "cpus")):
        assert option in refused(odtc(*words, option, text, folder=small))


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_finished(tmp_path):
    # A shell's background job ignores SIGINT, and so would its children.
    hear = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from odtc.cli.app import main; main()"
    )
    words = [
        "bench",
        "models",
        "--data",
        str(MONKS / "monks-1.csv"),
        "--depths",
        "1,4",
        "--formulations",
        "flowoct:bottom=flow",
        "--results",
        "r.jsonl",
    ]
    with subprocess.Popen(
        [sys.executable, "-c", hear, *words],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        path, until = tmp_path / "r.jsonl", time.monotonic() + 60
        while not path.exists() and time.monotonic() < until:
            time.sleep(0.1)
        time.sleep(1)
        os.kill(process.pid, signal.SIGINT)
        out, said = process.communicate(timeout=60)
    assert (
        process.returncode == 130
        and "Traceback" not in said
        and "interrupted; the finished cells are in r.jsonl" in said
    )
    assert "monks-1" in out and out == odtc("bench", "table", "r.jsonl", folder=tmp_path).out
    assert [result["depth"] for result in benchmark.read_results(path)] == [1]


KILLED_AT = ["measure", "before the line", "within the line", "behind the line"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a process is killed that holds what the test has loaded")
@pytest.mark.parametrize("moment", KILLED_AT)
def test_a_kill_loses_no_finished_cell_and_repeats_none(small, tmp_path, monkeypatch, moment):
    """kill -9 while the second cell runs, or around the line that it becomes; then the study goes on."""
    path, log = tmp_path / "r.jsonl", tmp_path / "measured"
    cells = benchmark.list_cells([small / "few.csv"], [1, 2], [benchmark.Form("flowoct"), benchmark.Form("binoct")], {})
    append, armed = benchmark.append_result, []

    def die():
        os.kill(os.getpid(), signal.SIGKILL)

    def measure(cell, settings):
        if armed and moment == "measure" and log.exists():
            die()
        with log.open("a") as stream:
            stream.write(f"{cell.depth} {cell.form}\n")
        return {"depth": cell.depth, "formulation": cell.what, **FIGURES}

    def append_result(path, result):
        second = armed and path.exists()
        if second and moment == "within the line":
            with path.open("ab") as stream:
                stream.write(json.dumps(result).encode()[:40])
        if second and moment in ("before the line", "within the line"):
            die()
        append(path, result)
        if second and moment == "behind the line":
            die()

    for reading in ("_encoded", "_notes"):  # polars has threads, which a fork has not
        monkeypatch.setattr(benchmark, reading, lambda *_: ())
    monkeypatch.setattr(benchmark, "measure", measure)
    monkeypatch.setattr(benchmark, "append_result", append_result)
    if not (pid := os.fork()):
        armed.append(True)
        with contextlib.suppress(BaseException):
            benchmark.run(cells, QUICK, path)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    before = benchmark.read_results(path)
    assert len(before) == 1 + (moment == "behind the line")
    after = benchmark.run(cells, QUICK, path)
    assert [(result["depth"], result["formulation"]) for result in after] == [(cell.depth, cell.what) for cell in cells]
    assert benchmark.read_results(path)[: len(before)] == before and len(benchmark.read_results(path)) == len(cells)
    assert log.read_text().splitlines() == [f"{cell.depth} {cell.form}" for cell in cells]
    assert [file.name for file in tmp_path.iterdir() if file != log] == ["r.jsonl"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--data", "no.csv"), "--data: expected a data file, or the name of one in"),
        (("--formulations", "flowact"), "did you mean 'flowoct'"),
        (("--formulations", "cart"), "learns its tree without one"),
        (("--formulations", "flowoct:lamda=1"), "did you mean 'lambda'"),
        (("--formulations", "flowoct:fit"), "NAME:fit for a loop"),
        (
            ("--depths", "2,x"),
            "--depths (or --depth): expected whole numbers between commas, as in 1,2,3 or 1:3, got '2,x'",
        ),
        (("--depths", "0"), "expected a depth from 1"),
        (("--solver", "hihgs"), "did you mean 'highs'"),
        (("--start", "kart"), "did you mean 'cart'"),
        (("--encoding", "onehat"), "did you mean 'onehot'"),
        (("--time-limit", "-1"), "--time-limit: expected seconds above 0"),
        (("--peer-files", "nothing*.lp"), "--peer-files: expected model files, found none for 'nothing*.lp'"),
        (("--peer-files", "few.csv"), "--peer-files: expected names that end in DATA_dDEPTH.lp"),
        (("--results", "few.csv"), "one JSON object a line, in 'few.csv', but line 1 is not one"),
        (("--target", "nosuch"), "expected --target to name a column"),
        (("--constraint", "leafrows >= 2"), "did you mean 'leaf_rows'"),
        (("--constraint", "leaf_rows >= 2", "--peer-files", "peer_*.lp.gz"), "leave out one of the two"),
    ],
)
def test_bad_input_is_one_sentence(small, words, sentence):
    given = dict(zip(words[::2], words[1::2]))
    words = [
        text
        for pair in ({"--data": "few.csv", "--depths": "1", "--results": "none.jsonl"} | given).items()
        for text in pair
    ]
    assert sentence in refused(odtc("bench", "models", *words, folder=small))
    assert not (small / "none.jsonl").exists()


@pytest.mark.parametrize(
    "change",
    [
        {"verified": ["yes"]},
        {"objective": "5"},
        {"depth": None},
        {"key": {}},
        {"key": []},
        {"termination": None},
        {"nodes": {}},
        {"data": 7},
    ],
)
def test_a_line_of_another_shape_is_refused_in_a_sentence(change, measured, tmp_path):
    (one, *_), _ = measured
    (tmp_path / "r.jsonl").write_text(f"{json.dumps(one)}\n{json.dumps(one | change)}\n")
    for words in (("bench", "table", "r.jsonl"), ("bench", "table", "r.jsonl", "-o", "t.tex")):
        assert "line 2 is not one" in refused(odtc(*words, folder=tmp_path))


def test_no_data_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("ODTC_DATA", str(tmp_path))
    with pytest.raises(ChoiceError, match="found none of monks-1"):
        benchmark.find_data()
    with pytest.raises(DataError):
        (tmp_path / "x").write_text("{}\n{}\n")
        benchmark.read_results(tmp_path / "x")
    assert "which is not a file" in refused(odtc("bench", "table", "no.jsonl", folder=tmp_path))
