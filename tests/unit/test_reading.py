"""Reading: types, levels, classes, weights, missing cells, file formats, and every error once."""

import csv
import datetime
import gzip
import hashlib
import re
import shutil
import subprocess

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import odtc
from odtc.base.text import show_number
from odtc.data import reading
from odtc.data.cells.data_files import READERS, SUFFIXES, frames_of
from odtc.data.cost_matrix import cost_matrix
from odtc.data.inspection import inspect_data
from odtc.data.notes import notes_on
from odtc.data.reading import from_frame, read
from odtc.data.reading_rows import read_rows
from odtc.data.reading_spec import ReadingSpec
from odtc.errors import ChoiceError, DataError, OdtcError
from odtc.estimators.classifier import OptimalTreeClassifier
from odtc.estimators.regressor import OptimalTreeRegressor

PLAIN = "a,b,flag,y\n1,x,true,no\n2.5,z,False,yes\n3,x,TRUE,no\n"


def written(folder, text, name="data.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def same(one, other):
    assert one.features == other.features
    assert (one.classes, one.target, one.n_dropped) == (other.classes, other.target, other.n_dropped)
    for left, right in ((one.X, other.X), (one.y, other.y), (one.weight, other.weight)):
        np.testing.assert_array_equal(left, right)


def test_types_levels_and_classes(tmp_path):
    path = written(tmp_path, PLAIN, "my.data.csv")
    data = read(path)
    assert (data.name, data.target, data.classes) == ("my.data", "y", ("no", "yes"))
    assert [(f.name, f.kind, f.levels) for f in data.features] == [
        ("a", "numeric", ()),
        ("b", "categorical", ("x", "z")),
        ("flag", "boolean", ("false", "true")),
    ]
    np.testing.assert_array_equal(data.X, [[1, 0, 1], [2.5, 1, 0], [3, 0, 1]])
    np.testing.assert_array_equal(data.y, [0, 1, 0])
    assert (data.X.dtype, data.y.dtype, data.weight.dtype) == (np.float64, np.int32, np.float64)
    assert not (data.X.flags.writeable or data.y.flags.writeable or data.weight.flags.writeable)
    assert data.source == {
        "path": str(path),
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "weights": None,
        "categorical": [],
        "numeric": [],
    }


VARIANTS = {
    "data.csv.gz": gzip.compress(PLAIN.encode()),
    "data.tsv": PLAIN.replace(",", "\t"),
    "data.tab": PLAIN.replace(",", "\t"),
    "data.tsv.gz": gzip.compress(PLAIN.replace(",", "\t").encode()),
    "semicolon.csv": PLAIN.replace(",", ";"),
    "bars.csv": PLAIN.replace(",", "|"),
    "bars.txt.gz": gzip.compress(PLAIN.replace(",", "|").encode()),
    "trailing.csv": PLAIN.replace("\n", ",,\n"),
    "trailing_quoted.csv": PLAIN.replace("\n", ', ,"", NA\n').replace('"", NA', '" ",', 1),
    "bom.csv": b"\xef\xbb\xbf" + PLAIN.encode(),
    "crlf.csv": PLAIN.replace("\n", "\r\n"),
    "cr.csv": PLAIN.replace("\n", "\r"),
    "no_last_end.csv": PLAIN.rstrip("\n"),
    "blank_lines.csv": "\n" + PLAIN.replace("\n", "\n\n"),
    "blanks.csv": PLAIN.replace(",", " , "),
    "quoted.csv": PLAIN.replace("x", '"x"').replace("a,", '"a",'),
    "quoted_crlf_bom.csv": b"\xef\xbb\xbf" + PLAIN.replace("x", '"x"').replace("\n", "\r\n").encode(),
    "UPPER.CSV": PLAIN,
}


@pytest.mark.parametrize("name", VARIANTS)
def test_writing_styles_read_the_same(name, tmp_path):
    same(read(written(tmp_path, VARIANTS[name], name)), read(written(tmp_path, PLAIN, "plain.csv")))


@pytest.mark.parametrize("style", ["plain.csv", "quoted.csv", "d.tsv", "frame", "held out"])
def test_the_names_of_rows_that_r_and_pandas_write_are_not_read(style, tmp_path):
    """`write.csv` and `to_csv` leave the first cell of the header empty."""
    header, *rows = PLAIN.splitlines()
    rows *= 5
    text = "\n".join(["," + header] + [f"row {at},{line}" for at, line in enumerate(rows)]) + "\n"
    if style == "quoted.csv":
        text = text.replace("row 0", '"row 0"').replace(",a,", '"",a,', 1)
    if style == "d.tsv":
        text = text.replace(",", "\t")
    share = {"hold_out": 0.3} if style == "held out" else {}
    path = written(tmp_path, text, style if "." in style else "plain.csv")
    data = read(pl.read_csv(path).rename({"": " "}) if style == "frame" else path, **share)
    plain = read(written(tmp_path, "\n".join([header, *rows]), "without.csv"), **share)
    same(data, plain)
    assert [name.strip() for name in data.source["ignore"]] == [""] and "ignore" not in plain.source


def test_a_quoted_cell_may_be_as_long_as_a_plain_one(tmp_path):
    """Python's csv refuses cells of more than 131,072 signs."""
    before, long = csv.field_size_limit(), "x" * 200_000
    for name, cell in (("plain", long), ("quoted", f'"{long}, {long}"')):
        path = tmp_path / f"{name}.csv"
        path.write_text(f"a,b,y\n1,{cell},p\n2,z,q\n")
        assert read(path).features[1].levels == (cell.strip('"'), "z")
    assert csv.field_size_limit() == before


def test_utf_16_without_a_mark_is_named(tmp_path):
    (tmp_path / "d.csv").write_bytes("a,y\n1,p\n2,q\n".encode("utf-16-le"))
    with pytest.raises(DataError, match="bytes of zero in its header, as UTF-16 has; save it as UTF-8"):
        read(tmp_path / "d.csv")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("name", ["d.txt", "d.csv", "d.tsv.gz"])
@pytest.mark.parametrize("style", ["plain", "quoted"])
def test_utf_16_with_a_mark_is_read(tmp_path, encoding, name, style):
    """Excel saves "Unicode text" so: a tab between cells, an ending .txt, a byte order mark before all."""
    text = "größe\tort, land\ty\r\n1\tĊ🙂\tp\r\n2\tb\tq\r\n"
    if style == "quoted":
        text = text.replace("b\t", '"b"\t')
    if name == "d.csv":
        text = text.replace("ort, land", "land")
    plain = read(written(tmp_path, text, "plain.tsv"))
    as_bytes = ("\ufeff" + text).encode(encoding)
    path = tmp_path / name
    path.write_bytes(gzip.compress(as_bytes) if name.endswith(".gz") else as_bytes)
    same(read(path), plain)
    for size in (7, 1 << 20):  # a piece may end within a sign
        assert pl.concat(frames_of(path, size)).equals(pl.concat(frames_of(tmp_path / "plain.tsv")))


@pytest.mark.parametrize("damage", ["half a sign", "half a pair"])
def test_damaged_utf_16_is_refused_in_a_sentence(tmp_path, damage):
    whole = "\ufeffa\ty\n1\tp\n2\tq\n".encode("utf-16-le")
    path = tmp_path / "d.txt"
    path.write_bytes(whole + (b"3" if damage == "half a sign" else b"\x00\xd8\x41\x00"))
    for read_whole in (read, lambda path: list(frames_of(path, 4))):
        with pytest.raises(DataError, match=f"expected whole UTF-16 text .*got .* behind byte {len(whole)} .*save it"):
            read_whole(path)


@pytest.mark.skipif(shutil.which("iconv") is None, reason="iconv is not on this machine")
@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("name", ["a table.csv", "a table.csv.gz"])
def test_the_command_in_the_message_makes_a_file_that_can_be_read(tmp_path, name, encoding):
    plain, packed = "größe,y\n1,p\n2,q\n", name.endswith(".gz")
    written_as = plain.encode(encoding)
    (tmp_path / name).write_bytes(gzip.compress(written_as) if packed else written_as)
    with pytest.raises(DataError, match="save it as UTF-8, in Excel as 'CSV UTF-8'") as told:
        read(tmp_path / name)
    command = re.search("`(.*)`", str(told.value))[1]
    subprocess.run(command, shell=True, check=True, cwd=tmp_path)
    assert (tmp_path / "NEW.csv").read_text(encoding="utf-8-sig") == plain


@pytest.mark.parametrize("sign", ["\t", ";", ","])
def test_txt_is_separated_by_what_its_header_has(tmp_path, sign):
    same(read(written(tmp_path, PLAIN.replace(",", sign), "d.txt")), read(written(tmp_path, PLAIN, "e.csv")))


def test_quoted_cells_may_hold_commas_quotes_and_lines(tmp_path):
    data = read(written(tmp_path, 'a,y\n"p,q","one\nline"\n"r ""s""",two\n'))
    assert data.features[0].levels == ("p,q", 'r "s"')
    assert data.classes == ("one\nline", "two")


def test_what_is_decoded_of_parquet_at_once_are_whole_row_groups(tmp_path, monkeypatch):
    """A slice of a row group decodes all of it."""
    rows, path = np.arange(600_000), tmp_path / "d.parquet"
    pl.DataFrame({"a": rows, "y": rows % 2}).write_parquet(path, row_group_size=2**18)
    reader, begins, cut = READERS.get("parquet"), [], pl.LazyFrame.slice
    monkeypatch.setattr(pl.LazyFrame, "slice", lambda table, begin, n: begins.append(begin) or cut(table, begin, n))
    for size in (16 * 80_000, 16 * 300_000):
        begins.clear()
        frames = list(reader.batches(path, size))
        assert begins == [0, 2**18, 2**19]
        assert np.array_equal(pl.concat(frames)["a"].to_numpy(), rows)
        assert max(frame.height for frame in frames) * 16 <= size
    monkeypatch.setattr("odtc.data.cells.readers.parquet.MAX_GROUP_BYTES", 2**18)  # groups are too large
    begins.clear()
    assert np.array_equal(pl.concat(reader.batches(path, 16 * 80_000))["a"].to_numpy(), rows)
    assert begins == list(range(0, 600_000, 80_000))


@pytest.mark.parametrize("cells", [[b"ab", b"\xff\x00", b"c", None], [b"\xff", b"a", b"b", b"c"]])
def test_bytes_that_are_no_text_are_refused_wherever_they_stand(tmp_path, cells):
    """Found by fuzzing: the first cell alone was looked at."""
    pl.DataFrame({"g": cells, "x": [1.0, 2, 3, 4], "y": ["a", "b", "a", "b"]}).write_parquet(tmp_path / "d.parquet")
    with pytest.raises(DataError, match="numbers, words, booleans or dates in column 'g' of .*, got the type Binary"):
        read(tmp_path / "d.parquet", missing="separate")
    assert [feature.name for feature in read(tmp_path / "d.parquet", ignore=["g"]).features] == ["x"]


def test_parquet(tmp_path):
    frame = pl.DataFrame(
        {
            "i": [1, 2, 2**60],
            "f": [0.5, float("nan"), -1.0],
            "flag": [True, False, True],
            "word": ["x", "?", "z"],
            "day": [datetime.date(2024, 1, d) for d in (3, 1, 2)],
            "code": pl.Series(["2", "10", "2"], dtype=pl.Categorical),
            "y": [1, 0, 1],
        }
    )
    frame.write_parquet(tmp_path / "odd [name]*.parquet")
    data = read(tmp_path / "odd [name]*.parquet", missing="separate")
    kinds = ["numeric", "numeric", "boolean", "categorical", "numeric", "categorical"]
    assert [f.kind for f in data.features] == kinds and data.features[4].is_date
    assert [f.levels for f in data.features if f.kind == "categorical"] == [("x", "z"), ("2", "10")]
    np.testing.assert_array_equal(data.X[1], [2, np.nan, 0, np.nan, 20240101, 1])
    assert data.classes == ("0", "1")


ARFF = """% a comment
@relation r
@attribute 'a b' numeric
@attribute code {1, 2, 'y z'}
@attribute s string
@attribute y {0, 1}
@data
1.5, 2, 'hello, you', 0
?, 'y z', ?, 1
3, 1, b, 1
"""


def test_arff(tmp_path):
    data = read(written(tmp_path, ARFF, "data.arff"), missing="separate")
    assert [(f.name, f.kind, f.levels) for f in data.features] == [
        ("a b", "numeric", ()),
        ("code", "categorical", ("1", "2", "y z")),
        ("s", "categorical", ("b", "hello, you")),
    ]
    np.testing.assert_array_equal(data.X, [[1.5, 1, 1], [np.nan, 2, np.nan], [3, 0, 0]])
    assert data.classes == ("0", "1")


def test_sparse_arff(tmp_path):
    text = "@relation r\n@attribute a numeric\n@attribute c {1,2}\n@attribute y {p,q}\n@data\n{0 1.5, 2 q}\n{1 2}\n{}\n"
    data = read(written(tmp_path, text, "data.arff"))
    assert data.features[1].kind == "categorical"  # declared to be, though the levels are numbers
    np.testing.assert_array_equal(data.X, [[1.5, 0], [0, 1], [0, 0]])
    np.testing.assert_array_equal(data.y, [1, 0, 0])


def test_numbers_as_names_are_written_short_and_sorted_as_numbers(tmp_path):
    path = written(tmp_path, "a,b,y\n10,1.0,2\n9.0,x,1.0\n9,1,1\n")
    data = read(path, categorical=["a"])
    assert [f.levels for f in data.features] == [("9", "10"), ("1", "1.0", "x")]
    assert data.classes == ("1", "2")


def test_names_too_long_for_a_double_stay_apart(tmp_path):
    data = read(written(tmp_path, "a,y\n9007199254740993,p\n9007199254740992,q\n"), categorical="a")
    assert data.features[0].levels == ("9007199254740992", "9007199254740993")


@pytest.mark.parametrize("kind", ["csv", "arff", "int", "decimal"])
def test_whole_numbers_that_a_double_does_not_tell_apart_are_refused(tmp_path, kind):
    """2^53 and its neighbour are one double: as numbers the two rows would be one."""

    def write(*cells):
        if kind == "csv":
            return written(tmp_path, "a,y\n" + "".join(f"{cell},{'pq'[at % 2]}\n" for at, cell in enumerate(cells)))
        if kind == "arff":
            rows = "".join(f"{cell},{'pq'[at % 2]}\n" for at, cell in enumerate(cells))
            return written(
                tmp_path, f"@relation r\n@attribute 'a b' numeric\n@attribute y {{p, q}}\n@data\n{rows}", "data.arff"
            )
        dtype = pl.Int64 if kind == "int" else pl.Decimal(30, 0)
        frame = pl.DataFrame(
            {"a": pl.Series([int(cell) for cell in cells]).cast(dtype), "y": ["pq"[at % 2] for at in range(len(cells))]}
        )
        frame.write_parquet(tmp_path / "data.parquet")
        return tmp_path / "data.parquet"

    name = "a b" if kind == "arff" else "a"
    with pytest.raises(
        DataError,
        match=f"differ as doubles in column '{name}' of .*, got 9007199254740992 and, in row 3, 9007199254740993",
    ):
        read(write("9007199254740992", "7", "9007199254740993"))
    path = write("9007199254740992", "7", "9007199254740993")
    assert read(path, categorical=name).features[0].levels == ("7", "9007199254740992", "9007199254740993")
    # What is told apart, or is the same number, stays.
    data = read(write("9007199254740992", "9007199254740994", "9007199254740992"))
    np.testing.assert_array_equal(data.X[:, 0], [2.0**53, 2.0**53 + 2, 2.0**53])


def test_an_attribute_without_a_blank_behind_the_word_is_counted(tmp_path):
    """Found by fuzzing: the reader takes it for a declaration, and the search for large numbers did not."""
    path = tmp_path / "a.arff"
    path.write_text("@relation r\n@attribute y {p,q}\n@attributex b real\n@data\np,1e300\nq,3\n")
    assert [feature.name for feature in read(path, target="y").features] == ["b"]


@pytest.mark.parametrize("end", ["\r\n", " \r\n", "\r", "\t \r\n"])
def test_large_numbers_of_an_arff_file_with_lines_of_windows_are_told_apart(tmp_path, end):
    """Found by fuzzing: the type at the end of such a line was not found, which was a fault."""
    head = [
        "@relation r",
        f"@attribute x real{end.removesuffix(chr(10))}",
        f"@attribute id NUMERIC{end.rstrip(chr(10))}",
    ]
    body = ["@attribute y {a,b}", "@data", "1,9007199254740993,a", "2,9007199254740992,b", "2,7,b"]
    (tmp_path / "d.arff").write_bytes("\n".join([*head, *body]).encode())
    data = read(tmp_path / "d.arff", categorical="id")
    assert data.features[1].levels == ("7", "9007199254740992", "9007199254740993") and data.n_rows == 3
    assert data.features[0].kind == "numeric"


def test_one_large_number_written_in_two_ways_is_one(tmp_path):
    data = read(
        written(tmp_path, "a,y\n1e16,p\n10000000000000000.0,q\n12345678901234567890.5,p\n12345678901234567890.25,q\n")
    )
    assert len(set(data.X[:, 0])) == 2


def test_options_override_the_guess(tmp_path):
    path = written(tmp_path, "a,b,y\n1,?,p\n2,3,q\n3,4,q\n")
    data = read(path, target="a", categorical=["b"], numeric=[])
    assert (data.target, data.n_dropped, data.classes) == ("a", 1, ("2", "3"))
    assert [f.kind for f in data.features] == ["categorical", "categorical"]
    assert data.source["categorical"] == ["b"]


def test_missing_tokens(tmp_path):
    tokens = ["", "?", "NA", "N/A", "NaN", "nan", "null", "NULL", " ? "]
    path = written(tmp_path, "a,y\n" + "".join(f"{token},p\n" for token in tokens) + "1,q\n2,p\n")
    data = read(path, missing="separate")
    assert data.features[0].kind == "numeric"
    np.testing.assert_array_equal(np.isnan(data.X[:, 0]), [True] * 9 + [False] * 2)
    assert read(path).n_dropped == 9


def test_separate_drops_rows_without_a_label(tmp_path):
    path = written(tmp_path, "a,y\n?,p\n1,?\n2,q\n?,?\n")
    data = read(path, missing="separate")
    assert (data.n_rows, data.n_dropped, data.n_unlabelled, data.missing) == (2, 2, 2, "separate")


def test_weights_are_no_feature_and_no_default_target(tmp_path):
    path = written(tmp_path, "a,y,w\n1,p,0.5\n2,q,2.5\n3,q,?\n")
    data = read(path, weights="w")
    assert (data.target, [f.name for f in data.features], data.n_dropped) == ("y", ["a"], 1)
    np.testing.assert_array_equal(data.weight, [0.5, 2.5])
    assert data.source["weights"] == "w"


@pytest.mark.parametrize("task", ["classification", "policy", "regression", "median", "survival"])
def test_rows_of_weight_0_are_left_out(task, tmp_path):
    """A weight is a number of rows. Only tasks of numbers left them out; other leaves counted them as rows."""
    path = written(tmp_path, "a,y,e,w\n1,3,1,1\n2,4,0,0\n3,5,1,2\n4,3,1,0\n")
    words = {"survival": {"time": "y", "event": "e"}, "policy": {"actions": ("y", "e")}}.get(task, {"target": "y"})
    data = read(path, task=task, weights="w", **words)
    assert (data.n_file_rows, data.n_unlabelled) == (2, 2)
    with pytest.raises(DataError, match="or weight 0, and the"):
        read(written(tmp_path, "a,y,w\n1,p,0\n2,q,2\n3,q,1\n"), weights="w")


def test_large_and_negative_zero_numbers(tmp_path):
    data = read(written(tmp_path, "a,y\n-0,p\n9007199254740993,q\n1e300,q\n"))
    np.testing.assert_array_equal(data.X[:, 0], [0, 2.0**53, 1e300])
    assert not np.signbit(data.X[0, 0])


def test_a_frame_needs_no_file():
    data = from_frame(pl.DataFrame({"a": [1, 2], "y": ["p", "q"]}), "mine")
    assert (data.name, data.source["path"], data.n_rows) == ("mine", None, 2)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
def test_rows_read_again_are_the_training_rows(suffix, tmp_path):
    path = tmp_path / f"data{suffix}"
    if suffix == ".parquet":
        pl.DataFrame({"a": [1.0, 2.5], "b": ["x", "z"], "flag": [True, False], "y": [1, 0]}).write_parquet(path)
    else:
        written(tmp_path, PLAIN.replace(",", "," if suffix == ".csv" else "\t"), path.name)
    data = read(path)
    again = read_rows(path, data.features, data.classes, data.target, require_labels=True)
    np.testing.assert_array_equal(again.X, data.X)
    np.testing.assert_array_equal(again.y, data.y)


def test_rows_to_predict(tmp_path):
    data = read(written(tmp_path, "a,b,k,y\n1,x,1,no\n2,z,2,yes\n"), categorical=["k"])
    path = written(tmp_path, "y,extra,b,k,a\nno,e,new,2.0,1\nmaybe,e,,7,?\n?,e, x ,1e0,2\n", "test.csv")
    rows = read_rows(path, data.features, data.classes, data.target)
    np.testing.assert_array_equal(rows.X, [[1, -1, 1], [np.nan, np.nan, -1], [2, 0, 0]])
    np.testing.assert_array_equal(rows.y, [0, -1, -1])
    assert rows.y.dtype == np.int32 and rows.name == "test"
    path = written(tmp_path, "k,b,a,w\n1,x,2,3\n", "unlabelled.csv")
    no_label = read_rows(path, data.features, data.classes, "y", weights="w")
    np.testing.assert_array_equal(no_label.y, [-1])
    np.testing.assert_array_equal(no_label.weight, [3])


def test_numbers_find_their_class_however_they_are_written(tmp_path):
    data = read(written(tmp_path, "a,y\n1,0\n2,1\n"))
    pl.DataFrame({"a": [1, 2], "y": [0.0, 1.0]}).write_parquet(tmp_path / "t.parquet")
    np.testing.assert_array_equal(read_rows(tmp_path / "t.parquet", data.features, data.classes, "y").y, [0, 1])


ROWS_ERRORS = {
    "absent feature": ("aa,y\n1,p\n", {}, ["feature column 'a'", "did you mean 'aa'"]),
    "no number": ("a,y\n1,p\noops,q\n", {}, ["'a'", "'oops'", "row 2"]),
    "infinite": ("a,y\n-inf,p\n", {}, ["finite", "'-inf'", "row 1"]),
    "absent label": ("a\n1\n", {"require_labels": True}, ["label column 'y'"]),
    "absent weights": ("a,y\n1,p\n", {"weights": "w"}, ["weight column 'w'"]),
    "missing weight": ("a,y,w\n1,p,2\n1,p,\n", {"weights": "w"}, ["row 2", "'w'"]),
}


def test_only_the_columns_that_are_used_need_be_there(tmp_path):
    data = read(written(tmp_path, "a,b,c,y\n1,x,2,p\n2,z,3,q\n"))
    path = written(tmp_path, "b,c\nz,oops\n", "test.csv")
    rows = read_rows(path, data.features, data.classes, "y", used={1})
    np.testing.assert_array_equal(rows.X, [[np.nan, 1, np.nan]])
    with pytest.raises(DataError) as caught:
        read_rows(written(tmp_path, "z\n1\n", "test.csv"), data.features, data.classes, "y", used={0, 2})
    is_one_sentence(caught.value, ["feature columns 'a', 'c' in", "test.csv"])


def test_the_sign_that_a_header_has_most_often_parts_its_cells(tmp_path):
    text = "sales, net;size;y\n1,5;2;p\n2,5;3;q\n"
    data = read(written(tmp_path, text), decimal=",")
    assert [feature.name for feature in data.features] == ["sales, net", "size"] and data.X[0].tolist() == [1.5, 2]
    assert [one.name for one in read(written(tmp_path, "a|b,c,y\n1,2,p\n1,3,q\n")).features] == ["a|b", "c"]
    assert [one.name for one in read(written(tmp_path, "a;b,y\n1,p\n2,q\n")).features] == ["a;b"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_blank_lines_are_skipped_wherever_they_stand(tmp_path, monkeypatch, end):
    """Around missing last cells, too, which polars shows as it shows a blank line."""
    lines = ["a,b,y", "1,2,p", "", "2,,q", "", "", "3,4,p", "4,5,", "", "5,6,q", "", ""]
    path = written(tmp_path, end.join(lines) + end)
    whole = read(path, missing="separate")
    assert whole.n_rows == 4 and whole.n_unlabelled == 1
    for size in range(1, 40):
        monkeypatch.setattr(reading, "BATCH", size)
        same(read(path, missing="separate"), whole)
    lines[6] = "3,4"
    for size in (1, 12, 1000):
        monkeypatch.setattr(reading, "BATCH", size)
        with pytest.raises(DataError, match=r"expected 3 cells in every row of .*, got 2 in row 3 "):
            read(written(tmp_path, end.join(lines) + end))


def test_inspect_counts_splits_and_rows_without_the_columns_that_fit_leaves_out(tmp_path):
    (tmp_path / "d.csv").write_text("a,void,b,y\n" + "".join(f"{at},,{at % 3},{at % 2}\n" for at in range(9)))
    found = inspect_data(tmp_path / "d.csv")
    assert [one.splits for one in found.columns] == [8, 0, 2, None]
    assert "9 rows\n" in str(found) and "column 'void' has no cell, and is left out" in str(found)


def test_columns_without_a_cell_are_left_out_with_a_remark(tmp_path, monkeypatch):
    text = "a,,void,b,y,,\n" + "".join(f"{i},,{'' if i % 2 else 'NA'},{i % 3},{'pq'[i % 2]},,\n" for i in range(24))
    path = written(tmp_path, text)
    data = read(path)
    assert [feature.name for feature in data.features] == ["a", "b"] and data.n_rows == 24 and data.target == "y"
    assert data.source["ignore"] == ["void"]
    texts = [note.text for note in notes_on(data)]
    assert "columns 2, 6, 7 have no name and no cells, and are left out" in texts
    assert "column 'void' has no cell, and is left out" in texts
    again = read(path, **ReadingSpec.from_manifest({"target": "y", "missing": "drop"} | data.source).keywords)
    assert again.features == data.features
    assert [feature.name for feature in read(path, missing="separate").features] == ["a", "void", "b"]
    assert [feature.name for feature in read(path, hold_out=0.5).features] == ["a", "b"]
    monkeypatch.setattr(reading, "BATCH", 50)
    assert np.array_equal(read(path).X, data.X)
    with pytest.raises(DataError, match="column 'void' has 24 missing cells"):
        read(path, numeric=["void"])
    with pytest.raises(DataError, match="no missing cell"):
        read(path, missing="error")


def test_a_column_without_a_name_has_a_cell_beyond_the_first_frame(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "BATCH", 30)
    for quote in ("", '"'):
        lines = [f"{i},{'late' if i == 17 else ''},{quote}{'pq'[i % 2]}{quote}" for i in range(1, 25)]
        path = written(tmp_path, "a,,y\n" + "\n".join(lines) + "\n")
        with pytest.raises(DataError, match=r"a blank one for column 2, which has 'late' in row 17;"):
            read(path)


@pytest.mark.parametrize("case", ROWS_ERRORS)
def test_rows_errors(case, tmp_path):
    text, options, words = ROWS_ERRORS[case]
    data = read(written(tmp_path, "a,y\n1,p\n2,q\n"))
    with pytest.raises(DataError) as caught:
        read_rows(written(tmp_path, text, "test.csv"), data.features, data.classes, "y", **options)
    is_one_sentence(caught.value, ["test.csv", *words])


def is_one_sentence(problem, words):
    text = str(problem)
    assert "\n" not in text and "Traceback" not in text and len(text) < 400
    for word in words:
        assert word in text, text


MANY = "a,y\n" + "".join(f"{i % 3},{i / 7}\n" for i in range(20))

# case: (file name, content, options, error, words of the message)
ERRORS = {
    "suffix": ("d.bin", b"a\0b", {}, DataError, [".csv", ".tsv", ".parquet", ".arff", "d.bin"]),
    "empty": ("d.csv", "", {}, DataError, ["empty file"]),
    "only blanks": ("d.csv", " \n\n", {}, DataError, ["empty file"]),
    "empty gzip": ("d.csv.gz", gzip.compress(b""), {}, DataError, ["empty file"]),
    "header only": ("d.csv", "a,y\n", {}, DataError, ["header only"]),
    "header only quoted": ("d.csv", '"a",y\n', {}, DataError, ["header only"]),
    "short row": ("d.csv", "a,b,y\n1,2,p\n\n1,q\n", {}, DataError, ["expected 3 cells", "got 2", "row 2"]),
    "long row": ("d.tsv", "a\ty\n1\tp\t\n", {}, DataError, ["expected 2 cells", "got 3", "row 1"]),
    "ragged quoted": ("d.csv", 'a,y\n"1\n2",p\n1\n', {}, DataError, ["expected 2 cells", "got 1", "row 2"]),
    "open quote": ("d.csv", 'a,y\n1,p\n"2,q\n', {}, DataError, ["quoted", "row 2"]),
    "odd quote": ("d.csv", 'a,y\n"1"2,p\n', {}, DataError, ["quoted", "row 1"]),
    "a mark, and latin-1": (
        "d.csv",
        b"\xef\xbb\xbfa,y\n1,x\n" + "2,café\n".encode("latin-1"),
        {},
        DataError,
        ["UTF-8", "0xe9", "line 3", "byte 17"],
    ),
    "latin-1": ("d.csv", "a,y\n1,café\n".encode("latin-1"), {}, DataError, ["UTF-8", "0xe9", "line 2", "byte 10"]),
    "repeated name": ("d.csv", "a,b,a,y\n1,2,3,p\n", {}, DataError, ["'a'", "column 1", "column 3"]),
    "repeated quoted": ("d.csv", '"a", a,y\n1,2,p\n', {}, DataError, ["'a'", "column 1", "column 2"]),
    "blank name": ("d.csv", "a, ,y\n1, ,q\n1,2,p\n", {}, DataError, ["blank", "column 2", "'2' in row 2"]),
    "blank name quoted": ("d.csv", 'a,"",y\n"1",,q\n1,2,p\n', {}, DataError, ["blank", "column 2", "'2' in row 2"]),
    "a list as text": ("d.csv", PLAIN, {"ignore": "a,b"}, ChoiceError, ["'a,b' as one name", "['a', 'b']"]),
    "auxiliary columns as one text": (
        "d.csv",
        PLAIN,
        {"auxiliary": "a, b"},
        ChoiceError,
        ["'a, b' as one name", "['a', 'b']"],
    ),
    "gzip cut": ("d.csv.gz", gzip.compress(PLAIN.encode())[:-9], {}, DataError, ["gzip", "download it again"]),
    "gzip none": ("d.csv.gz", PLAIN, {}, DataError, ["gzip", "rename it without .gz"]),
    "gzip spoilt": ("d.csv.gz", gzip.compress(PLAIN.encode())[:12] + b"\xff" * 30, {}, DataError, ["gzip"]),
    "parquet": ("d.parquet", "PAR1 no", {}, DataError, ["Parquet"]),
    "arff": ("d.arff", "@relation r\n@attribute\n@data\n", {}, DataError, ["ARFF"]),
    "arff value": ("d.arff", ARFF.replace("1.5, 2", "1.5, 7"), {}, DataError, ["ARFF", "line 8"]),
    "arff name": ("d.arff", ARFF.replace("code", "s"), {}, DataError, ["ARFF", "line 5"]),
    "target": ("d.csv", PLAIN, {"target": "flags"}, ChoiceError, ["'flags'", "did you mean 'flag'"]),
    "target far": ("d.csv", PLAIN, {"target": "zzz"}, ChoiceError, ["'zzz'", "'a', 'b', 'flag', 'y'"]),
    "categorical": ("d.csv", PLAIN, {"categorical": ["flg"]}, ChoiceError, ["`categorical`", "did you mean 'flag'"]),
    "numeric": ("d.csv", PLAIN, {"numeric": ["aa"]}, ChoiceError, ["`numeric`", "did you mean 'a'"]),
    "weights": ("d.csv", PLAIN, {"weights": "w"}, ChoiceError, ["`weights`", "'w'"]),
    "target categorical": ("d.csv", PLAIN, {"categorical": ["y"]}, ChoiceError, ["`categorical`", "target"]),
    "target weights": ("d.csv", PLAIN, {"target": "a", "weights": "a"}, ChoiceError, ["`weights`", "target"]),
    "weights numeric": ("d.csv", PLAIN, {"weights": "a", "numeric": ["a"]}, ChoiceError, ["'a'", "weights"]),
    "both": ("d.csv", PLAIN, {"numeric": ["a"], "categorical": ["a"]}, ChoiceError, ["'a'", "both"]),
    "no number": ("d.csv", PLAIN, {"numeric": ["b"]}, DataError, ["'b'", "'x'", "row 1"]),
    "boolean number": ("d.csv", PLAIN, {"numeric": ["flag"]}, DataError, ["'flag'", "'true'"]),
    "infinite": ("d.csv", "a,y\n1,p\n1e999,q\n", {}, DataError, ["finite", "'a'", "'1e999'", "row 2"]),
    "policy": ("d.csv", PLAIN, {"missing": "dropp"}, ChoiceError, ["did you mean 'drop'", "separate"]),
    "missing": ("d.csv", "a,y\n1,p\n?,q\n?,?\n", {"missing": "error"}, DataError, ["3 in 2 rows", "row 2", "'a'"]),
    "nothing left": (
        "d.csv",
        "a,b,c,y\n1,,2,p\n2,?,,q\n3,4,,q\n",
        {},
        DataError,
        ["3 rows", "'b'", "has 2 missing cells"],
    ),
    "no label": ("d.csv", "a,y\n1,\n2,\n", {"missing": "separate"}, DataError, ["2 rows", "'y'"]),
    "all missing, dropped": ("d.csv", "a,b,y\n,?,p\n?,,q\n", {}, DataError, ["known cell in some feature column"]),
    "all missing": ("d.csv", "a,y\n,p\n?,q\n", {"missing": "separate"}, DataError, ["known cell"]),
    "one class": ("d.csv", "a,y\n1,p\n2,p\n", {}, DataError, ["two classes", "'p'", "2 rows"]),
    "no feature": ("d.csv", "y\np\nq\n", {}, DataError, ["feature column", "'y'"]),
    "regression": ("d.csv", MANY, {}, DataError, ["regression", "'y'", "20 different numbers"]),
    "weight dropped": ("d.csv", "w,a,y\n1,,p\n0,2,q\n0,3,p\n", {"weights": "w"}, DataError, ["above 0", "'w'", "fill"]),
    "weight word": ("d.csv", "w,a,y\n1,2,p\nx,2,q\n", {"weights": "w"}, DataError, ["'w'", "'x'", "row 2"]),
    "weight negative": ("d.csv", "w,a,y\n1,2,p\n-2,2,q\n", {"weights": "w"}, DataError, ["'w'", "-2", "row 2"]),
    "weight infinite": ("d.csv", "w,a,y\n1,2,p\ninf,2,q\n", {"weights": "w"}, DataError, ["'w'", "finite", "row 2"]),
    "weight zero": ("d.csv", "w,a,y\n0,2,p\n0,2,q\n", {"weights": "w"}, DataError, ["'w'", "above 0"]),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors_are_one_sentence(case, tmp_path):
    name, content, options, kind, words = ERRORS[case]
    with pytest.raises(kind) as caught:
        read(written(tmp_path, content, name), **options)
    is_one_sentence(caught.value, words if case in ("policy", "both", "weights numeric") else [name, *words])


def test_absent_folder_and_forbidden_files(tmp_path, monkeypatch):
    with pytest.raises(DataError, match="No such file"):
        read(tmp_path / "absent.csv")
    with pytest.raises(DataError, match="[Dd]irectory"):
        read(tmp_path)
    path = written(tmp_path, PLAIN)

    def forbidden(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(path), "open", forbidden)
    with pytest.raises(DataError, match="Permission denied"):
        read(path)


def test_a_few_numbers_as_classes_are_no_regression(tmp_path):
    assert len(read(written(tmp_path, MANY.replace("\n19,", "\n1,")), target="a").classes) == 3
    assert len(read(written(tmp_path, "\n".join(MANY.split("\n")[:20]))).classes) == 19
    numbers = pl.DataFrame({"a": [1, 2] * 10, "y": [*range(10), *[0] * 10]})
    assert len(from_frame(numbers, "half").classes) == 10
    with pytest.raises(DataError, match="regression"):
        from_frame(numbers.with_columns(y=pl.Series([*range(11), *[0] * 9])), "more")
    words = numbers.with_columns(y=pl.Series([f"c{i}" for i in range(20)]))
    assert len(from_frame(words, "words").classes) == 20


def test_a_gzip_file_that_holds_far_more_than_text_does_is_refused(tmp_path):
    """The memory needed follows the content, not the size on disk."""
    path = written(tmp_path, gzip.compress(b"a,y\n" + b"1,0\n1,1\n" * 10 + b"\n" * (1 << 27)), "data.csv.gz")
    with pytest.raises(DataError, match=r"expected packed data in .*, but its [0-9,]+ bytes hold more than"):
        read(path)


def test_nested_columns_are_refused():
    with pytest.raises(DataError, match="'a'"):
        from_frame(pl.DataFrame({"a": [[1], [2]], "y": ["p", "q"]}), "mine")


@pytest.mark.parametrize("cut", [4, 50, 200, -4, -9, -40])
def test_cut_parquet_is_one_sentence(cut, tmp_path):
    pl.DataFrame({"a": range(100), "y": ["p", "q"] * 50}).write_parquet(tmp_path / "d.parquet")
    written(tmp_path, (tmp_path / "d.parquet").read_bytes()[:cut], "d.parquet")
    with pytest.raises(DataError, match="Parquet"):
        read(tmp_path / "d.parquet")


@given(st.binary(max_size=200), st.sampled_from(["d.csv", "d.csv.gz", "d.tsv", "d.arff", "d.parquet"]))
def test_any_bytes_are_read_or_refused_in_one_error(tmp_path_factory, content, name):
    path = written(tmp_path_factory.getbasetemp(), content, name)
    try:
        read(path)
    except OdtcError:
        pass


@given(st.text(alphabet='ab1;?," \r\n\t', max_size=60))
def test_any_text_is_read_or_refused_in_one_error(tmp_path_factory, text):
    path = written(tmp_path_factory.getbasetemp(), "a,b\n" + text, "text.csv")
    try:
        read(path, missing="separate")
    except OdtcError:
        pass


CELL = st.text(alphabet="ab10.- ?é'#;", max_size=4)


@given(st.lists(st.tuples(CELL, CELL, st.sampled_from("pq")), min_size=1, max_size=8))
def test_quoted_and_plain_text_are_one_frame(tmp_path_factory, rows):
    folder = tmp_path_factory.getbasetemp()
    lines = [("a", "b", "y"), *rows]
    plain = written(folder, "\n".join(",".join(cells) for cells in lines), "plain.csv")
    quoted = written(folder, "\n".join(",".join(f'"{cell}"' for cell in cells) for cells in lines), "quoted.csv")
    reader = READERS.get("csv")
    assert reader.read(plain).equals(reader.read(quoted), null_equal=True)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=20))
def test_numbers_are_read_exactly(values):
    text = pl.DataFrame({"a": [repr(value) for value in values], "y": ["p", *["q"] * (len(values) - 1)]})
    np.testing.assert_array_equal(from_frame(text, "mine").X[:, 0], values)


@given(st.sets(st.floats(-1e6, 1e6), min_size=2, max_size=9))
def test_numbers_as_classes_are_sorted_and_in_a_file_short(tmp_path_factory, values):
    frame = pl.DataFrame({"a": range(len(values)), "y": [repr(value) for value in values]})
    path = tmp_path_factory.getbasetemp() / "classes.csv"
    frame.write_csv(path)
    assert read(path).classes == tuple(show_number(value) for value in sorted(values))
    assert from_frame(frame, "mine").classes == tuple(repr(value) for value in sorted(values))


def test_the_suffixes_that_are_listed_are_those_of_the_readers():
    assert {name: READERS.get(name).SUFFIXES for name in READERS.module_names} == SUFFIXES


def test_every_reader_is_complete():
    suffixes = [suffix for name in READERS.names() for suffix in READERS.get(name).SUFFIXES]
    assert len(set(suffixes)) == len(suffixes)
    for name in READERS.names():
        assert READERS.get(name).NAME == name and READERS.get(name).SUMMARY


def test_skin_reads_in_a_second(shared_data):
    data = read(shared_data / "skin-segmentation.csv.gz")
    assert (data.name, data.X.shape, data.classes) == ("skin-segmentation", (245057, 3), ("1", "2"))
    np.testing.assert_array_equal(np.bincount(data.y), [50859, 194198])


def test_a_cell_of_any_length_makes_no_long_message(tmp_path):
    """Found by fuzzing: the parser of ARFF says the cell that it refuses, a cost file its unknown class."""
    text = f"@relation r\n@attribute a {{1,2}}\n@attribute y {{p,q}}\n@data\n1,p\n{'9' * 50_000},q\n"
    with pytest.raises(DataError, match="expected ARFF") as refused:
        read(written(tmp_path, text, "data.arff"))
    assert len(str(refused.value)) < 4000 and str(refused.value).endswith("save the data as CSV")
    with pytest.raises(ChoiceError, match="unknown class") as refused:
        cost_matrix(("a", "b"), np.ones(2), cost={("9" * 50_000, "b"): 1})
    assert len(str(refused.value)) < 4000


@pytest.mark.parametrize(
    "title", ["Loans of 2024,,\n", "Loans of 2024\n", "Loans of 2024\n\n", "Loans of 2024,,\n,,\n"]
)
def test_a_title_above_the_names_of_the_columns_is_told_as_one(title, tmp_path):
    with pytest.raises(
        DataError, match="names of the 3 columns in the first line of .*title.*, leave out the lines above"
    ) as refused:
        read(written(tmp_path, title + "a,b,y\n" + "1,2,u\n2,1,v\n" * 20))
    lines = int(re.search(r"skip_lines=(\d+)", str(refused.value))[1])
    assert [one.name for one in read(tmp_path / "data.csv", skip_lines=lines).features] == ["a", "b"]


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
@pytest.mark.parametrize("comment", ["", "# Straße\n"])
@pytest.mark.parametrize(
    "title",
    [
        "Straße;;;\n",
        "Straße\n",
        "Straße\nfrom 1,5 to 2, or more\n\n",
        "Straße;;;\nas of May;;;\n;;;\n",
        "a, b\nStraße\n",
    ],
)
def test_a_title_is_left_out_by_the_advice_with_other_options_too(title, comment, encoding, tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes((comment + title + "a;straße;b;y\n" + "1,5;2;3;u\n2,25;1;3;v\n" * 20).encode(encoding))
    given = ({"comment": "#"} if comment else {}) | ({"text_encoding": encoding} if encoding != "utf-8" else {})
    with pytest.raises(DataError, match="names of the 4 columns .*title.*, leave out the lines above") as refused:
        read(path, **given)
    lines = int(re.search(r"skip_lines=(\d+)", str(refused.value))[1])
    assert [one.name for one in read(path, skip_lines=lines, **given).features] == ["a", "straße", "b"]


@pytest.mark.parametrize("at", [1, 2, 250])
@pytest.mark.parametrize("row", ["1,2", "1,2,x,4", "1,2,x,", "1", " ", ",,,"])
@pytest.mark.parametrize("last", ["x", ""])
def test_a_row_of_another_width_is_named_wherever_it_stands(at, row, last, tmp_path):
    """polars takes the width from the first rows that it sees, fills short rows, and refuses long ones."""
    rows = [f"{k},{k % 7},{'xy'[k % 2]}" for k in range(300)]
    rows[5] = f"5,5,{last}"  # a label that is missing is no short row
    rows.insert(at - 1, row)
    with pytest.raises(DataError, match=rf"expected 3 cells in every row of .*, got {row.count(',') + 1} in row {at} "):
        read(written(tmp_path, "a,b,y\n" + "\n".join(rows) + "\n"))
    del rows[at - 1]
    assert read(written(tmp_path, "a,b,y\n" + "\n".join(rows) + "\n")).n_dropped == (last == "")


@pytest.mark.parametrize("cells", [[[1], [2, 3]], [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]], ids=["list", "struct"])
def test_columns_of_lists_and_structs_are_refused(tmp_path, cells):
    pl.DataFrame({"n": [0.5, 1.5], "cell": cells, "y": [0, 1]}).write_parquet(tmp_path / "data.parquet")
    with pytest.raises(DataError, match="dates in column 'cell' .*leave it out with .ignore"):
        read(tmp_path / "data.parquet")
    assert [feature.name for feature in read(tmp_path / "data.parquet", ignore=["cell"]).features] == ["n"]


@pytest.mark.parametrize("name", ["*", "^b.*", "$1", "b*", "[a]", "(.*)$"])
@pytest.mark.parametrize("suffix", ["csv", "arff"])
def test_a_column_called_by_a_pattern_is_that_column_alone(name, suffix, tmp_path):
    """polars takes `*` for all columns: such a column ended in its exception."""
    cells = [[0.5, 9, 0, 1], [2.5, 7, 1, 0], [4.5, 9, 0, 1]]
    lines = "".join(f"{one},{b},{y},{z}\n" for one, b, y, z in cells)
    head = f"{name},b1,y,z\n" if suffix == "csv" else "@relation r\n"
    if suffix == "arff":
        head += "".join(f"@attribute '{one}' numeric\n" for one in (name, "b1"))
        head += "@attribute y {0,1}\n@attribute z {0,1}\n@data\n"
    path = written(tmp_path, head + lines, f"d.{suffix}")
    for more in ({}, {"ignore": ["b1", "z"]}, {"weights": name, "ignore": ["z"]}, {"auxiliary": ["b1"]}):
        data = read(path, target="y", **more)
        found = dict(zip((feature.name for feature in data.features), data.X.T.tolist()))
        if "weights" in more:
            assert set(found) == {"b1"} and data.weight.tolist() == [0.5, 2.5, 4.5]
        else:
            assert found[name] == [0.5, 2.5, 4.5] and data.y.tolist() == [0, 1, 0]
            assert set(found) == {name, "b1", "z"} - {*more.get("ignore", ()), *more.get("auxiliary", ())}
            again = read_rows(path, data.features, data.classes, data.target)
            np.testing.assert_array_equal(again.X, data.X)


@pytest.mark.parametrize("name", ["^b.*$", "^.*$", "^y$", "^$"])
def test_a_column_called_by_a_pattern_of_polars_is_refused(name, tmp_path):
    """Such a column was once read as those whose names it matches, without a word."""
    path = written(tmp_path, f"{name},b1,b2,y\n5,9,1,0\n6,8,2,1\n")
    for more in ({}, {"ignore": ["b1", "b2"]}):
        with pytest.raises(DataError, match="not patterns between .* for column 1; rename it"):
            read(path, **more)
    with pytest.raises(DataError, match="not patterns between"):
        from_frame(pl.DataFrame({name: [1.0, 2.0], "y": ["a", "b"]}), "d")


def test_dates_of_arff_are_read_as_words(tmp_path):
    head = "@relation r\n@attribute x numeric\n@attribute 'on day' {}\n@attribute y {{a,b}}\n@data\n"
    rows = '1,"2020-01-01",a\n2,"2020-02-01",b\n'
    (tmp_path / "d.arff").write_text(head.format('date "yyyy-MM-dd"') + rows)
    dates = read(tmp_path / "d.arff")
    (tmp_path / "d.arff").write_text(head.format("string") + rows)
    assert read(tmp_path / "d.arff").features == dates.features and dates.n_rows == 2


@pytest.mark.parametrize("dtype", [name for name in ("Int128", "UInt128") if hasattr(pl, name)])
def test_whole_numbers_of_128_bits_are_numbers(dtype, tmp_path):
    """polars reads whole numbers beyond 64 bits as such; numpy has no type for them."""
    frame = pl.DataFrame({"a": pl.Series([1, 2, 3, 2**80], dtype=getattr(pl, dtype)), "y": [0, 1, 1, 0]})
    frame.write_parquet(tmp_path / "d.parquet")
    for source in (frame, tmp_path / "d.parquet"):
        dataset = read(source, target="y")
        assert dataset.features[0].kind == "numeric" and dataset.X[:, 0].tolist() == [1, 2, 3, 2.0**80]
    tree = OptimalTreeClassifier().fit(frame[["a"]], frame["y"])
    assert tree.predict(frame[["a"]]).tolist() == [0, 1, 1, 0]
    assert tree.predict(pl.DataFrame({"a": [3]}).cast(getattr(pl, dtype))).tolist() == [1]


@pytest.mark.parametrize(
    "dtype", [pl.Decimal(20, 1)] + [getattr(pl, n) for n in ("Int128", "UInt128") if hasattr(pl, n)]
)
def test_labels_and_weights_of_types_that_numpy_does_not_have(dtype):
    """The labels, weights and targets of a database are decimals, and sums of whole numbers have 128 bits."""
    frame = pl.DataFrame({"a": [1.0, 2.0, 3.0, 4.0]})
    labels, weights = pl.Series("y", [0, 1, 1, 0]), pl.Series([1, 2, 1, 3])
    wide, heavy = labels.cast(dtype), weights.cast(dtype)
    plain = odtc.fit(X=frame, y=labels, weights=weights, depth=1)
    again = odtc.fit(X=frame, y=wide, weights=heavy, depth=1)
    assert again.solution.objective == plain.solution.objective == 1.0
    tree = OptimalTreeClassifier(max_depth=1).fit(frame, wide, sample_weight=heavy)
    assert tree.objective_ == 1.0 and tree.classes_.tolist() == [0, 1]
    assert all(check.passed for check in tree.verify(frame, wide, heavy))
    assert OptimalTreeRegressor(max_depth=2).fit(frame, wide, heavy).predict(frame).tolist() == [0, 1, 1, 0]


def test_dates_are_not_weights():
    frame, days = pl.DataFrame({"a": [1.0, 2.0]}), [datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)]
    for weights in (pl.Series(days), np.array(days, "datetime64[D]")):
        with pytest.raises(DataError, match="expected weights as the name of a column, or as a number for each"):
            odtc.fit(X=frame, y=[0, 1], weights=weights)
        with pytest.raises(ValueError, match="expected numbers as sample_weight, got dates"):
            OptimalTreeClassifier().fit(frame, [0, 1], sample_weight=weights)
