"""The checker in JavaScript (examples/certificate-checker) agrees with ours: on certificates, and on forgeries."""

import copy
import gzip
import json
import os
import random
import shutil
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import odtc
from odtc.algorithms.thresholds.common_rows import CommonRows
from odtc.data.reading_spec import ReadingSpec
from odtc.errors import CertificateError
from odtc.formulations.dpflow.threshold_search import ThresholdSearch, certify
from odtc.formulations.dpflow.write_certificate import certify_search
from odtc.formulations.dpflow.write_constrained_certificate import certify_constrained
from odtc.verification.certificate import check
from tests import pipeline
from tests.command_line import CHECKOUT
from tests.command_line import odtc as command
from tests.unit.test_certificate import example
from tests.unit.test_constrained_certificate import FORGED_ORDERS, SETS, UNSATISFIED, corrupted, small

CHECKER = CHECKOUT / "examples" / "certificate-checker" / "check.js"
pytestmark = pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")

# Checks many certificates in one process: a line for each, [data file, certificate].
MANY = """
const { check, bytesOf } = require(process.argv[1] + "/check.js"), { readData } = require(process.argv[1] + "/data.js");
const lines = require("fs").readFileSync(0, "utf8").split("\\n").filter(Boolean);
const known = new Map();
for (const line of lines) {
  try {
    const [file, facts] = JSON.parse(line), key = JSON.stringify([file, facts.data]);
    if (!known.has(key)) known.set(key, readData(file, bytesOf(file), facts.data));
    const { objective, bound } = check(facts, known.get(key));
    console.log(`proved ${objective} ${bound}`);
  } catch (problem) { console.log("refused " + problem.message); }
}
"""


def verdicts(pairs) -> list[str]:
    """What the second checker says of each certificate, of [(certificate, data file)]."""
    done = subprocess.run(
        ["node", "-e", MANY, str(CHECKER.parent)],
        input="\n".join(json.dumps([str(file), facts]) for facts, file in pairs),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def asked(certificates, file) -> list[str]:
    """The same of certificates of one data file."""
    return verdicts([(facts, file) for facts in certificates])


@cache
def _rows(file, told: str):
    how = ReadingSpec.from_manifest({"categorical": (), "numeric": (), "weights": None} | json.loads(told))
    return odtc.read(file, **how.keywords)


def ours(facts, file) -> str:
    """What our checker says, in the same words."""
    try:
        proof = check(facts, _rows(file, json.dumps(facts["data"])))
        return f"proved {proof.objective:.15g} {proof.bound:.15g}"
    except (CertificateError, odtc.errors.OdtcError) as problem:
        return f"refused {problem}"


MIXED = 'size,"kind, of it",on,code,w,site,y\n' + "".join(
    f'{(i * 7) % 5 + 0.5},"{"" if i % 7 == 3 else "aéb"[i % 3]}",{"?" if i % 6 == 1 else ("TRUE", "false")[i % 2]},'
    f"0{i % 4},{1 + i % 3},{i % 2},{'np'[(i * i) % 5 > 1]}\n"
    for i in range(36)
)
CASES = {
    "monks": (CHECKOUT / "examples/monks/monks-1.csv", dict(encoding="onehot"), {}, 3),
    "monks-balanced": (
        CHECKOUT / "examples/monks/monks-3.csv",
        dict(encoding="onehot", class_weight="balanced"),
        {},
        2,
    ),
    "iris": (CHECKOUT / "examples/iris/iris.csv", dict(params={"lambda": 0.25}), {}, 2),
    "iris-intervals": (CHECKOUT / "examples/iris/iris.csv", dict(params={"intervals": "true"}), {}, 3),
    "iris-thresholds": (CHECKOUT / "examples/iris/iris.csv", {}, {}, 3),
    "iris-least": (CHECKOUT / "examples/iris/iris.csv", dict(constraints=("leaf_rows >= 4",)), {}, 3),
    "mixed-drop": (None, {}, dict(weights="w", auxiliary=("site",)), 2),
    "mixed-separate": (None, {}, dict(missing="separate", categorical=("size",)), 2),
    "mixed-depth-1": (None, dict(cost="n:p=3,p:n=0.5"), dict(missing="separate", weights="w"), 1),
}


@pytest.fixture(params=CASES)
def case(request, tmp_path) -> tuple[dict, Path]:
    """A certificate and its data file."""
    file, words, reading, depth = CASES[request.param]
    if file is None:
        file = tmp_path / "mixed.csv"
        file.write_text(MIXED)
    dataset = odtc.read(file, "y" if file.name == "mixed.csv" else None, **reading)
    facts = json.loads(json.dumps(certify(pipeline.pose(dataset, "dpflow", depth, **words))))
    return facts, file


@pytest.mark.slow
def test_both_prove_what_is_proved(case):
    facts, file = case
    said = asked([facts], file)[0]
    assert said.split()[0] == "proved", said
    assert float(said.split()[1]) == pytest.approx(float(ours(facts, file).split()[1]), rel=1e-12)


KINDS = ("target", "claim", "label", "tree", "of", "classes", "split", "loss", "penalty", "depth", "rows")


def forgeries(facts, number=66):
    """Certificates with one thing changed, at random but always the same."""
    rnd = random.Random(7)
    names = facts["classes"]
    for at in range(number):
        forged = copy.deepcopy(facts)
        kind = KINDS[at % len(KINDS)]
        nodes = [forged["tree"]["root"]]
        for node in nodes:
            nodes += [node[side] for side in ("left", "right") if side in node]
        leaves = [node for node in nodes if "label" in node]
        if kind == "target":
            texts = forged["states"]
            level = rnd.randrange(len(texts))
            entries = texts[level].split(";")
            which = rnd.randrange(len(entries))
            words = entries[which].split(",")
            free = "f" if words[0][:1] == "f" else ""
            words[0] = f"{free}{int(words[0].removeprefix('f') or 0) + rnd.choice([1, 2, -1, 50])}"
            entries[which] = ",".join(words)
            texts[level] = ";".join(entries)
        elif kind == "claim":
            forged["claim"] += rnd.choice([-1, 1])
        elif kind == "label":
            leaf = rnd.choice(leaves)
            leaf["label"] = rnd.choice([name for name in names if name != leaf["label"]])
        elif kind == "tree":
            branch = next((node for node in nodes if "split" in node), None)
            column = rnd.choice(forged["columns"])
            if branch is not None and column["kind"] == "threshold":
                branch["split"]["feature"] = column["feature"]
            elif branch is not None:
                branch["split"] = column
        elif kind == "of":
            key = rnd.choice(sorted(forged["of"]))
            value = forged["of"][key]
            forged["of"][key] = value + 1 if type(value) is int else not value if type(value) is bool else "other"
        elif kind == "classes":
            forged["classes"] = names[::-1]
            for leaf in leaves:
                leaf["label"] = names[(names.index(leaf["label"]) + 1) % len(names)]
        elif kind == "split":
            among = forged["columns"]
            del among[rnd.randrange(len(among))]
        elif kind == "loss":
            forged["loss"][0][1] += rnd.choice([-1, 1])
        elif kind == "penalty":
            forged["penalty"] += 1
        elif kind == "rows":
            forged["data"]["n_rows"] += rnd.choice([-1, 1])
        else:
            forged["depth"] += rnd.choice([-1, 1])
        if forged != facts:
            yield kind, forged


@pytest.mark.every(2)
@pytest.mark.slow
def test_both_refuse_the_same_forgeries(case):
    """What ours refuses the second refuses; what both prove is the claim of an honest one, in other words."""
    facts, file = case
    made = list(forgeries(facts))
    said = asked([forged for _, forged in made], file)
    assert len(said) == len(made) >= 40
    for (kind, forged), second in zip(made, said):
        first = ours(forged, file)
        assert first.split()[0] == second.split()[0], (kind, first, second)
        if kind in ("claim", "of", "depth") or (kind == "classes" and len(facts["classes"]) == 2):
            assert second.startswith("refused"), (kind, second)


def told_otherwise(facts):
    """Certificates whose tree says one thing of the data that is not so."""
    for key, value in (("schema", "odtc.tree/9"), ("target", "z"), ("missing", "?"), ("task", "policy")):
        yield facts | {"tree": facts["tree"] | {key: value}}
    yield facts | {"tree": facts["tree"] | {"classes": facts["classes"][::-1]}}
    features = facts["tree"]["features"]
    for at, feature in enumerate(features):
        for changed in ({"name": "other"}, {"kind": "numeric" if feature["kind"] != "numeric" else "categorical"}):
            others = [*features[:at], feature | changed | {"levels": ["0"]}, *features[at + 1 :]]
            yield facts | {"tree": facts["tree"] | {"features": others}}
        if len(levels := feature.get("levels", ())) > 1:
            others = [*features[:at], feature | {"levels": levels[::-1]}, *features[at + 1 :]]
            yield facts | {"tree": facts["tree"] | {"features": others}}
    for key in ("counts", "rows"):
        forged = copy.deepcopy(facts)
        leaf = forged["tree"]["root"]
        while "split" in leaf:
            leaf = leaf["left"]
        other = copy.deepcopy(forged)
        leaf[key][-1] += 1
        yield forged
        leaf = other["tree"]["root"]
        while "split" in leaf:
            leaf = leaf["left"]
        leaf[key][-1] = [leaf[key][-1]]  # JavaScript counts a list of one number as that number
        yield other


@pytest.mark.slow
def test_both_refuse_a_tree_that_tells_other_things_of_the_data(case):
    facts, file = case
    made = list(told_otherwise(facts))
    said = asked([facts, *made], file)
    assert said[0].startswith("proved") and len(said) == len(made) + 1
    for forged, second in zip(made, said[1:]):
        first = ours(forged, file)
        assert (first.split()[0], second.split()[0]) == ("refused", "refused"), (first, second)
        assert "tree" in first and "tree" in second, (first, second)


@pytest.mark.parametrize("style", ["plain", "names of rows", "Unicode text of Excel"])
def test_it_reads_a_file_as_a_user_calls_it(style, tmp_path):
    lines = (CHECKOUT / "examples/monks/monks-1.csv").read_text().splitlines(keepends=True)
    if style == "names of rows":  # as R and pandas write them, in a column without a name
        lines = ["," + lines[0]] + [f"row {at},{line}" for at, line in enumerate(lines[1:])]
    text, name = "".join(lines), "d.csv"
    if style == "Unicode text of Excel":
        text, name = text.replace(",", "\t"), "d.txt"
    (tmp_path / name).write_text(text, encoding="utf-16" if name == "d.txt" else "utf-8")
    dataset = odtc.read(tmp_path / name)
    facts = certify(pipeline.pose(dataset, "dpflow", 2, encoding="onehot"))
    facts["data"]["path"] = name
    (tmp_path / "p.json").write_text(json.dumps(facts))
    done = subprocess.run(["node", CHECKER, tmp_path / "p.json"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith(
        "proved: no tree of depth 2 over 15 splits costs less than 27"
    )
    (tmp_path / "p.json").write_text(json.dumps(facts | {"claim": facts["claim"] - 1}))
    done = subprocess.run(["node", CHECKER, tmp_path / "p.json"], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.startswith("refused: the tree costs")


def test_the_example_of_the_page_is_a_proof_to_both(tmp_path):
    facts, file = example(tmp_path)
    said = asked([facts, facts | {"states": ["2"], "bound": 2}, facts | {"kind": "other"}], file)
    assert said[0] == "proved 1 1" and [line.split()[0] for line in said[1:]] == ["refused", "refused"]


@pytest.mark.parametrize("forged", FORGED_ORDERS, ids=lambda made: made.__name__)
def test_both_refuse_an_order_that_is_not_that_of_the_data(forged, tmp_path):
    facts, data = forged()
    words = [["" if np.isnan(cell) else f"{cell:g}" for cell in row] for row in data.X]
    lines = [",".join([*(feature.name for feature in data.features), "class"])]
    lines += [",".join([*row, data.classes[k]]) for row, k in zip(words, data.y)]
    file = tmp_path / "rising.csv"
    file.write_text("\n".join(lines) + "\n")
    dataset = odtc.read(file, missing=data.missing)
    facts["data"] = certify_constrained(pipeline.pose(dataset, "dpflow", 1))[0]["data"]
    assert asked([facts], file)[0].startswith("refused") and ours(facts, file).startswith("refused")


def table_of(data) -> str:
    """The rows of a small data set, its auxiliary column and its weights, as a file of comma-separated values."""
    lines = ["f0,f1,f2,side,w,y"]
    for row, klass, weight, (side,) in zip(data.X, data.y, data.weight, data.auxiliary_X):
        cells = [f"{row[0]:g}", f"{row[1]:g}", "abc"[int(row[2])], "pqr"[int(side)], f"{weight:g}", data.classes[klass]]
        lines.append(",".join(cells))
    return "\n".join(lines) + "\n"


# How many corruptions of constrained certificates are tried; ODTC_ALL_CELLS=1 tries twenty times as many.
FORGED = 20 if os.environ.get("ODTC_ALL_CELLS") else 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_both_say_the_same_of_certificates_under_constraints(seed, tmp_path):
    """Of every kind, and of what a corruption makes of them: one refuses what the other refuses."""
    file, draw, made = tmp_path / "small.csv", random.Random(seed), []
    sets = (*SETS, *UNSATISFIED)[seed::4]
    data = small(seed)
    file.write_text(table_of(data))
    data = odtc.read(file, "y", weights="w", auxiliary=("side",))
    for texts in sets:
        depth = 4 if "splits <= 2" in texts else 2  # both look no deeper than there may be different tests
        problem = pipeline.pose(data, "dpflow", depth, encoding="auto", constraints=texts, cost="no:yes=2,yes:no=1")
        made.append(json.loads(json.dumps(certify_constrained(problem)[0])))
    every = made + [corrupted(draw, facts) for _ in range(2 * FORGED) for facts in made]
    every = [facts for facts in every if facts["data"] == made[0]["data"]]
    theirs, mine = asked(every, file), [ours(facts, file) for facts in every]
    told = [(one.split()[0], two.split()[0]) for one, two in zip(theirs, mine)]
    assert told[: len(made)] == [("proved", "proved")] * len(made)
    differ = [place for place, (one, two) in enumerate(told) if one != two]
    assert not differ, [(theirs[place], mine[place], every[place]) for place in differ[:2]]
    assert ("refused", "refused") in told


@pytest.mark.parametrize("texts", [("leaves <= 3", "recall[yes] >= 0.6"), ("branch_nodes <= 1", "leaf_rows >= 3")])
def test_both_look_no_deeper_than_there_may_be_branch_nodes(texts, tmp_path):
    """A tree of two branch nodes has depth 2 at most: at depth 6 neither search nor checks end soon."""
    file, data = tmp_path / "small.csv", small(3)
    file.write_text(table_of(data))
    data = odtc.read(file, "y", weights="w", auxiliary=("side",))
    deep, flat = (pipeline.pose(data, "dpflow", depth, encoding="auto", constraints=texts) for depth in (6, 2))
    facts = json.loads(json.dumps(certify_constrained(deep)[0]))
    assert facts["depth"] == 6 and facts["claim"] == certify_constrained(flat)[0]["claim"]
    lower = facts | {"claim": facts["claim"] - 1}
    more = facts | {"constraints": [text.replace("leaves <= 3", "leaves <= 7") for text in facts["constraints"]]}
    every = [facts, lower, more] if facts["constraints"] != more["constraints"] else [facts, lower]
    told = [(one.split()[0], ours(given, file).split()[0]) for one, given in zip(asked(every, file), every)]
    assert told[0] == ("proved", "proved") and all(one == two for one, two in told)


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("depth", "texts"),
    [
        (1, ("recall[yes] >= 0.9",)),
        (2, ("leaf_precision >= 0.55", "statistical_parity[group=side:p,positive=yes] <= 0.1")),
        (2, ("recall[yes] >= 0.99", "precision[yes] >= 0.99")),
        (3, ("recall[yes] >= 0.8", "features <= 2", "leaf_rows >= 12", "forbid_root[f0]")),
    ],
)
def test_both_say_the_same_over_many_thresholds(depth, texts, tmp_path):
    """From 300 tests on both sweep chains of tests; ours does so at depth 3 if numba is installed."""
    rng, file, draw = np.random.default_rng(depth), tmp_path / "many.csv", random.Random(depth)
    X, side = rng.normal(size=(105, 3)).round(3), rng.choice(list("pq"), 105)
    X[rng.random(X.shape) < 0.04] = np.nan
    y = np.where(np.nan_to_num(X).sum(axis=1) + rng.normal(size=105) > 0, "yes", "no")
    cells = [["" if np.isnan(v) else str(v) for v in row] for row in X]
    file.write_text("f0,f1,f2,side,y\n" + "".join(",".join([*c, s, k]) + "\n" for c, s, k in zip(cells, side, y)))
    data = odtc.read(file, "y", missing="separate", auxiliary=("side",))
    facts = json.loads(json.dumps(certify_constrained(pipeline.pose(data, "dpflow", depth, constraints=texts))[0]))
    assert facts["of"]["n_candidate_splits"] >= 300
    lower = {"claim": None if facts["claim"] is None else facts["claim"] + 1}
    forged = [facts | lower, *(corrupted(draw, facts) for _ in range(8 if depth < 3 else 3))]
    forged += [facts | {"passes": [[0] * len(facts["passes"][0])], "cases": []}] if facts["passes"] else []
    every = [facts, *(one for one in forged if one.get("data") == facts["data"])]
    told = [(one.split()[0], ours(given, file).split()[0]) for one, given in zip(asked(every, file), every)]
    assert told[0] == ("proved", "proved") and all(one == two for one, two in told), told
    assert ("refused", "refused") in told


def test_a_kind_that_the_second_checker_does_not_know_is_said(tmp_path):
    file = tmp_path / "small.csv"
    file.write_text(table_of(small(1)))
    data = odtc.read(file, "y", weights="w", auxiliary=("side",))
    facts = certify_constrained(pipeline.pose(data, "dpflow", 1, encoding="auto", constraints=("leaf_rows >= 2",)))[0]
    facts = json.loads(json.dumps(facts)) | {"constraints": ["leaf_gold >= 2"]}
    assert asked([facts], file) == [
        "refused it states leaf_gold >= 2, a kind of constraint that this checker does not know"
    ]


@pytest.mark.parametrize("depth", [3, 4])
def test_both_take_states_of_the_rows_that_several_cuts_have_in_common(depth, tmp_path):
    rng, file, n = np.random.default_rng(depth), tmp_path / "drawn.csv", 120
    columns = [*(rng.integers(0, 9, n).astype(str) for _ in range(3)), rng.choice(["a", "b"], n)]
    file.write_text("x,y,z,class\n" + "".join(",".join(row) + "\n" for row in zip(*columns)))
    problem = pipeline.pose(odtc.read(file), "dpflow", depth)
    search = ThresholdSearch(problem)
    bound = CommonRows(search.search).bound(depth, 1)
    facts = json.loads(json.dumps(certify_search(search, search.splits.tree(search.search, problem.topology))))
    assert bound > 0 and check(facts, problem.encoded.dataset).bound == search.bound
    more = facts | {"bound": facts["bound"] + 1}
    words = asked([facts, more], file)
    assert words[0].startswith("proved") and words[1].startswith("refused")


def test_both_count_trees_of_three_levels(tmp_path):
    """A state that names no others has the optimum of its rows, and no more; of four classes none is counted."""
    pairs, own, wanted = [], [], []
    for seed in range(6):
        rng, file = np.random.default_rng(seed), tmp_path / f"{seed}.csv"
        n, n_classes = int(rng.integers(8, 40)), 2 + seed % 3
        X, y = rng.integers(0, 2 + seed % 3, (n, 2 + seed % 2)), np.append(np.arange(4), rng.integers(0, 4, n))[:n]
        lines = [",".join([*map(str, row), "pqrs"[label % n_classes]]) + "\n" for row, label in zip(X, y)]
        file.write_text("abc"[: X.shape[1]].replace("", ",")[1:] + "y\n" + "".join(lines))
        search = ThresholdSearch(problem := pipeline.pose(odtc.read(file), "dpflow", 3))
        facts = json.loads(json.dumps(certify_search(search, search.run().heap)))
        best = int(facts["states"][0].split(",")[0])
        wanted += ["proved" if n_classes < 4 or not best else "refused", "refused"]
        for more in (0, 1):
            pairs.append((facts | {"states": [str(best + more)], "bound": facts["bound"] + more}, file))
            own.append(problem.encoded.dataset)
    told = [said.split()[0] for said in verdicts(pairs)]
    assert told == wanted
    for (facts, _), data, said in zip(pairs, own, told):
        if said == "proved":
            assert check(facts, data).optimal
        else:
            with pytest.raises(CertificateError, match="three levels|a single label|and 4 labels"):
                check(facts, data)


@pytest.mark.parametrize("decimal", [",", "."])
def test_both_read_numbers_as_people_write_them(decimal, tmp_path):
    swap = str.maketrans(",.", ".,") if decimal == "," else {}
    lines = [
        f"{f'{1000 + 37.5 * i % 211:,.2f}'.translate(swap)} €;{f'{i * 7 % 13}.5'.translate(swap)}%;{'kl'[i % 2]};"
        f"{f'{1 + i % 3}.5'.translate(swap)};{'np'[(i * i) % 5 > 1]}"
        for i in range(40)
    ]
    file = tmp_path / "written.csv"
    file.write_text("price;share;kind;w;y\n" + "\n".join(lines), encoding="utf-8")
    dataset = odtc.read(file, "y", weights="w", decimal=decimal)
    assert [feature.kind for feature in dataset.features] == ["numeric", "numeric", "categorical"]
    facts = json.loads(json.dumps(certify(pipeline.pose(dataset, "dpflow", 2))))
    other = "," if decimal == "." else "."
    others = [facts | {"of": facts["of"] | {"decimal": other}}, facts | {"data": facts["data"] | {"decimal": other}}]
    others.append(facts | {"data": {key: value for key, value in facts["data"].items() if key != "decimal"}})
    said = asked([facts, *others], file)
    assert [line.split()[0] for line in said] == ["proved", "refused", "refused", "refused"], said
    assert [ours(one, file).split()[0] for one in [facts, *others]] == ["proved", "refused", "refused", "refused"]


ORDERS = {
    "size=S<M<L<XL": ["S", "M", "L", "XL"],
    'size="<3"<3-5<">5"': ["<3", "3-5", ">5"],
    "size=10<9<1": ["10", "9", "1"],
    "size": ["a", "b", "c"],
    "size=a=b<c": ["a=b", "c"],
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("missing", ["drop", "separate"])
def test_both_read_levels_that_have_an_order(order, missing, tmp_path):
    levels = ORDERS[order]
    rows = [
        (levels[i * i % len(levels)] if i % 11 or missing == "drop" else "", i % 3, "pq"[i * i % len(levels) > 0])
        for i in range(40)
    ]
    file = tmp_path / "sizes.csv"
    file.write_text("size,x,y\n" + "".join(f'"{size}",{x},{y}\n' for size, x, y in rows))
    dataset = odtc.read(file, "y", ordered=[order], missing=missing)
    facts = json.loads(json.dumps(certify(pipeline.pose(dataset, "dpflow", 2))))
    turned = f"size={'<'.join(chr(34) + one + chr(34) for one in [*levels[1:], levels[0]])}"
    others = [facts | {"data": facts["data"] | {"ordered": given}} for given in ([], [turned])]
    told = [line.split()[0] for line in asked([facts, *others], file)]
    assert told == ["proved", *["refused"] * len(others)]
    assert [ours(one, file).split()[0] for one in [facts, *others]] == told


TABLE = "a,b,y\n" + "".join(f"{at % 5},{at % 3},{'pq'[at % 5 > 2]}\n" for at in range(30))
OTHER_TEXTS = {
    "sep": ("t.csv", b"sep=;\r\n" + TABLE.replace(",", ";").encode(), (), "proved"),
    "gzip by another name": ("t.csv", gzip.compress(TABLE.encode()), (), "proved"),
    "two parts of gzip": ("t.csv.gz", gzip.compress(TABLE.encode()) + gzip.compress(b"1,1,p\n"), (), "proved"),
    "separator": ("t.csv", TABLE.encode(), ("--separator", ","), "proved"),
    "skipped": ("t.csv", b"title\n" + TABLE.encode(), ("--skip-lines", 1), "read the file with skip_lines, which this"),
    "latin": (
        "t.csv",
        TABLE.replace("a", "\xe4").encode("latin-1"),
        ("--text-encoding", "latin-1"),
        "is not UTF-8 text; od",
    ),
}


@pytest.mark.parametrize("name", OTHER_TEXTS)
def test_the_second_checker_reads_the_files_that_odtc_reads_or_names_the_option(name, tmp_path):
    file, data, options, words = OTHER_TEXTS[name]
    (tmp_path / file).write_bytes(data)
    certified(tmp_path, file, *options)
    assert words in node_says(tmp_path / "r.certificate.json", tmp_path / file)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "refused: the data file is empty"),
        (b"\n\n", "refused: the data file is empty"),
        (b"\xff", "refused: the data file is not UTF-8 text"),
        (b"\xff\xfea", "refused: the data file is not UTF-16 text"),
        (gzip.compress(TABLE.encode())[:-9], "refused: the data file is packed, and cannot be unpacked here"),
    ],
)
def test_the_second_checker_says_in_a_sentence_what_a_file_lacks(data, words, tmp_path):
    (tmp_path / "t.csv").write_text(TABLE)
    certified(tmp_path, "t.csv")
    (tmp_path / "t.csv").write_bytes(data)
    assert node_says(tmp_path / "r.certificate.json", tmp_path / "t.csv").startswith(words)


def test_both_take_the_same_numbers(tmp_path):
    """2.0 is the number 2 of JSON; multipliers are added exactly below 2^52, whatever label of a row weighs most; and
    nothing more may be stated of the data."""
    (tmp_path / "t.csv").write_text(TABLE.replace("0,0,p", "0,0,q"))
    certified(tmp_path, "t.csv", "--constraint", "recall[p] >= 0.9", "--constraint", "recall[q] >= 0.3")
    facts, file = json.loads((tmp_path / "r.certificate.json").read_text()), tmp_path / "t.csv"

    def changed(value, *path):
        copied = copy.deepcopy(facts)
        inner = copied
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value
        return copied

    def with_pass(multiplier):
        return changed([*facts["passes"], [multiplier, multiplier]], "passes")

    # The largest multiplier that ours accepts is between these two.
    low, high = 1, 2**52
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if ours(with_pass(middle), file).startswith("proved") else (low, middle)
    whole = [changed(float(facts[key]), key) for key in ("depth", "claim", "bound", "scale", "multiplier_scale")]
    more = [changed(1, "of", "more"), changed(1, "tree", "features", 0, "more"), changed(None, "data", "numeric")]
    forged = [*whole, changed(facts["claim"] + 0.5, "claim"), *more[:2], with_pass(low), with_pass(high)]
    said = [line.split()[0] for line in asked(forged, file)]
    assert said == [ours(one, file).split()[0] for one in forged]
    assert said == ["proved"] * 5 + ["refused"] * 3 + ["proved", "refused"]
    assert asked(more[2:], file)[0].startswith("refused")


def test_both_refuse_a_leaf_of_numbers_that_states_texts(tmp_path):
    (tmp_path / "t.csv").write_text(TABLE.replace("p", "1.5").replace("q", "2.5"))
    certified(tmp_path, "t.csv", "--task", "regression")
    facts, file = json.loads((tmp_path / "r.certificate.json").read_text()), tmp_path / "t.csv"
    facts["tree"]["root"]["left"]["sums"] = [str(value) for value in facts["tree"]["root"]["left"]["sums"]]
    assert asked([facts], file)[0].startswith("refused") and ours(facts, file).startswith("refused")


def certified(folder: Path, file: str, *options) -> None:
    """Writes r.certificate.json of a data file."""
    said = command("fit", file, "--depth", 1, "--certificate", "-o", "r", *options, folder=folder)
    assert said.code == 0, said.err


def node_says(certificate: Path, data: Path) -> str:
    """What check.js prints of a certificate and a data file."""
    done = subprocess.run(["node", CHECKER, certificate, data], capture_output=True, text=True, timeout=60, check=False)
    return done.stdout + done.stderr
