"""`odtc sweep`: every setting once, the same table after a kill, parts of a job array, and the best trees."""

import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time

import polars as pl
import pytest

from odtc.errors import ChoiceError
from odtc.evaluation.studies import sweep as sweep_study
from odtc.evaluation.studies.engine import Store
from tests.command_line import MONKS, command, environment, odtc, refused, started

GRID = ["--model", "dpflow,cart", "--depths", "1,2", "-p", "lambda=0,0.02", "--folds", "3", "--seeds", "0,1"]
TIMES = ["seconds", "cpu_seconds"]


def table(folder):
    return pl.read_parquet(folder / "results.parquet").drop(TIMES)


@pytest.fixture(scope="module")
def quiet(tmp_path_factory):
    """A study of two data sets that nothing disturbed."""
    path = tmp_path_factory.mktemp("sweep")
    said = odtc("sweep", MONKS / "monks-1.csv", MONKS / "monks-3.csv", *GRID, "--json", "-o", "s", folder=path)
    assert said.code == 0, said.err
    return path / "s", said.facts


def test_each_fit_is_a_row_of_the_table(quiet):
    folder, facts = quiet
    rows = table(folder)
    # dpflow has lambda, cart has not: 2 depths × 2 values and 2 depths, by 3 folds and 2 seeds and 2 files.
    assert rows.height == (4 + 2) * 3 * 2 * 2 == len(list((folder / "tasks").glob("*.json")))
    assert rows["key"].n_unique() == rows.height and rows["error"].null_count() == rows.height
    assert set(rows.filter(pl.col("model") == "cart")["params"]) == {""}
    assert (rows["n_train"] + rows["n_test"]).unique().to_list() == [122, 124] or rows["accuracy"].is_between(
        0, 1
    ).all()
    for path, one in facts["data"].items():
        name = os.path.basename(path)
        best = one["results"][one["best"]]
        mine = rows.filter(pl.col("data") == name).group_by("model", "depth", "params").agg(pl.col("accuracy").mean())
        assert best["score"] == pytest.approx(mine["accuracy"].max())
        assert (folder / "best" / name.replace(".csv", ".tree.json")).exists()
        assert (folder / name.replace(".csv", ".svg")).exists()


def test_a_setting_scores_as_in_tune(quiet, tmp_path):
    _, facts = quiet
    said = odtc(
        *("tune", MONKS / "monks-1.csv", "--model", "cart", "--depths", "2", "--folds", "3"),
        *("--seed", "1", "--json", "-o", tmp_path / "t"),
    )
    (tuned,) = said.facts["results"]
    (path,) = [path for path in facts["data"] if path.endswith("monks-1.csv")]
    (swept,) = [one for one in facts["data"][path]["results"] if one["name"] == "cart, depth 2"]
    wanted = [fold["accuracy"] for fold in tuned["folds"]]
    assert [fold["accuracy"] for fold in swept["folds"][3:]] == wanted  # the folds of the second seed
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.run.json", "t.tree.json", "t.tune.json"]


def test_depth_0_is_a_leaf_alone_as_in_tune(tmp_path):
    words = [MONKS / "monks-1.csv", "--model", "cart", "--depths", "0,1", "--folds", "2", "--json"]
    swept = odtc(
        "sweep", *words, "--seeds", "0", "--encoding", "auto", "--encoding", "auto:bins=2", "-o", "s", folder=tmp_path
    )
    assert swept.code == 0, swept.err
    rows = table(tmp_path / "s")
    assert rows["depth"].to_list() == [0, 0] + [1] * 4 and rows["error"].null_count() == 6
    (found,) = swept.facts["data"].values()
    leaf, stump = found["results"][:2]
    assert leaf["name"] == "depth 0, a single leaf" and leaf["n_leaves"] == 1
    tuned = odtc("tune", *words, "-o", "t", folder=tmp_path)
    told = {one["name"]: one["score"] for one in tuned.facts["results"]}
    assert leaf["score"] == told["depth 0, a single leaf"] and stump["score"] == told["cart, depth 1"]


def test_the_same_command_and_the_folder_alone_do_nothing_again(quiet, tmp_path):
    folder, facts = quiet
    copy = tmp_path / "s"
    shutil.copytree(folder, copy)
    before = {path.name: path.stat().st_mtime_ns for path in (copy / "tasks").iterdir()}
    for words in ([MONKS / "monks-1.csv", MONKS / "monks-3.csv", *GRID], []):
        said = odtc("sweep", *words, "-o", copy)
        assert said.code == 0 and "72 of 72 fits were finished before" in said.err
        assert {path.name: path.stat().st_mtime_ns for path in (copy / "tasks").iterdir()} == before
        assert table(copy).equals(table(folder))
    said = odtc("sweep", MONKS / "monks-1.csv", *GRID, "--encoding", "auto", "--encoding", "onehot", "-o", copy)
    assert said.code == 0 and "36 of 72 fits were finished before" in said.err
    assert set(table(copy)["encoding"]) == {"auto", "onehot"}


def test_a_study_of_another_version_is_run_again_and_that_is_said(quiet, tmp_path, monkeypatch):
    copy = tmp_path / "s"
    shutil.copytree(quiet[0], copy)
    for module in ("sweep", "study"):
        monkeypatch.setattr(f"odtc.evaluation.studies.{module}.__version__", "9.9.9")
    words = [MONKS / "monks-1.csv", "--model", "cart", "--depths", "1", "--folds", "3", "--seeds", "0"]
    for more in (words, []):
        study = json.loads((copy / "study.json").read_text())
        (copy / "study.json").write_text(json.dumps(study | {"odtc": "0.0.1"}))
        said = odtc("sweep", *more, "-o", copy)
        assert said.code == 0 and "was made by odtc 0.0.1, this is odtc 9.9.9: its fits are run again" in said.err
        assert json.loads((copy / "study.json").read_text())["odtc"] == "9.9.9"
    assert "3 of 3 fits were finished before" in said.err  # by the first of the two
    assert "run again" not in odtc("sweep", "-o", copy).err


def test_tune_says_that_kept_fits_are_of_another_grid(tmp_path):
    words = ["tune", MONKS / "monks-1.csv", "--model", "cart", "--depths", "1", "--folds", "2", "-o", tmp_path / "t"]
    (tmp_path / "t.tune.fits").mkdir()
    (tmp_path / "t.tune.fits" / "0123.json").write_text("{}")
    said = odtc(*words)
    assert (
        said.code == 0
        and "were made for another grid, other data or by another version of odtc: all are run again" in said.err
    )


@pytest.mark.parametrize("replaced", [True, False])
def test_a_study_that_is_replaced_or_removed_while_it_runs(replaced, tmp_path, monkeypatch):
    """Two runs of different grids wrote their tables into one folder, and study.json was of one of them."""
    from odtc.evaluation import cross_validation

    words = ["sweep", MONKS / "monks-1.csv", "--model", "cart", "--folds", "2", "-o", tmp_path / "s"]
    fits, score_fold = [], cross_validation.score_fold

    def as_the_other_begins(*given):
        fits.append(given)
        if len(fits) == 3:
            if replaced:
                assert odtc(*words, "--depths", "1").code == 0
            else:
                shutil.rmtree(tmp_path / "s")
        return score_fold(*given)

    monkeypatch.setattr(cross_validation, "score_fold", as_the_other_begins)
    said = odtc(*words, "--depths", "1,2")
    if replaced:
        assert said.code == 1 and "another run has replaced it meanwhile" in said.err
        assert table(tmp_path / "s")["depth"].to_list() == [1, 1]
        said = odtc(*words, "--depths", "1,2")
        assert "4 of 4 fits were finished before" in said.err
    assert said.code == 0 and table(tmp_path / "s")["depth"].to_list() == [1, 1, 2, 2]
    assert odtc("sweep", "-o", tmp_path / "s").code == 0


def test_a_disk_that_is_full_when_the_best_tree_is_written_is_an_error(tmp_path, monkeypatch):
    """The command ended well, without the tree."""
    from odtc.errors import OutputError
    from odtc.workflow.sinks import FileSink

    def full(self, *given):
        raise OutputError(
            "cannot write 'best/monks-1.tree.json': No space left on device; choose another place with -o"
        )

    monkeypatch.setattr(FileSink, "write_tree", full)
    said = odtc(
        "sweep", MONKS / "monks-1.csv", "--model", "cart", "--depths", "1", "--folds", "2", "-o", tmp_path / "s"
    )
    assert said.code == 1 and "error: cannot write 'best/monks-1.tree.json': No space" in said.err


def test_an_interruption_at_the_best_trees_is_told_as_one_of_the_fits(tmp_path, monkeypatch):
    """It listed the files of all fits, and not how to go on."""
    words = ("sweep", MONKS / "monks-1.csv", "--model", "cart", "--depths", "1", "--folds", "2", "-o", tmp_path / "s")

    def interrupted(*given, **named):
        raise KeyboardInterrupt

    with monkeypatch.context() as during:
        during.setattr(sweep_study, "conclude", interrupted)
        said = odtc(*words)
    assert said.code == 130 and said.err.rstrip().endswith(f"are kept: `odtc sweep -o {tmp_path / 's'}` goes on"), (
        said.err
    )
    assert "cart, depth 1" in said.out, "the setting is finished, so its line is printed"
    said = odtc("sweep", "-o", tmp_path / "s")
    assert said.code == 0 and "2 of 2 fits were finished before" in said.err


def test_a_study_that_is_killed_goes_on_where_it_was(quiet, tmp_path):
    folder, _ = quiet
    words = ["sweep", MONKS / "monks-1.csv", MONKS / "monks-3.csv", *GRID, "-o", "s"]
    running = subprocess.Popen(command(*words), cwd=tmp_path, env=environment(), stderr=subprocess.DEVNULL)
    tasks = tmp_path / "s" / "tasks"
    while running.poll() is None and (not tasks.is_dir() or len(list(tasks.glob("*.json"))) < 5):
        time.sleep(0.01)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    finished = {path.name: path.stat().st_mtime_ns for path in tasks.glob("*.json")}
    assert len(finished) >= 5 and not (tmp_path / "s" / "results.parquet").exists()
    said = odtc(*words, folder=tmp_path)
    assert said.code == 0 and f"{len(finished)} of 72 fits were finished before" in said.err
    assert all((tasks / name).stat().st_mtime_ns == when for name, when in finished.items())
    assert table(tmp_path / "s").equals(table(folder))


def test_tune_that_is_killed_goes_on_where_it_was(tmp_path, monkeypatch):
    from odtc.evaluation import cross_validation

    fits, score_fold = [], cross_validation.score_fold

    def killed_at_the_fourth(*given):
        fits.append(given)
        if len(fits) == 4:
            raise KeyboardInterrupt
        return score_fold(*given)

    monkeypatch.setattr(cross_validation, "score_fold", killed_at_the_fourth)
    words = [
        "tune",
        MONKS / "monks-1.csv",
        "--model",
        "dpflow",
        "--depths",
        "1,2",
        "--folds",
        "3",
        "-o",
        tmp_path / "t",
    ]
    assert odtc(*words).code != 0 and len(list((tmp_path / "t.tune.fits").iterdir())) == 3
    assert odtc(*words).code == 0 and len(fits) == 4 + 3
    assert not (tmp_path / "t.tune.fits").exists()


def _leaf(tree):
    node = tree["root"]
    while "left" in node:
        node = node["left"]
    return node


def _all_right(result):
    result["accuracy"] = result["balanced_accuracy"] = 1.0


def _another_label(result):
    """Its scores are those of another tree then."""
    leaf = _leaf(result["tree"])
    leaf["label"] = {"0": "1", "1": "0"}[leaf["label"]]


def _without_a_tree(result):
    result["tree"] = None


def _another_shape(result):
    result["n_leaves"] = [result["n_leaves"]]


def _of_other_columns(result):
    result["tree"]["features"][0]["name"] = "other"


def _resealed(path, forge):
    """A finished fit that somebody changed and sealed anew, as its program does."""
    result = json.loads(path.read_text())
    key = result.pop("task")
    del result["seal"]
    forge(result)
    Store(path.parent).put(key, result)


FORGED = [_all_right, _another_label, _without_a_tree, _another_shape, _of_other_columns]


@pytest.mark.parametrize("forge", FORGED, ids=lambda forge: forge.__name__)
def test_a_finished_fit_that_was_sealed_anew_is_run_again(quiet, forge, tmp_path):
    """Who wrote the SHA-256 anew was believed: the scores are counted again by the tree that the file holds."""
    shutil.copytree(quiet[0], tmp_path / "s")
    for path in sorted((tmp_path / "s" / "tasks").glob("*.json"))[:3]:
        _resealed(path, forge)
    words = (MONKS / "monks-1.csv", MONKS / "monks-3.csv", *GRID)
    said = odtc("sweep", *words, "--json", "-o", tmp_path / "s")
    assert said.code == 0, said.err
    assert table(tmp_path / "s").equals(table(quiet[0]))
    assert {path: one["best"] for path, one in said.facts["data"].items()} == {
        path: one["best"] for path, one in quiet[1]["data"].items()
    }


@pytest.mark.parametrize("forge", FORGED, ids=lambda forge: forge.__name__)
def test_a_kept_fit_of_tune_that_was_sealed_anew_is_run_again(forge, tmp_path, monkeypatch):
    words = ("tune", MONKS / "monks-1.csv", "--model", "cart", "--depths", "1,2", "--folds", "3", "--json")
    whole = odtc(*words, "-o", tmp_path / "whole")
    assert whole.code == 0, whole.err
    monkeypatch.setattr(Store, "remove", lambda self: None)
    assert odtc(*words, "-o", tmp_path / "t").code == 0
    kept = [path for path in tmp_path.rglob("*.json") if '"seal"' in path.read_text()]
    assert len(kept) == 6
    for path in kept[:3]:
        _resealed(path, forge)
    again = odtc(*words, "-o", tmp_path / "t")
    assert again.code == 0, again.err
    told = [[(one["score"], one["n_leaves"]) for one in said.facts["results"]] for said in (whole, again)]
    assert told[0] == told[1]


def test_the_jobs_of_an_array_make_the_same_study(quiet, odtc_command, tmp_path):
    """The first job is killed once, and submitted again by itself."""
    folder, _ = quiet
    words = ["sweep", MONKS / "monks-1.csv", MONKS / "monks-3.csv", *GRID, "-o", "s"]
    said = odtc(*words, "--script", "slurm", "--jobs", "2", folder=tmp_path)
    assert said.code == 0 and "2 jobs for 72 fits" in said.out
    script, tasks = tmp_path / "s" / "job-array.sh", tmp_path / "s" / "tasks"
    assert "#SBATCH --array=0-1\n" in script.read_text()
    job = lambda number: {
        "args": ["bash", script],
        "cwd": tmp_path,
        "env": environment(SLURM_ARRAY_TASK_ID=number, SLURM_SUBMIT_DIR=str(script.parent), ODTC=str(odtc_command)),
    }
    running = subprocess.Popen(**job("0"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while running.poll() is None and len(list(tasks.glob("*.json"))) < 3:
        time.sleep(0.01)
    running.kill()
    running.wait()
    finished = {path: path.stat().st_mtime_ns for path in tasks.glob("*.json")}
    assert 3 <= len(finished) < 36
    for number in "01":
        done = subprocess.run(**job(number), capture_output=True, encoding="utf-8")
        assert done.returncode == 0, done.stderr
        assert len(list(tasks.glob("*.json"))) == 36 * (int(number) + 1)
    assert all(path.stat().st_mtime_ns == when for path, when in finished.items())
    assert odtc("sweep", "-o", tmp_path / "s").code == 0
    assert table(tmp_path / "s").equals(table(folder))


@pytest.fixture
def odtc_command(tmp_path):
    """What a script calls: odtc of this interpreter."""
    path = tmp_path / "odtc"
    path.write_text(f'#!/bin/sh\nexec {sys.executable} -m odtc "$@"\n')
    path.chmod(0o755)
    return path


def test_a_script_runs_the_parts_of_a_study_and_ends_it(quiet, odtc_command, tmp_path):
    folder, _ = quiet
    words = ["sweep", MONKS / "monks-1.csv", MONKS / "monks-3.csv", *GRID, "-o", "s", "--script", "sh", "--jobs", "2"]
    said = odtc(*words, "--json", folder=tmp_path)
    assert said.code == 0 and said.facts == {"script": "s/parts.sh", "parts": 2, "fits": 72}
    done = subprocess.run(["sh", tmp_path / "s" / "parts.sh"], env=environment(ODTC=str(odtc_command)))
    assert done.returncode == 0 and table(tmp_path / "s").equals(table(folder))


def tuned(folder):
    """The results of a tuning, but for seconds."""
    facts = json.loads((folder / "t.tune.json").read_text())
    told = lambda one: {key: value for key, value in one.items() if key not in ("seconds", "folds")}
    scores = [[fold["accuracy"] for fold in one["folds"]] for one in facts["results"]]
    nested = {key: facts["nested"][key] for key in ("scores", "inner", "chosen")}
    return [told(one) for one in facts["results"]], scores, nested, facts["best"], facts["seeds"]


@pytest.mark.every(2)
@pytest.mark.parametrize("kind", ["slurm", "sh"])
def test_the_jobs_of_an_array_tune_as_one_process_does(kind, odtc_command, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    for name in ("quiet", "parts"):
        (tmp_path / name).mkdir()
        shutil.copy(MONKS / "monks-1.csv", tmp_path / name / "my rows.csv")
    words = ["tune", "my rows.csv", "--model", "cart", "--depths", "1,2", "--folds", "2", "--seeds", "1,2"]
    words += ["--nested", "2", "--encoding", "onehot", "-o", "t"]
    assert odtc(*words, folder=tmp_path / "quiet").code == 0
    parts = tmp_path / "parts"
    said = odtc(*words, f"--script={kind}", "--jobs", "3", folder=parts)
    assert said.code == 0 and f"t.tune.{kind}: 3 jobs for 24 fits" in said.out
    assert not list(parts.glob("*.fits/*"))
    jobs = "012" if kind == "slurm" else "0"
    for job in jobs:
        more = environment(SLURM_ARRAY_TASK_ID=job, ODTC=str(odtc_command))
        script = ["bash" if kind == "slurm" else "sh", parts / f"t.tune.{kind}"]
        done = subprocess.run(script, cwd=tmp_path / "elsewhere", env=more, capture_output=True, encoding="utf-8")
        assert done.returncode == 0, done.stderr
        assert kind == "sh" or len(list(parts.glob("t.tune.fits/*"))) == 8 * (int(job) + 1)
    if kind == "slurm":
        said = odtc(*words, folder=parts)
        assert said.code == 0 and not (parts / "t.tune.fits").exists()
    assert tuned(parts) == tuned(tmp_path / "quiet")


def test_a_fit_that_is_refused_is_a_row_that_says_why(tmp_path):
    (tmp_path / "c.csv").write_text("a,b,y\n" + "u,1,p\nv,2,q\n" * 6)
    words = ["--model", "cart", "--depths", "1", "--folds", "2", "--encoding", "auto", "--encoding", "thresholds"]
    said = odtc("sweep", "c.csv", *words, "--json", "-o", "s", folder=tmp_path)
    assert said.code == 0
    errors = table(tmp_path / "s").filter(pl.col("encoding") == "thresholds")["error"]
    assert len(errors) == 2 and all("expected numeric columns only" in error for error in errors)
    (one,) = said.facts["data"].values()
    assert one["results"][one["best"]]["score"] == 1


@pytest.mark.parametrize(
    "words, expected",
    [
        (["-o", "nowhere"], "holds none"),
        (["--depths", "1,x"], "--depths (or --depth): expected whole numbers"),
        (["-p", "lambda=0", "--model", "cart"], "expected a parameter of cart, got 'lambda'"),
        (["-p", "lambda=-1", "--model", "dpflow"], "lambda"),
        (["--model", "dpflo"], "did you mean"),
        (["--encoding", "aut"], "did you mean"),
        (["--folds", "1"], "--folds: expected from 2 to"),
        (["--jobs", "0"], "expected --jobs"),
        (["--part", "2/2"], "--part: expected I/N"),
        (["--score", "f2"], "expected one of accuracy"),
        (["--script", "sge"], "--script: expected slurm or sh"),
    ],
)
def test_what_is_wrong_is_said_before_the_work(words, expected, tmp_path):
    data = [] if words[0] == "-o" else [MONKS / "monks-1.csv"]
    said = odtc("sweep", *data, *words, folder=tmp_path)
    assert said.code in (1, 2) and expected in said.err and said.err.count("\n") == 1, said.err
    assert not list(tmp_path.glob("*/tasks/*"))


def test_two_files_of_one_name_and_the_folder_of_another_study(quiet, tmp_path):
    shutil.copy(MONKS / "monks-1.csv", tmp_path / "monks-1.csv")
    said = odtc("sweep", MONKS / "monks-1.csv", tmp_path / "monks-1.csv", "-o", tmp_path / "s")
    assert said.code == 2 and "got 'monks-1' twice" in said.err
    said = odtc("sweep", MONKS / "monks-2.csv", "-o", quiet[0])
    assert said.code == 2 and "got one of other data" in said.err


def test_the_best_trees_are_found_side_by_side_where_the_fits_were(quiet, tmp_path, monkeypatch):
    """By one pool, from what a process is sent: the files are those of one process; a refusal costs that data set
    alone."""
    folder = shutil.copytree(quiet[0], tmp_path / "s")
    before = {path.name: path.read_bytes() for path in (folder / "best").glob("*.tree.json")}
    shutil.rmtree(folder / "best")
    study, sent = sweep_study.kept(folder), []
    results = [json.loads((folder / "tasks" / f"{task.key}.json").read_text("utf-8")) for task in study.study.tasks]

    def pool(tasks, store):
        sent.append(len(tasks))
        yield from ((at, task.run()) for at, task in reversed(list(enumerate(pickle.loads(pickle.dumps(tasks))))))

    facts = sweep_study.conclude(study, results, folder, "accuracy", "best", print, pool)
    assert sent == [2] and len(before) == 2 and all(one["best"] is not None for one in facts["data"].values())
    assert {path.name: path.read_bytes() for path in (folder / "best").glob("*.tree.json")} == before
    assert {os.path.basename(path) for path in facts["files"]} >= set(before)

    def refused(spec, dataset, sink):
        if dataset.name == "monks-1":
            raise ChoiceError("not this one")
        return run(spec, dataset, sink=sink)

    run, said = sweep_study.run, []
    monkeypatch.setattr(sweep_study, "run", refused)
    facts = sweep_study.conclude(study, results, folder, "accuracy", "best", said.append, pool)
    assert said == ["monks-1: not this one"]
    assert [one["best"] is None for one in facts["data"].values()] == [True, False]


@pytest.mark.slow
def test_a_local_cluster_makes_the_same_table(quiet, tmp_path):
    pytest.importorskip("distributed")
    words = ["sweep", MONKS / "monks-1.csv", MONKS / "monks-3.csv", *GRID, "--cluster", "local", "--jobs", "2"]
    said = started(*words, "--json", "-o", "s", folder=tmp_path)
    assert said.code == 0 and "dashboard" not in said.err, said.err  # a cluster started here has no pages
    assert table(tmp_path / "s").equals(table(quiet[0])) and json.loads(said.out)["schema"] == "odtc.sweep/1"


def test_sizes_of_leaves_and_constraints_are_tried_as_in_tune(tmp_path):
    words = ["--model", "cart", "--depths", "2", "--folds", "2", "--min-leaf-rows", "1,20"]
    words += ["--try-constraint", "leaves <= 2", "--json"]
    swept = odtc("sweep", MONKS / "monks-1.csv", *words, "-o", "s", folder=tmp_path)
    tuned = odtc("tune", MONKS / "monks-1.csv", *words, "-o", "t", folder=tmp_path)
    assert swept.code == tuned.code == 0, swept.err + tuned.err
    (one,) = swept.facts["data"].values()
    assert [(r["name"], r["score"]) for r in one["results"]] == [
        (r["name"], r["score"]) for r in tuned.facts["results"]
    ]
    tried = set(table(tmp_path / "s")["constraints"])
    assert tried == {"leaf_rows >= 1", "leaf_rows >= 20", "leaf_rows >= 1; leaves <= 2", "leaf_rows >= 20; leaves <= 2"}
    again = odtc("sweep", "-o", "s", "--json", folder=tmp_path)
    assert again.code == 0 and "8 of 8 fits were finished before" in again.err
    for bad in (["--min-leaf-rows", "0"], ["--try-constraint", "leafs <= 2"]):
        refused = odtc("sweep", MONKS / "monks-1.csv", "--depths", "1", *bad, "-o", "u", folder=tmp_path)
        assert refused.code in (1, 2) and not (tmp_path / "u").exists(), refused.err


def test_nested_choices_and_seeds_are_those_of_tune(tmp_path):
    """Of one seed each; a study that lies there is told again without a fit."""
    grid = ("--model", "cart", "--depths", "1,2", "--folds", "2", "--json")
    tuned = odtc("tune", MONKS / "monks-1.csv", *grid, "--nested", "2", "-o", tmp_path / "t").facts
    swept = odtc("sweep", MONKS / "monks-1.csv", *grid, "--nested", "2", "-o", tmp_path / "s").facts
    (one,) = swept["data"].values()
    seconds = {"seconds": None}
    assert one["nested"][0] | seconds == tuned["nested"] | seconds
    again = odtc("sweep", "-o", tmp_path / "s", "--json")
    (same,) = again.facts["data"].values()
    assert same["nested"] == one["nested"] and "12 of 12 fits were finished before" in again.err
    seeds = ("--seeds", "1,2")
    tuned = odtc("tune", MONKS / "monks-1.csv", *grid, *seeds, "-o", tmp_path / "t").facts
    (one,) = odtc("sweep", MONKS / "monks-1.csv", *grid, *seeds, "-o", tmp_path / "w").facts["data"].values()
    assert tuned["seeds"] == [1, 2]
    for mine, other in zip(tuned["results"], one["results"], strict=True):
        assert mine["score"] == other["score"] and len(mine["folds"]) == len(other["folds"]) == 4


OTHER_SHAPES = (
    lambda facts: facts["spec"]["reading"].update(actions=None),
    lambda facts: facts.update(encodings=[1]),
    lambda facts: facts.update(nested="x"),
    lambda facts: facts["spec"]["reading"].update(weights=1.0),
    lambda facts: facts["spec"]["solving"].update(gap="0"),
    lambda facts: facts["spec"]["model"].update(more=1),
    lambda facts: facts.pop("depths"),
    lambda facts: facts.update(seeds=[]),
    lambda facts: facts.update(params={"lambda": 1}),
    lambda facts: facts.update(schema="odtc.sweep/0"),
)


def test_a_study_of_another_shape_is_none(quiet, tmp_path):
    """Some ended in a fault of odtc."""
    words = ("sweep", MONKS / "monks-1.csv", "--model", "cart", "--depths", 1, "--folds", 2, "-o", "s")
    assert odtc(*words, folder=tmp_path).code == 0
    path = tmp_path / "s" / "study.json"
    whole = path.read_text()
    assert odtc("sweep", "-o", "s", folder=tmp_path).code == 0
    for forge in OTHER_SHAPES:
        facts = json.loads(whole)
        forge(facts)
        path.write_text(json.dumps(facts))
        assert "holds none" in refused(odtc("sweep", "-o", "s", folder=tmp_path))
