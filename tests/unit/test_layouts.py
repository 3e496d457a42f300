"""Files of other forms: what is read equals what polars and pandas read with the matching options, and advice works."""

import bz2
import csv
import gzip
import io
import json
import lzma
import re
import shlex
import statistics
import zipfile
from dataclasses import fields
from datetime import date, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import odtc
from odtc.base.text import show_number
from odtc.data.cells.data_files import frames_of
from odtc.data.dataset import NUMERIC, Feature, last_date
from odtc.data.reading import read
from odtc.data.reading_spec import LAYOUT, OF_ALL_FORMATS, ReadingSpec
from odtc.errors import ChoiceError, DataError, OdtcError
from tests.command_line import CHECKOUT, refused, started
from tests.command_line import odtc as command

REPORTS = CHECKOUT / "tests" / "files" / "reports"
WORDS = st.sampled_from(["", "a", "two words", "x,y", "p;q", 'say "no"', "line\nend", "ä€", "#b", "1", "-2.5", " c "])
NAMES = ("first", "größe", "y")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("layouts")


def table(path, **options) -> pl.DataFrame:
    """The whole table, which is the same in small frames."""
    whole = pl.concat(frames_of(path, layout=options))
    assert pl.concat(frames_of(path, 64, options)).equals(whole)
    return whole


@st.composite
def described(draw):
    """(text, encoding, options of ours, options of polars) of a drawn table with comments, blanks and quotes."""
    sign, header = draw(st.sampled_from([",", ";", "|", "\t", ":"])), draw(st.booleans())
    rows = draw(st.lists(st.tuples(WORDS, WORDS, st.sampled_from("pq")), min_size=1, max_size=6))
    comment, above = draw(st.sampled_from([None, "#", "//"])), draw(st.integers(0, 2))
    encoding = draw(st.sampled_from(["utf-8", "cp1252", "utf-16-le"]))
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=sign, lineterminator="\n", quoting=csv.QUOTE_ALL)
    for at, row in enumerate([NAMES, *rows] if header else rows):
        if comment and draw(st.booleans()):
            stream.write(f"{comment} a{sign}b\n")
        if at and draw(st.integers(0, 4)) == 0:
            stream.write("\n")
        writer.writerow(row)
    text = "".join(f"title {at}\n" for at in range(above)) + stream.getvalue()
    ours = {"separator": "tab" if sign == "\t" else sign, "header": header, "comment": comment, "skip_lines": above}
    ours |= {"text_encoding": None if encoding == "utf-8" else encoding}
    theirs = {"separator": sign, "has_header": header, "comment_prefix": comment, "skip_lines": above}
    return text, encoding, ours, theirs, rows


@given(described())
def test_a_table_is_what_polars_reads_with_the_same_options(folder, drawn):
    text, encoding, ours, theirs, rows = drawn
    path = folder / "t.dat"
    path.write_bytes(text.encode(encoding))
    got = table(path, **ours)
    wanted = pl.read_csv(text.encode(), infer_schema=False, **theirs)
    assert got.columns == (list(NAMES) if ours["header"] else ["c1", "c2", "c3"])
    assert wanted.columns == got.columns or not ours["header"]
    # polars reads a quoted empty cell as text without characters, and a blank line as a row of nulls.
    cells = [tuple(cell or None for cell in row) for row in wanted.rows() if any(cell is not None for cell in row)]
    assert got.rows() == cells == [tuple(cell or None for cell in row) for row in rows]


@given(st.lists(st.lists(st.sampled_from(["1", "-2.5", "a", '"b c"']), min_size=3, max_size=3), min_size=2, max_size=8))
def test_white_space_is_what_pandas_reads(folder, rows):
    pandas = pytest.importorskip("pandas")
    path = folder / "w.data"
    path.write_text("".join("  " + " \t  ".join(row) + " \n" for row in rows))
    wanted = pandas.read_csv(path, sep=r"\s+", header=None, dtype=str, keep_default_na=False)
    for options in ({"header": False}, {"header": False, "separator": "space"}):
        assert table(path, **options).rows() == [tuple(row) for row in wanted.values.tolist()]


@given(st.lists(st.lists(st.sampled_from(["1", "a", '"b,c"']), min_size=1, max_size=5), min_size=1, max_size=8))
def test_bad_lines_are_those_of_another_width(folder, rows):
    path = folder / "b.csv"
    path.write_text("a,b,y\n" + "".join(",".join(row) + "\n" for row in rows))
    good = [tuple(cell.strip('"') for cell in row) for row in rows if len(row) == 3]
    bad = [at for at, row in enumerate(rows, 2) if len(row) != 3]
    if good:
        assert table(path, on_bad_line="skip").rows() == good
    else:
        with pytest.raises(DataError, match="a header only"):
            table(path, on_bad_line="skip")
    if bad:
        with pytest.raises(DataError, match="expected 3 cells in every row"):
            table(path)


VALUES = {"x": st.none() | st.integers(-9, 9), "z": st.none() | st.floats(-1e9, 1e9), "w": st.none() | st.text("aß\n")}


@given(st.lists(st.fixed_dictionaries({"y": st.sampled_from("pq")}, optional=VALUES), min_size=1, max_size=8))
def test_json_lines_are_what_polars_reads(folder, rows):
    path = folder / "j.ndjson"
    path.write_text("".join(json.dumps(row) + "\n\n" for row in rows))
    got, wanted = table(path), pl.read_ndjson("".join(json.dumps(row) + "\n" for row in rows).encode())
    assert sorted(got.columns) == sorted(wanted.columns)
    assert got.select(sorted(got.columns)).rows() == wanted.select(sorted(got.columns)).rows()


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("sheet", [None, "data 2"])
def test_a_sheet_is_what_polars_reads(folder, header, sheet):
    pytest.importorskip("fastexcel")
    path = REPORTS / "two-sheets.xlsx"
    got = table(path, header=header, **({"sheet": sheet} if sheet else {}))
    wanted = (
        pl.read_excel(path, sheet_name=sheet, has_header=header) if sheet else pl.read_excel(path, has_header=header)
    )
    assert got.rows() == wanted.rows() and got.width == 3


def test_a_workbook_without_fastexcel_names_the_command(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "fastexcel", None)
    with pytest.raises(DataError, match=r"install it by `pip install fastexcel`"):
        read(REPORTS / "two-sheets.xlsx")


def test_a_sheet_that_is_not_there_is_named_with_those_that_are():
    pytest.importorskip("fastexcel")
    with pytest.raises(ChoiceError, match="data 2"):
        read(REPORTS / "two-sheets.xlsx", sheet="x")


@pytest.mark.parametrize("name", ["uci_ws.dat", "comment.csv", "sep.csv"])
def test_reports_are_read_or_refused_with_advice_that_works(name):
    words, said = [], command("inspect", REPORTS / name)
    if said.code or "note: the header looks like" in said.out:
        advice = re.search(r"\((--comment [^)]*)\)|with (--no-header)", said.out + said.err)
        words = shlex.split(advice[1] or advice[2])
        said = command("inspect", REPORTS / name, *words)
    lines = (REPORTS / name).read_text().splitlines()
    rows = sum(bool(line.strip()) and not line.startswith(("#", "sep=", "a")) for line in lines)
    assert said.code == 0 and f": {rows} rows" in said.out and "header looks" not in said.out
    assert words == {"uci_ws.dat": ["--no-header"], "comment.csv": ["--comment", "#"], "sep.csv": []}[name]


ADVICE = {
    "numbers twice": ("t.csv", b"4,4,1\n5,6,2\n7,8,1\n9,2,2\n", "3"),
    "words twice": ("t.csv", b"x,x,p\ny,x,q\nx,y,p\n", "3"),
    "a blank name": ("t.csv", b"x,,p\ny,x,q\nx,y,p\n", "3"),
    "cp1252": ("t.csv", "a;y\n1;Müller\n2;b\n".encode("cp1252"), "2"),
    "cp850": ("t.csv", "a;y\n1;Müller\n2;b\n".encode("cp850"), "2"),
    "cp1251": ("t.csv", "a;y\n1;молоко\n2;хлеб\n3;хлеб\n".encode("cp1251"), "2"),
    "utf-16": ("t.csv", "größe;y\n1;Müller\n2;b\n".encode("utf-16-be"), "2"),
    "a title": ("t.csv", b"Loans\n\na,y\n1,p\n2,q\n", "2"),
    "a short line": ("t.csv", b"a,b,y\n1,2,p\n3\n2,1,q\n", "3"),
    "a quote": ("t.csv", b'a,b,y\n1,2,p\n"3"x,4,q\n2,1,q\n', "3"),
    "a comment inside": ("t.csv", b"a,y\n1,p\n# note, of, mine\n2,q\n", "2"),
}


@pytest.mark.parametrize("case", ADVICE)
def test_the_last_option_in_a_refusal_reads_the_file(case, tmp_path):
    name, data, columns = ADVICE[case]
    (tmp_path / name).write_bytes(data)
    said = command("inspect", name, folder=tmp_path)
    assert said.code == 1
    found = re.findall(r"--(?:no-header|(?:comment|skip-lines|on-bad-line|text-encoding) (?:'[^']*'|[\w-]+))", said.err)
    again = command(
        "inspect", name, *shlex.split(found[-1] if case != "a comment inside" else found[0]), folder=tmp_path
    )
    assert again.code == 0, again.err
    assert again.out.count("numeric") + again.out.count("categorical") + 1 == int(columns), again.out


def test_skipped_lines_are_counted_wherever_rows_are(tmp_path):
    rows = "".join(f"{at},{at % 3},{'pq'[at % 2]}\n" for at in range(20))
    (tmp_path / "t.csv").write_text("a,b,y\n" + rows + ",1,p\n3\n4,4,4,4\n")
    said = command("fit", "t.csv", "--depth", 1, "--on-bad-line", "skip", "-o", "t", folder=tmp_path)
    assert said.code == 0 and "2 lines that are not rows were skipped (the first is line 23)" in said.out + said.err
    assert "dropped 1 row of 21: 1 with missing cells (--missing separate keeps them); 2 lines" in said.out + said.err
    said = command("predict", "t.tree.json", "t.csv", "--on-missing", "blank", folder=tmp_path)
    assert said.code == 0 and "2 lines that are not rows were skipped" in said.err
    assert len(said.out.splitlines()) == 1 + 21


def test_predict_decode_verify_and_refit_read_as_the_fit_did(tmp_path):
    rows = "".join(f" {at}   {at % 5}  {'pq'[at > 9]}\n" for at in range(20))
    (tmp_path / "t.data").write_bytes(f"% of mine\n{rows}".encode())
    layout = ("--no-header", "--comment", "%", "--separator", "space")
    assert command("fit", "t.data", *layout, "--depth", 1, "-o", "own", folder=tmp_path).code == 0
    words = ("--depth", 1, "--model", "flowoct", "--solver", "highs", "-o", "mip")
    assert command("fit", "t.data", *layout, *words, folder=tmp_path).code == 0
    for stem in ("own", "mip"):
        assert command("verify", stem, folder=tmp_path).code == 0
        said = command("predict", f"{stem}.tree.json", "t.data", folder=tmp_path)
        assert said.out.split()[1:] == ["p"] * 10 + ["q"] * 10
        assert command("explain", f"{stem}.tree.json", "t.data", folder=tmp_path).code == 0
    assert command("decode", "mip.sol", folder=tmp_path).code == 0
    assert command("refit", "own.tree.json", "t.data", "-o", "new", folder=tmp_path).code == 0
    (tmp_path / "other.csv").write_text("c2,c1\n1,3\n1,15\n")
    said = command("predict", "own.tree.json", "other.csv", "--separator", ",", folder=tmp_path)
    assert said.out.split()[1:] == ["p", "q"]


@pytest.mark.parametrize(("target", "name"), [("1", "c1"), ("first", "c1"), ("last", "c3"), ("c2", "c2"), (None, "c3")])
def test_a_target_is_named_by_its_place(tmp_path, target, name):
    (tmp_path / "t.dat").write_text("p,q,p\nq,p,q\n")
    assert read(tmp_path / "t.dat", target, header=False).target == name


def test_a_column_of_the_name_of_a_place_is_that_column(tmp_path):
    (tmp_path / "t.csv").write_text("2,last,first\np,q,p\nq,p,q\n")
    for target in ("2", "last", "first"):
        assert read(tmp_path / "t.csv", target).target == target


def test_python_takes_the_options(tmp_path):
    (tmp_path / "t.txt").write_text("1:p\n2:q\n")
    done = odtc.fit(tmp_path / "t.txt", depth=1, header=False, separator=":")
    assert done.tree.target == "c2" and done.predict(tmp_path / "t.txt").tolist() == ["p", "q"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("separator", "ab"), ("separator", ""), ("separator", '"'), ("separator", 3), ("comment", " "),
        ("skip_lines", -1), ("skip_lines", "x"), ("on_bad_line", "warn"), ("header", "no"), ("sheet", 3),
        ("text_encoding", "utf-99"), ("text_encoding", "zip"), ("text_encoding", "idna"),
    ],
)  # fmt: skip
def test_a_value_that_an_option_cannot_have_is_refused(name, value):
    with pytest.raises(ChoiceError, match=name):
        ReadingSpec(**{name: value})


@pytest.mark.parametrize("name", [name for name in LAYOUT if name not in OF_ALL_FORMATS])
def test_an_option_that_a_format_does_not_have_is_refused(name, tmp_path):
    pl.DataFrame({"a": [1, 2], "y": ["p", "q"]}).write_parquet(tmp_path / "t.parquet")
    value = {"header": False, "skip_lines": 1, "on_bad_line": "skip", "text_encoding": "cp1252"}.get(name, ";")
    with pytest.raises(ChoiceError, match=f"{name}.*which is read as parquet; leave the option out"):
        read(tmp_path / "t.parquet", **{name: value})


def test_all_options_of_the_form_are_fields_of_the_reading():
    assert set(LAYOUT) <= {field.name for field in fields(ReadingSpec)}
    changed = ReadingSpec(target="y", header=False, separator="tab", comment="#", skip_lines=2, on_bad_line="skip")
    assert ReadingSpec.from_manifest({"target": "y", "missing": "drop"} | changed.to_source()) == changed


def test_a_tree_with_a_damaged_layout_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("1:p\n2:q\n")
    command("fit", "t.csv", "--no-header", "--separator", ":", "--depth", 1, "-o", "t", folder=tmp_path)
    text = (tmp_path / "t.tree.json").read_text()
    for layout in ('{"separator": "ab"}', '{"separator": 3}', "[]"):
        Path(tmp_path / "d.tree.json").write_text(re.sub(r'"layout": \{[^}]*\}', f'"layout": {layout}', text))
        said = command("predict", "d.tree.json", "t.csv", folder=tmp_path)
        assert said.code in (1, 2) and "fault in odtc" not in said.err


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "csv.gz", "jsonl", "arff", "csv"])
def test_a_file_of_another_name_is_read_by_its_content(suffix, tmp_path):
    frame = pl.DataFrame({"a": [1.5, 2.0, 3.0], "y": ["p", "q", "p"]})
    stream = io.BytesIO()
    made = {
        "parquet": lambda: frame.write_parquet(stream),
        "arrow": lambda: frame.write_ipc(stream),
        "csv": lambda: frame.write_csv(stream),
        "csv.gz": lambda: stream.write(gzip.compress(frame.write_csv().encode())),
        "jsonl": lambda: frame.write_ndjson(stream),
        "arff": lambda: stream.write(b"@relation r\n@attribute a real\n@attribute y {p,q}\n@data\n1.5,p\n2,q\n3,p\n"),
    }
    made[suffix]()
    (tmp_path / "table.data").write_bytes(stream.getvalue())
    data = read(tmp_path / "table.data")
    assert data.name == "table" and data.X[:, 0].tolist() == [1.5, 2.0, 3.0] and data.classes == ("p", "q")


@pytest.mark.parametrize("kind", ["parquet", "arrow", "excel", "zip"])
def test_a_binary_file_with_the_name_of_a_text_is_read_by_its_content(kind, tmp_path):
    frame = pl.DataFrame({"a": [1.5, 2.0, 3.0] * 9, "y": ["p", "q", "p"] * 9})
    path = tmp_path / "t.csv"
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("inner.csv", frame.write_csv())
        with pytest.raises(DataError, match="a zip archive of 'inner.csv'; unpack it first"):
            read(path)
        return
    if kind == "excel":
        pytest.importorskip("fastexcel")
        workbook(path, Loans=[tuple(frame.columns), *((int(2 * a), y) for a, y in frame.rows())])
    else:
        (frame.write_parquet if kind == "parquet" else frame.write_ipc)(path)
    assert read(path).X[:3, 0].tolist() == ([3, 4, 6] if kind == "excel" else [1.5, 2.0, 3.0])
    path.write_text("PAR1,ARROW1\n1.5,p\n2,q\n")
    assert read(path).classes == ("p", "q")


@pytest.mark.parametrize("url", ["file:///data/my%20t.csv", "FILE:/data/my t.csv"])
def test_the_address_of_a_file_is_refused_with_its_path(url):
    with pytest.raises(DataError, match="write '/data/my t.csv' instead"):
        read(url)


@given(
    st.lists(st.tuples(st.integers(-9, 9), st.sampled_from(["p", "q r", "50%", "it's %"]), st.booleans()), min_size=2),
    st.sampled_from([" % note", "\t%note 'x", " %", ""]),
    st.booleans(),
)
def test_comments_behind_lines_of_arff_are_left_out(folder, rows, comment, is_sparse):
    """As Weka does; % within a cell or within quotes is a part of it."""
    head = ["@relation r", "@attribute a numeric", "@attribute b string", "@attribute y {'u v', 50%}", "@data"]
    quoted = ['"' + text + '"' if " " in text else text for _, text, _ in rows]
    cells = [(str(a), text, "'u v'" if y else "50%") for (a, _, y), text in zip(rows, quoted)]
    lines = [
        "{" + ",".join(f"{at} {c}" for at, c in enumerate(row)) + "}" if is_sparse else ",".join(row) for row in cells
    ]
    (folder / "t.arff").write_text("\n".join(["% note", *(line + comment for line in [*head, *lines])]) + "\n")
    assert table(folder / "t.arff").rows() == [(float(a), text, "u v" if y else "50%") for a, text, y in rows]


DAY = date(2019, 3, 14)
DAYS = [date(1999, 12, 31) + timedelta(days=11 * at) for at in range(400)]


@pytest.mark.parametrize(
    "form",
    [
        "%Y-%m-%d",
        "%Y-%m-%d 10:30:00",
        "%Y-%m-%dT00:00",
        "%Y/%m/%d",
        "%d.%m.%Y",
        "%d/%m/%Y",
        "%m/%d/%Y",
        "%d.%m.%y",
        "%d %b %Y",
    ],
)
def test_dates_are_read_as_numbers_by_the_advice(form, tmp_path):
    """In the order of time, in the file of the training rows and in others."""
    rows = [f"{day.strftime(form)},{'pq'[day.year > 2005]}\n" for day in DAYS]
    (tmp_path / "t.csv").write_text("opened,y\n" + "".join(rows))
    (tmp_path / "new.csv").write_text(
        "opened\n" + "".join(f"{d.replace(year=2020).strftime(form)}\n" for d in DAYS[:20])
    )
    said = command("inspect", "t.csv", folder=tmp_path).out
    dates = re.search(r"--dates '?(opened[^ ',]*( %b %Y)?)", said)[1]
    assert dates == "opened" + (f"={form}" if form[:4] != "%Y-%" and form not in ("%Y/%m/%d", "%d.%m.%Y") else "")
    read_ones = read(tmp_path / "t.csv", dates=dates)
    assert read_ones.X[:, 0].tolist() == [int(day.strftime("%Y%m%d")) for day in DAYS]
    assert command("fit", "t.csv", "--dates", dates, "--depth", 1, "-o", "t", folder=tmp_path).code == 0
    assert command("verify", "t", folder=tmp_path).code == 0
    assert command("predict", "t", "new.csv", folder=tmp_path).out.split()[1:] == ["q"] * 20
    assert "20190314: 'opened'" in command("export", "t", "--to", "sql", folder=tmp_path).out
    said = command("inspect", "t.csv", "--dates", dates, folder=tmp_path).out
    first, last, middle = map(date.fromisoformat, re.search(r"(\S+) to (\S+), median (\S+)", said).groups())
    assert (first, last) == (min(DAYS), max(DAYS))
    assert statistics.median_low(DAYS) <= middle <= statistics.median_high(DAYS)  # a date, as 20210163 is not


@given(st.dates(min_value=date(1000, 1, 2), max_value=date(9999, 12, 30)), st.integers(0, 9_000), st.floats(0, 0.99))
def test_a_threshold_of_dates_is_shown_as_the_last_date_that_is_not_above_it(day, after, part):
    number = int(day.strftime("%Y%m%d")) + after
    shown = date.fromisoformat(last_date(number + part))
    assert int(shown.strftime("%Y%m%d")) <= number < int((shown + timedelta(days=1)).strftime("%Y%m%d"))


@pytest.mark.parametrize("number", [-3.0, 0.0, 366.0, 9_991_231.0, 1e8, 1e300, float("inf")])
def test_a_number_that_is_no_date_is_shown_as_it_is(number):
    feature = Feature("day", NUMERIC, layout={"dates": "day"})
    assert last_date(number) == "" and feature.show_threshold(number) == show_number(number) == feature.show(number)


def test_splits_and_cells_of_dates_are_shown_as_dates(tmp_path):
    rows = [f"{day.strftime('%d.%m.%Y')},{'pq'[day >= date(2019, 5, 2)]}" for day in (DAY, date(2019, 4, 30)) * 3]
    rows += [f"{day.strftime('%d.%m.%Y')},q" for day in (date(2019, 5, 2), date(2020, 1, 7)) * 3]
    (tmp_path / "t.csv").write_text("opened,y\n" + "\n".join(rows) + "\n")
    said = command("fit", "t.csv", "--dates", "opened", "--depth", 1, "-o", "t", folder=tmp_path).out
    assert "opened ≤ 2019-04-30" in said and "opened > 2019-04-30" in said
    path = command("explain", "t", "t.csv", "--row", 1, folder=tmp_path).out
    assert "2019-03-14" in path and "20190314" not in path


@pytest.mark.parametrize("kind", ["parquet", "jsonl", "polars", "pandas", "datetime"])
def test_dates_of_any_table_are_read_as_numbers(kind, tmp_path):
    frame = pl.DataFrame({"d": [*DAYS, None], "y": ["pq"[day.year > 2005] for day in DAYS] + ["q"]})
    frame = frame.with_columns(pl.col("d").cast(pl.Datetime)) if kind == "datetime" else frame
    table = frame
    if kind in ("parquet", "jsonl"):
        table = tmp_path / f"t.{kind}"
        (frame.write_parquet if kind == "parquet" else frame.write_ndjson)(table)
    elif kind == "pandas":
        table = pytest.importorskip("pandas").DataFrame(frame.to_dict(as_series=False))
    found = odtc.fit(
        table, target="y", dates="d", depth=1, missing="separate", **({} if kind == "jsonl" else {"hold_out": 0.2})
    )
    assert found.tree.root.split.kind == "threshold" and 20051231 <= found.tree.root.split.threshold < 20060200
    assert list(found.predict(table)) == frame["y"].to_list()


def _typed(kind: str, days: list, folder):
    """A table whose column "a, d" has a type of dates: polars' own, a file, or pandas' moments at midnight."""
    frame = pl.DataFrame({"a, d": days, "y": ["pq"[day is None or day.year > 2005] for day in days]})
    if kind == "parquet":
        frame.write_parquet(folder / "t.parquet")
        return folder / "t.parquet"
    if kind == "polars":
        return frame
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"a, d": pandas.to_datetime(days), "y": frame["y"].to_list()})


@pytest.mark.parametrize("kind", ["parquet", "polars", "pandas"])
def test_a_column_whose_type_is_dates_needs_no_option(kind, tmp_path):
    table = _typed(kind, [*DAYS, None], tmp_path)
    found = odtc.fit(table, target="y", depth=1, missing="separate")
    assert 20051231 <= found.tree.root.split.threshold < 20060200 and "2005-12-31" in str(found.tree)
    assert list(found.predict(table)) == ["pq"[day.year > 2005] for day in DAYS] + ["q"]
    as_text = pl.DataFrame({"a, d": ["31.12.2005", "2006-01-01", "2005-12-30 00:00:00"]})
    assert list(found.predict(as_text)) == ["p", "q", "p"]
    named = odtc.fit(table, target="y", depth=1, missing="separate", categorical=["a, d"])
    assert named.tree.features[0].kind == "categorical"


@pytest.mark.parametrize("kind", ["polars", "pandas"])
def test_estimators_read_columns_whose_type_is_dates(kind, tmp_path):
    table = _typed(kind, DAYS * 2, tmp_path)
    X, y = table[["a, d"]], np.array(table["y"])
    learner = odtc.OptimalTreeClassifier(max_depth=1).fit(X, y)
    assert list(learner.predict(X)) == list(y) and "2005-12-31" in str(learner.tree_)
    assert list(learner.predict(pl.DataFrame({"a, d": ["2005-12-31", "01.01.2006"]}))) == ["p", "q"]


def test_moments_of_a_day_stay_levels():
    moments = [datetime(2020, 1, day, 0, day % 2) for day in range(1, 9)]
    table = pl.DataFrame({"d": moments, "x": range(8), "y": list("pq" * 4)})
    assert read(table, target="y").features[0].kind == "categorical"


def test_cells_that_are_not_dates_stay_and_are_noted(tmp_path):
    (tmp_path / "t.csv").write_text(
        "d,y\n" + "".join(f"{day},{'pq'[at % 2]}\n" for at, day in enumerate([*DAYS, "k.A."]))
    )
    said = command("inspect", "t.csv", "--dates", "d", folder=tmp_path)
    assert "--missing-mark k.A." in said.out
    marked = read(tmp_path / "t.csv", dates="d", missing_mark="k.A.", missing="separate")
    assert np.isnan(marked.X[-1, 0]) and marked.X[0, 0] == 19991231
    assert "'dd'" in refused(command("inspect", "t.csv", "--dates", "dd", folder=tmp_path))
    assert "%m/%d/%Y" in command("inspect", "t.csv", "--dates", "d=%m/%d", folder=tmp_path).err


def test_a_url_is_refused_with_a_way():
    with pytest.raises(DataError, match=r"the URL 'https://x.org/t.csv'; download it first"):
        read("https://x.org/t.csv")


@pytest.mark.parametrize("line", ["{", "[1]", '{"a": [1]}', '{"a": 1, "a": 2}', "3", "nul", '{"a": 1} {"a": 2}'])
def test_a_line_that_is_not_an_object_of_values_is_refused(line, tmp_path):
    (tmp_path / "t.jsonl").write_text('{"a": 1, "y": "p"}\n' + line + "\n")
    with pytest.raises(OdtcError, match="line 2"):
        read(tmp_path / "t.jsonl")


RECORDS = [{"a": 1.5, "w": "x", "y": "p"}, {"a": None, "w": 'q "é"', "y": "q"}, {"y": "p", "a": 2}]


@pytest.mark.parametrize("name", ["t.json", "t.jsonl", "t.csv", "t", "t.json.gz", "bom.json"])
@pytest.mark.parametrize("indent", [None, 2])
def test_a_list_of_objects_is_the_table_of_the_same_lines(name, indent, tmp_path):
    text = json.dumps(RECORDS, indent=indent, ensure_ascii=False).encode("utf-8-sig" if "bom" in name else "utf-8")
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    (tmp_path / "lines.jsonl").write_text("\n".join(map(json.dumps, RECORDS)))
    assert table(tmp_path / name).equals(table(tmp_path / "lines.jsonl"))


def test_the_records_that_pandas_writes_are_read_as_its_csv(tmp_path):
    frame = pytest.importorskip("pandas").DataFrame({"a": [1, 2, 3, 4], "b": [0.1, None, 3.5, 1e22], "y": list("pqpq")})
    frame.to_json(tmp_path / "t.json", orient="records")
    frame.to_csv(tmp_path / "t.csv", index=False)
    as_json, as_csv = (read(tmp_path / name, missing="separate") for name in ("t.json", "t.csv"))
    assert as_json.features == as_csv.features and np.array_equal(as_json.X, as_csv.X, equal_nan=True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[{"a": 1, "y": "p"}, 3]', "object 2 .*got int '3'"),
        ('[{"a": 1, "y": "p"}, {"a": [1]}]', "object 2 .*a list or an object as 'a'"),
        ('[{"a": 1, "y": "p"}', "the list .*not JSON"),
        ('[{"a": 1, "a": 2}]', "one name twice"),
        ('[{"a": 1}] [2]', "the list .*not JSON"),
    ],
)
def test_a_list_of_something_else_than_objects_of_values_is_refused(text, words, tmp_path):
    (tmp_path / "t.json").write_text(text)
    with pytest.raises(DataError, match=words):
        read(tmp_path / "t.json")


CELLS = st.sampled_from(["", "NA", "?", "-999", "unknown", "null", "1", "2.5"])


@given(st.lists(st.tuples(CELLS, CELLS), min_size=2, max_size=8), st.sampled_from(["", "-999", ",-999,unknown", "NA"]))
def test_only_missing_replaces_the_built_in_texts_as_na_values_of_pandas_does(folder, rows, only):
    pandas = pytest.importorskip("pandas")
    path = folder / "m.csv"
    path.write_text("x,z,y\n" + "".join(f"{x},{z},{'pq'[at % 2]}\n" for at, (x, z) in enumerate(rows)))
    marks = ["", *filter(None, only.split(","))]
    wanted = pandas.read_csv(path, keep_default_na=False, na_values=marks, dtype=str)[["x", "z"]].isna().to_numpy()
    if wanted.all():
        return
    data = read(path, missing="separate", only_missing=only)
    assert (data.X != data.X).tolist() == wanted.tolist()
    again = ReadingSpec.from_manifest({"target": "y", "missing": "separate"} | data.source)
    assert (read(path, **again.keywords).X == data.X)[~wanted].all()


@pytest.mark.parametrize("stem", ["own", "mip"])
def test_na_stays_a_class_and_a_level(stem, tmp_path):
    (tmp_path / "t.csv").write_text("c,y\n" + "NA,p\nb,NA\n" * 10 + "-1,p\n")
    model = ("--model", "flowoct", "--solver", "highs") if stem == "mip" else ()
    words = ("--only-missing", ",-1", "--depth", 1, "-o", stem)
    said = command("fit", "t.csv", *model, *words, folder=tmp_path)
    assert said.code == 0 and "dropped 1 row of 21" in said.out + said.err
    assert command("verify", stem, folder=tmp_path).code == 0
    said = command("predict", f"{stem}.tree.json", "t.csv", "--score", "--on-missing", "blank", folder=tmp_path)
    assert said.code == 0 and "accuracy  100.00 %" in said.out, said


def test_dropped_rows_are_told_with_the_texts_that_were_taken_for_missing(tmp_path):
    (tmp_path / "t.csv").write_text("a,c,y\n1,NA,p\n2,b,q\n?,b,q\n,b,q\n4,d,p\n")
    said = command("fit", "t.csv", "--depth", 1, "-o", "t", folder=tmp_path)
    assert "dropped 3 rows of 5: 3 with missing cells ('?' in column 'a' and 'NA' in column 'c'; --missing" in said.err
    said = command("fit", "t.csv", "--depth", 1, "--only-missing", "", "--ignore", "a", "-o", "t", folder=tmp_path)
    assert said.code == 0 and "dropped" not in said.err


@pytest.mark.parametrize("rows", [20, 9000])
def test_a_text_that_first_appears_among_numbers_is_told(rows, tmp_path):
    lines = [f"{at / 7},{'pq'[at % 2]}\n" for at in range(rows)]
    (tmp_path / "t.csv").write_text("a,y\n" + "".join(lines) + "N/A,p\n")
    assert read(tmp_path / "t.csv").missing_words == (("a", "N/A"),)


def test_words_between_tabs_are_one_cell(tmp_path):
    (tmp_path / "t.txt").write_text("a b\tc\n1 2\tp\n3 4\tq\n")
    assert [one.name for one in read(tmp_path / "t.txt").features] == ["a b"]
    (tmp_path / "u.txt").write_text('1   2\t"p q"\n3   4\t"r s"\n')
    assert read(tmp_path / "u.txt", header=False).classes == ("p q", "r s")


ROWS = [(at, "Köln" if at % 3 else "Genf", at % 7, "pq"[at > 9]) for at in range(20)]
LINES = "".join(f"{a};{c};{b};{y}\n" for a, c, b, y in ROWS)
OTHERS = {  # files with the same rows as the training file
    "as it is": ("o.csv", f"# mine\n\na;ort;b;y\n{LINES}".encode("cp1252")),
    "utf-8": ("o.csv", f"a;ort;b;y\n{LINES}".encode()),
    "utf-16": ("o.csv", f"a;ort;b;y\n{LINES}".encode("utf-16")),
    "commas": ("o.csv", f"a;ort;b;y\n{LINES}".replace(";", ",").encode("cp1252")),
    "a title": ("o.csv", f"Loans of March\nby me\n\na;ort;b;y\n{LINES}".encode()),
    "other comments": ("o.dat", f"% mine\na;ort;b;y\n{LINES}".encode()),
    "tabs": ("o.tsv", f"a;ort;b;y\n{LINES}".replace(";", "\t").encode()),
    "json": ("o.jsonl", "".join(json.dumps(dict(zip(("a", "ort", "b", "y"), row))) + "\n" for row in ROWS).encode()),
}


@pytest.mark.parametrize("case", OTHERS)
def test_another_file_of_the_command_may_have_another_form(case, tmp_path):
    name, data = OTHERS[case]
    (tmp_path / "t.csv").write_bytes(f"# mine\na;ort;b;y\n{LINES}".encode("cp1252"))
    (tmp_path / name).write_bytes(data)
    form = ("--comment", "#", "--text-encoding", "cp1252", "--separator", ";")
    said = command("fit", "t.csv", *form, "--test", name, "--depth", 2, "--ignore", "a", "-o", "t", folder=tmp_path)
    assert said.code == 0, said.err
    training = re.search(r"training  (\d+) of 20", said.out)[1]
    assert f"test      {5 * int(training):.2f} % of 20 rows correct" in said.out
    said = command("refit", "t", name, "--old-data", name, "-o", "r", folder=tmp_path)
    assert said.code == 0, said.err
    assert command("predict", "t", name, "--score", folder=tmp_path).code == 0
    assert command("verify", "t", folder=tmp_path).code == command("verify", "r", folder=tmp_path).code == 0


def workbook(path, **sheets):
    """Write a workbook with the rows of each sheet, as Office Open XML requires it at least."""
    from xml.sax.saxutils import escape, quoteattr

    def cell(value):
        if value is None:
            return "<c/>"
        return f"<c><v>{value}</v></c>" if isinstance(value, int) else f'<c t="str"><v>{escape(value)}</v></c>'

    of = "http://schemas.openxmlformats.org"
    main, relations = f"{of}/spreadsheetml/2006/main", f"{of}/officeDocument/2006/relationships"
    kinds = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    parts = [f'<sheet name={quoteattr(name)} sheetId="{at}" r:id="r{at}"/>' for at, name in enumerate(sheets, 1)]
    links = "".join(
        f'<Relationship Id="r{at}" Type="{relations}/worksheet" Target="worksheets/s{at}.xml"/>'
        for at in range(1, len(sheets) + 1)
    )
    files = {
        "[Content_Types].xml": f'<Types xmlns="{of}/package/2006/content-types"><Default Extension="rels" ContentType='
        f'"application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType='
        f'"{kinds}.worksheet+xml"/><Override PartName="/xl/workbook.xml" ContentType="{kinds}.sheet.main+xml"/>'
        "</Types>",
        "_rels/.rels": f'<Relationships xmlns="{of}/package/2006/relationships"><Relationship Id="r" Type="{relations}/'
        'officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{relations}"><sheets>{"".join(parts)}</sheets>'
        "</workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{of}/package/2006/relationships">{links}</Relationships>',
    }
    for at, rows in enumerate(sheets.values(), 1):
        lines = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
        files[f"xl/worksheets/s{at}.xml"] = f'<worksheet xmlns="{main}"><sheetData>{lines}</sheetData></worksheet>'
    with zipfile.ZipFile(path, "w") as packed:
        for name, text in files.items():
            packed.writestr(name, text)


@pytest.fixture
def book(tmp_path):
    pytest.importorskip("fastexcel")
    head, code = ("a", "ort", "b", "y"), [("column", "value", "text"), ("ort", "", "home town"), ("y", "p", "paid")]
    sheets = {"Read me": [("written", "by"), ("to-day", "me")], "Train": [head, *ROWS], "Test": [head, *ROWS[::2]]}
    workbook(tmp_path / "book.xlsx", **sheets, Codebook=code)
    return tmp_path


def test_further_files_name_their_sheets_behind_a_sign(book):
    words = ("--sheet", "Train", "--labels", "book.xlsx#Codebook", "--depth", 1, "--ignore", "a", "-o", "t")
    said = command("fit", "book.xlsx", *words, "--test", "book.xlsx#Test", folder=book)
    assert said.code == 0 and "of 10 rows correct" in said.out and "paid" in said.out, said
    assert "training rows, so" not in said.err
    assert command("verify", "t", folder=book).code == 0
    for words in (("book.xlsx#Test",), ("book.xlsx", "--sheet", "Test")):
        said = command("predict", "t", *words, "--score", folder=book)
        assert "of 10 rows correct" in said.out and "trained on" not in said.err
    said = command(
        "refit", "t", "book.xlsx", "--sheet", "Test", "--old-data", "book.xlsx#Train", "-o", "r", folder=book
    )
    assert said.code == 0, said.err
    for command_line in (("fit", "book.xlsx", "--sheet", "Train", "--test"), ("predict", "t")):
        said = command(*command_line, "book.xlsx#Tst", folder=book)
        assert said.code in (1, 2) and "it has Read me, Train, Test, Codebook" in said.err
    said = command("fit", "book.xlsx#Train", folder=book)
    assert said.code == 2 and "--sheet Train" in said.err


@pytest.mark.parametrize("test", ["book.xlsx", "book.xlsx#Train"])
def test_training_rows_as_test_rows_are_reported(test, book):
    words = ("--sheet", "Train", "--depth", 1, "-o", "t", "--test", test)
    said = command("fit", "book.xlsx", *words, folder=book)
    assert said.code == 0 and "are the training rows" in said.err and "FILE.xlsx#SHEET" in said.err
    assert "trained on" in command("predict", "t", test, "--score", folder=book).err


def test_the_other_sheets_of_a_workbook_are_named(book):
    others = "--sheet names another one: 'Train', 'Test', 'Codebook'"
    said = command("inspect", "book.xlsx", folder=book)
    assert said.code == 1 and f"the first of 4 sheets is read, 'Read me'; {others}" in said.err
    assert "names another one" not in command("inspect", "book.xlsx", "--sheet", "Train", folder=book).out
    workbook(book / "other.xlsx", First=[("a", "y"), *((a, y) for a, _, _, y in ROWS)], Second=[("a",), (1,)])
    assert "--sheet names another one: 'Second'" in command("inspect", "other.xlsx", folder=book).out


def test_the_sheet_of_another_workbook_is_found_by_its_columns(book):
    assert command("fit", "book.xlsx", "--sheet", "Train", "--depth", 1, "-o", "t", folder=book).code == 0
    workbook(book / "april.xlsx", Notes=[("x",), (1,)], April=[("a", "ort", "b", "y"), *ROWS[:5]])
    said = command("predict", "t", "april.xlsx", "--score", folder=book)
    assert said.code == 0 and "of 5 rows correct" in said.out


def test_an_encoding_that_misreads_utf8_is_reported(tmp_path):
    (tmp_path / "t.csv").write_text("ort,y\nKöln,p\nGenf,q\n", encoding="utf-8")
    said = command("inspect", "t.csv", "--text-encoding", "cp1252", folder=tmp_path)
    assert (
        said.code == 0 and "it has 'Köln' where --text-encoding cp1252 reads 'KÃ¶ln'; leave the option out" in said.out
    )
    (tmp_path / "t.csv").write_text("ort,y\nKöln,p\nGenf,q\n", encoding="cp1252")
    assert "leave the option out" not in command("inspect", "t.csv", "--text-encoding", "cp1252", folder=tmp_path).out


PLAIN = st.sampled_from(["a", "bc", "1", "-2.5", "x y", "ä"])
BLANKS = st.text(" \t", min_size=1, max_size=3)


@given(st.lists(st.tuples(PLAIN, PLAIN, st.sampled_from("pq")), min_size=2, max_size=8), st.integers(0, 3))
def test_a_table_without_names_below_a_title_is_what_pandas_reads(folder, rows, above):
    pandas = pytest.importorskip("pandas")
    path = folder / "bare.csv"
    path.write_text("a title, in parts\n" * above + "".join(",".join(row) + "\n" for row in rows), encoding="utf-8")
    wanted = pandas.read_csv(path, header=None, skiprows=above, dtype=str, keep_default_na=False)
    got = table(path, header=False, skip_lines=above)
    assert got.columns == ["c1", "c2", "c3"] and got.rows() == [tuple(row) for row in wanted.values.tolist()]


@given(st.lists(st.lists(st.sampled_from(["1", "-2.5", "a", '"b c"']), min_size=3, max_size=3), min_size=2, max_size=8),
       st.lists(BLANKS, min_size=40, max_size=40))  # fmt: skip
def test_white_space_below_names_and_comments_is_what_pandas_reads(folder, rows, blanks):
    pandas = pytest.importorskip("pandas")
    path, between = folder / "named.txt", iter(blanks)
    lines = ["".join(cell + next(between) for cell in row) for row in [["u", "v", "w"], *rows]]
    path.write_text("# of mine\n" + "\n# inside\n".join(lines) + "\n")
    wanted = pandas.read_csv(path, sep=r"\s+", comment="#", dtype=str, keep_default_na=False)
    got = table(path, separator="space", comment="#")
    assert got.columns == wanted.columns.tolist() and got.rows() == [tuple(row) for row in wanted.values.tolist()]


@given(st.lists(st.tuples(PLAIN, PLAIN, st.sampled_from("pq")), min_size=1, max_size=6), st.sampled_from(",;\t|"),
       st.sampled_from(["\n", "\r\n"]))  # fmt: skip
def test_the_separator_of_a_first_line_is_taken_as_excel_takes_it(folder, rows, sign, end):
    path = folder / "excel.csv"
    body = end.join(sign.join(row) for row in [("u", "v", "y"), *rows]) + end
    path.write_bytes((f"sep={sign}{end}" + body).encode())
    wanted = pl.read_csv(body.replace("\r\n", "\n").encode(), separator=sign, infer_schema=False, quote_char=None)
    assert table(path).rows() == wanted.rows() and table(path).columns == wanted.columns
    assert table(path, skip_lines=1, separator="tab" if sign == "\t" else sign).rows() == wanted.rows()


@pytest.mark.parametrize(
    "encoding", ["latin-1", "cp1252", "cp850", "utf-8-sig", "utf-16", "utf-16-be", "gbk", "koi8-r"]
)
@given(data=st.data())
def test_text_in_an_encoding_is_what_pandas_reads(folder, encoding, data):
    pandas = pytest.importorskip("pandas")
    signs = {"gbk": "中国联通a", "koi8-r": "жяЖa"}.get(encoding, "äöüß£a")
    words = st.text(signs, min_size=1, max_size=4)
    rows = data.draw(st.lists(st.tuples(words, words, st.sampled_from("pq")), min_size=1, max_size=6))
    path = folder / f"{encoding}.csv"
    path.write_bytes("\n".join(",".join(row) for row in [("u", "v", "y"), *rows]).encode(encoding))
    wanted = pandas.read_csv(path, encoding=encoding, dtype=str, keep_default_na=False)
    assert table(path, text_encoding=encoding).rows() == [tuple(row) for row in wanted.values.tolist()]


@given(st.lists(st.lists(st.sampled_from(["1", "a", '"b\nc"']), min_size=1, max_size=5), min_size=1, max_size=8))
def test_rows_are_kept_that_pandas_keeps_with_bad_lines_skipped(folder, rows):
    pandas = pytest.importorskip("pandas")
    rows = [row for row in rows if len(row) >= 3] or [["1", "a", "1"]]  # pandas fills short rows
    path = folder / "bad.csv"
    path.write_text("a,b,y\n" + "".join(",".join(row) + "\n" for row in rows))
    # The first row is not too long, because pandas takes its first cell for an index otherwise.
    if any(len(row) == 3 for row in rows[:1]):
        wanted = pandas.read_csv(path, on_bad_lines="skip", dtype=str, keep_default_na=False)
        kept = [row for row in rows if len(row) == 3]
        assert table(path, on_bad_line="skip").rows() == [tuple(c.strip('"') for c in row) for row in kept]
        assert len(wanted) == len(kept)


@given(st.lists(st.tuples(st.integers(-99, 99), st.sampled_from(["u", "v w"]), st.sampled_from("pq")), min_size=1,
                max_size=6), st.sampled_from(["Data", "a#b", "x & y"]))  # fmt: skip
def test_a_named_sheet_is_what_polars_reads(folder, rows, name):
    pytest.importorskip("fastexcel")
    path = folder / "drawn.xlsx"
    workbook(path, First=[("n",), (1,)], **{name: [("u", "v", "y"), *rows]})
    wanted = pl.read_excel(path, sheet_name=name)
    assert table(path, sheet=name).rows() == wanted.rows() == rows
    assert table(f"{path}#{name}").rows() == rows


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "arff"])
def test_the_standard_input_is_what_the_file_is(suffix, tmp_path):
    frame = pl.DataFrame({"a": [1.5, 2.0, 3.0] * 4, "b": ["u", "v", "u"] * 4, "y": ["p", "q", "p"] * 4})
    path = tmp_path / f"t.{suffix}"
    {"csv": frame.write_csv, "jsonl": frame.write_ndjson, "parquet": frame.write_parquet}.get(
        suffix, lambda where: Path(where).write_text(ARFF)
    )(path)
    named = command("inspect", path, "--json", folder=tmp_path).facts
    with path.open("rb") as stream:
        sent = started("inspect", "-", "--json", folder=tmp_path, stdin=stream)
    assert sent.facts | {"data": 0} == named | {"data": 0}, sent.err


ARFF = (
    "@relation r\n@attribute\ta\tnumeric\n@attribute 'd' date 'yyyy-MM-dd'\n@attribute y {p,q}\n@data\n"
    "1.5,'2020-01-02',p,{2}\n2\t'2021-03-04'\tq\n"
)


CELL = st.sampled_from(["1.5", "-2", "?"])


WEIGHED = st.tuples(CELL, CELL, st.sampled_from("pq"), st.sampled_from([None, "1", "2.5"]))


@given(st.lists(WEIGHED, min_size=2, max_size=8), st.sampled_from([",", "\t", ", "]))
def test_weights_tabs_and_dates_of_weka_are_read(folder, rows, sign):
    path = folder / "w.arff"
    head = (
        "@relation r\n@attribute\ta\tnumeric\n@attribute b REAL\n@attribute d date 'yyyy-MM-dd'\n@attribute y {p, q}\n"
    )
    lines = [
        sign.join([a, b, '"2020-01-02"', y]) + (f", {{{weight}}}" if weight is not None else "")
        for a, b, y, weight in rows
    ]
    path.write_text(head + "@data\n% mine\n" + "\n".join(lines) + "\n")
    got = table(path)
    weighed = [name for name in got.columns if name == "instance_weight"]
    assert bool(weighed) == any(weight is not None for *_, weight in rows)
    number = {"?": None, "1.5": 1.5, "-2": -2.0}
    assert got.select("a", "b", "d", pl.col("y").cast(pl.String)).rows() == [
        (number[a], number[b], "2020-01-02", y) for a, b, y, _ in rows
    ]
    if weighed:
        assert got["instance_weight"].to_list() == [1.0 if weight is None else float(weight) for *_, weight in rows]


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("t.json", b'[[1, "p"],\n [2, "q"]]', "a list of lists in JSON; write objects with the names of the columns"),
        ("t.pkl", b"\x80\x04\x95\x1b\0\0\0", "the file of another program (an image, a PDF, a database, a pickle"),
        ("t.csv", b"\x89PNG\r\n\x1a\n\0\0", "the file of another program"),
        (
            "t.csv",
            b"\xef\xbb\xbf\n<!DOCTYPE html><table><tr><td>a</td></tr></table>",
            "HTML or XML; save the table as CSV",
        ),
        ("t.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0", "an old Excel or with a password; save it without one as"),
        ("t.svm", b"1 1:0.5 3:2\n-1 2:1e-3\n", "as LIBSVM writes them; read them by sklearn.datasets"),
    ],
)
def test_a_file_that_is_not_a_table_is_named(name, data, words, tmp_path):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(DataError, match=re.escape(words)):
        read(tmp_path / name)


def test_rows_with_one_cell_more_than_names_are_refused_with_the_repair(tmp_path):
    """R writes the names of rows without a name for their column, and some devices end rows with a separator."""
    rows = [f"{at},{at % 7},{'p' if at % 7 > 3 else 'q'}" for at in range(1, 15)]
    (tmp_path / "r.csv").write_text("\n".join(["a,y", *rows]))
    assert "--skip-lines 1 --no-header" in refused(command("fit", "r.csv", folder=tmp_path))
    words = ("fit", "r.csv", "--skip-lines", 1, "--no-header", "--ignore", "c1", "--depth", 1, "--json")
    assert command(*words, folder=tmp_path).facts["objective"] == 0
    (tmp_path / "named.csv").write_text("\n".join([",a,y", *rows]))
    assert command("fit", "named.csv", "--depth", 1, "--json", folder=tmp_path).facts["objective"] == 0
    ended = [f"{row}," for row in rows]
    (tmp_path / "e.csv").write_text("\n".join(["n,a,y", *ended]))
    assert "write ',' at the end of the first line" in refused(command("fit", "e.csv", folder=tmp_path))
    (tmp_path / "e.csv").write_text("\n".join(["n,a,y,", *ended]))
    assert command("fit", "e.csv", "--ignore", "n", "--depth", 1, "--json", folder=tmp_path).facts["objective"] == 0


@pytest.mark.parametrize(
    ("name", "packed", "found"),
    [
        ("t.zip", None, "a zip archive of 't.csv'"),
        ("t.csv.bz2", bz2.compress(b"a,y\n1,p\n"), "a packed file"),
        ("t.csv.gz", gzip.compress(gzip.compress(b"a,y\n1,p\n")), "a packed file; unpack it first"),
        ("t.csv.xz", lzma.compress(b"a,y\n1,p\n"), "a packed file"),
    ],
)
def test_packed_files_are_named_as_such(tmp_path, name, packed, found):
    if packed is None:
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("t.csv", "a,y\n1,p\n")
    else:
        (tmp_path / name).write_bytes(packed)
    said = refused(command("inspect", name, folder=tmp_path))
    assert found in said and "unpack it first" in said


def test_a_sheet_below_a_title_is_read_by_the_advice(tmp_path):
    pytest.importorskip("fastexcel")
    rows = [(at, at % 3, "p" if at > 6 else "q") for at in range(1, 13)]
    for above in ([("Report",)], [("Report",), ("of", "2020")]):
        workbook(tmp_path / "t.xlsx", Data=[*above, ("a", "b", "y"), *rows])
        said = refused(command("inspect", "t.xlsx", folder=tmp_path))
        assert f"--skip-lines {len(above)}" in said
        found = table(tmp_path / "t.xlsx", skip_lines=len(above))
        assert found.columns == ["a", "b", "y"] and found.rows() == rows
        below = table(tmp_path / "t.xlsx", skip_lines=len(above) + 1, header=False)
        assert below.columns == ["c1", "c2", "c3"] and below.rows() == rows


def test_columns_without_a_name_are_those_of_a_text_file(tmp_path):
    pytest.importorskip("fastexcel")
    rows = [(at, at % 3, None, "p" if at > 6 else "q") for at in range(1, 13)]
    workbook(tmp_path / "t.xlsx", Data=[(None, "b", None, "y"), *rows])
    found = read(tmp_path / "t.xlsx")
    assert [feature.name for feature in found.features] == ["b"]
    assert "column 3 has no name and no cells" in found.left_out[0][2]
    workbook(tmp_path / "u.xlsx", Data=[("a", "b", None, "y"), *[(*row[:2], 1, row[3]) for row in rows]])
    assert "got none for column 3" in refused(command("fit", "u.xlsx", folder=tmp_path))


@pytest.mark.parametrize("sign", [",", ";", " ", "\t"])
def test_a_first_line_of_words_that_repeat_is_taken_for_data(tmp_path, sign):
    """Many files of UCI have neither names nor numbers, so that their first line has a word twice."""
    rows = [["x", "x", "big", "yes"], ["y", "x", "big", "no"], ["x", "y", "small", "yes"]] * 3
    (tmp_path / "t.data").write_text("\n".join(sign.join(row) for row in rows))
    said = refused(command("fit", "t.data", folder=tmp_path))
    assert "looks like data" in said and "--no-header" in said and "rename" not in said
    found = command("fit", "t.data", "--no-header", "--depth", 1, "--json", folder=tmp_path).facts
    assert found["objective"] == 0
    (tmp_path / "n.csv").write_text("\n".join(sign.join(row) for row in [["a", "a", "b", "y"], *rows]))
    assert "rename one" in refused(command("fit", "n.csv", folder=tmp_path))


def test_rows_with_names_for_a_tree_without_them_are_read_by_the_advice(tmp_path):
    rows = "".join(f"{at},{'p' if at > 4 else 'q'}\n" for at in range(9))
    (tmp_path / "t.data").write_text(rows)
    (tmp_path / "named.csv").write_text(f"a,y\n{rows}")
    assert command("fit", "t.data", "--no-header", "--depth", 1, "-o", "t", folder=tmp_path).code == 0
    wanted = command("predict", "t.tree.json", "t.data", folder=tmp_path)
    said = refused(command("predict", "t.tree.json", "named.csv", folder=tmp_path))
    advice = ("--skip-lines", "1", "--no-header")
    assert " ".join(advice) in said
    assert command("predict", "t.tree.json", "named.csv", *advice, folder=tmp_path).out == wanted.out


def test_weights_of_sparse_rows_and_ranges_of_keel_are_read(tmp_path):
    head = "@relation t\n@attribute a real [0, 5]\n@attribute 'b c' integer[1,9]\n@attribute class {no,yes}\n"
    rows = [(0.0, 0, "no", 2), (1.5, 0, "yes", 3), (0.0, 4, "no", 1), (2.0, 5, "yes", 1), (0.0, 0, "yes", 1)]
    dense = "".join(f"{a},{b},{y},{{{weight}}}\n" for a, b, y, weight in rows)
    sparse = "{}, {2}\n{0 1.5, 2 yes}, {3}\n{1 4}\n{0 2, 1 5, 2 yes} , {1}\n{2 yes}\n"
    found = []
    for name, roles, cells in (("d.arff", "", dense), ("s.arff", "@inputs a, b\n@outputs class\n", sparse)):
        (tmp_path / name).write_text(f"{head}{roles}@data\n{cells}")
        found.append(read(tmp_path / name))
        assert found[-1].target == "class" and found[-1].weight.tolist() == [row[3] for row in rows]
        assert read(tmp_path / name, target="last").target == "class"
    assert found[0].X.tolist() == found[1].X.tolist() == [[row[0], row[1]] for row in rows]
    assert found[0].y.tolist() == found[1].y.tolist() == [int(row[2] == "yes") for row in rows]


def test_two_columns_of_one_name_are_refused_in_a_workbook_as_in_a_text(tmp_path):
    """fastexcel calls the second one x_1, and a tree could split on a column that no file has."""
    pytest.importorskip("fastexcel")
    heads = {"Twice": ("x", None, "x", None, "y"), "Own": ("x", "x_1", "x_2", "z", "y")}
    rows = [(1, 4, 2, 5, "p"), (2, 5, 1, 6, "q"), (3, 6, 3, 7, "p")]
    hidden = [(a, None, b, None, y) for a, _, b, _, y in rows]
    workbook(tmp_path / "b.xlsx", Twice=[heads["Twice"], *hidden], Own=[heads["Own"], *rows])
    (tmp_path / "t.csv").write_text("x,x,y\n1,2,p\n2,1,q\n3,3,p\n")
    for words in (("b.xlsx",), ("t.csv",)):
        said = command("inspect", *words, folder=tmp_path)
        assert said.code == 1 and "expected different column names" in said.err and "(--ignore x)" in said.err
    said = command("inspect", "b.xlsx", "--sheet", "Own", "--json", folder=tmp_path)
    assert [column["name"] for column in said.facts["columns"]] == list(heads["Own"])


def test_a_folder_and_an_empty_table_are_named_as_such(tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n1,p\n2,q\n")
    with pytest.raises(DataError, match=r"Is a directory; name a file in it, such as '.*t\.csv'"):
        read(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"name a file in it$"):
        read(tmp_path / "empty")
    (tmp_path / "e.json").write_text("[]")
    with pytest.raises(DataError, match="expected objects with values in .*, got none"):
        read(tmp_path / "e.json")
    pl.DataFrame().write_parquet(tmp_path / "e.parquet")
    for read_it in (read, lambda path: next(frames_of(path))):
        with pytest.raises(DataError, match="got an empty table"):
            read_it(tmp_path / "e.parquet")
