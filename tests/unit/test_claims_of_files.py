"""Claims of a solution file, call by call: about the built model, about an edited model, or none."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from odtc.errors import SolutionError
from odtc.fileformats.model_files import read_model, write_model
from odtc.fileformats.solution_files import RawPoint
from odtc.model.blocks import NamedBlock
from odtc.model.points import name_list
from odtc.model.solution import EDITED, Termination
from odtc.workflow.provenance.claims import file_of, point_of, settled_claim, under_columns
from tests.unit.test_rechecking import folder, opened, with_facts  # noqa: F401  fixtures


@pytest.fixture
def case(opened, folder, tmp_path):  # noqa: F811
    """(manifest beside no model file, model, solution, the model as its file is read)."""
    model, solution, manifest, *_ = opened
    return replace(manifest, path=tmp_path / "m.odt.json"), model, solution, read_model(folder / "m.mps")


def written(model, folder) -> str:  # noqa: F811
    """Writes the model file of a folder; its content."""
    path = write_model(replace(model, identity="", problem=None), folder / "m.mps", "mps")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def claims(case, path, **changes):
    manifest, model, solution, _ = case
    return settled_claim(changes.pop("manifest", manifest), changes.pop("model", model), solution, path)[1]


def test_what_names_its_model_and_file_keeps_its_claim(case, tmp_path):
    manifest, model, solution, _ = case
    for content in ("", manifest.content):
        given = replace(solution, content=content)
        assert settled_claim(manifest, model, given, tmp_path / "m.sol") == (model, given)


def test_without_a_point_nothing_is_said_of_a_claim(case, tmp_path):
    manifest, model, solution, _ = case
    none = replace(solution, x=None, model="", message="")
    assert settled_claim(manifest, model, none, tmp_path / "m.sol") == (model, none)


@pytest.mark.parametrize(
    ("termination", "bound", "claimed"),
    [
        (Termination.OPTIMAL, 27.0, " (optimal, bound 27)"),
        (Termination.OPTIMAL, None, " (optimal)"),
        (Termination.TIME_LIMIT, 3.5, " (bound 3.5)"),
        (Termination.TIME_LIMIT, None, None),
    ],
)
def test_a_file_that_does_not_say_its_model_proves_nothing(termination, bound, claimed, case, tmp_path):
    manifest, model, solution, _ = case
    given = replace(solution, model="", termination=termination, bound=bound, message="")
    nameless = replace(manifest, facts={key: value for key, value in manifest.facts.items() if key != "identity"})
    for known, more in ((manifest, ""), (nameless, ", and neither does the manifest")):
        same, found = settled_claim(known, model, given, tmp_path / "m.sol")
        assert same is model
        if claimed is None:
            assert found == given
            continue
        ended = Termination.UNKNOWN if termination == Termination.OPTIMAL else termination
        assert (found.termination, found.bound) == (ended, None)
        assert found.message.startswith(
            f"the file does not name its model{more}, so its claim{claimed} does not count as a proof; "
        )
    named = replace(given, model=solution.model)
    found = settled_claim(nameless, model, named, tmp_path / "m.sol")[1]
    assert found == named if claimed is None else "neither does the manifest" in found.message


def test_of_columns_alone_nothing_is_proved(case, tmp_path):
    manifest, model, solution, _ = case
    found = settled_claim(manifest, replace(model, rowless=True, recorded="of old"), solution, tmp_path / "m.sol")[1]
    assert found.bound is None and found.message == "of old, so nothing is proved"


def test_another_file_that_is_not_at_hand_proves_nothing(case, tmp_path):
    manifest, model, solution, plain = case
    given = replace(solution, content="0" * 64)
    for _ in range(2):
        found = settled_claim(manifest, model, given, tmp_path / "m.sol")[1]
        assert (found.termination, found.bound) == ("unknown", None) and "it is not at hand" in found.message
        written(plain, tmp_path)  # one of another content


def test_the_same_model_in_other_words_is_the_model(case, folder, tmp_path):  # noqa: F811
    manifest, model, solution, _ = case
    data = (folder / "m.mps").read_bytes() + b"* a remark\n"
    (tmp_path / "m.mps").write_bytes(data)
    given = replace(solution, content=hashlib.sha256(data).hexdigest())
    assert settled_claim(manifest, model, given, tmp_path / "m.sol") == (model, given)


def test_an_edited_objective_proves_nothing(case, tmp_path):
    manifest, model, solution, plain = case
    dearer = plain.c.copy()
    dearer[np.flatnonzero(dearer)[0]] *= 2
    contents = [written(replace(plain, c=dearer, matrix=plain.A), tmp_path)]
    (tmp_path / "m.mps").rename(tmp_path / "m.lp")
    written(plain, tmp_path)
    data = (tmp_path / "m.mps").read_bytes()
    objective = data.split(b" N ", 1)[1].split()[0]
    data = data.replace(b"\nRHS\n", b"\nRHS\n    RHS  " + objective + b"  -3\n", 1)  # a constant of 3
    (tmp_path / "m.mps").write_bytes(data)
    assert read_model(tmp_path / "m.mps").offset == 3
    for content in (*contents, hashlib.sha256(data).hexdigest()):
        given = replace(solution, content=content)
        same, found = settled_claim(manifest, model, given, tmp_path / "m.sol")
        assert same is model and found.bound is None and not found.scope
        assert found.message.startswith("the objective in the model file was edited since it was built")


def test_edited_rows_make_it_a_claim_of_the_edited_model(case, tmp_path):
    manifest, model, solution, plain = case
    upper = np.where(np.isneginf(plain.row_lower), plain.row_upper + 1, plain.row_upper)  # rows of one side
    given = replace(solution, content=written(replace(plain, row_upper=upper, matrix=plain.A), tmp_path))
    edited, found = settled_claim(manifest, model, given, tmp_path / "m.sol")
    assert edited.edited is not None and sorted(edited.edited.row_upper) != sorted(model.row_upper)
    assert (found.scope, found.termination, found.bound) == (EDITED, solution.termination, solution.bound)
    assert found.x.tolist() == solution.x.tolist()


def with_own_column(plain):
    """The model with one more column, in two of its rows, before all others."""
    column = np.zeros((plain.n_rows, 1))
    column[:2] = 1
    names = ("mine", *name_list(plain.columns))
    return replace(
        plain,
        c=np.append(0.0, plain.c),
        col_lower=np.append(0.0, plain.col_lower),
        col_upper=np.append(1.0, plain.col_upper),
        integrality=np.append(np.uint8(0), plain.integrality),
        columns=(NamedBlock(names),),
        matrix=sp.hstack([sp.csc_array(column), plain.A]).tocsc(),
        terms=(),
    )


def test_own_columns_come_last_and_are_zero_in_a_point_without_them(case, tmp_path):
    manifest, model, solution, plain = case
    content = written(with_own_column(plain), tmp_path)
    edited, found = settled_claim(manifest, model, replace(solution, content=content), tmp_path / "m.sol")
    assert name_list(edited.edited.columns) == [*name_list(model.columns), "mine"]
    assert found.scope == EDITED and found.x.tolist() == [*solution.x.tolist(), 0.0]
    assert edited.edited.col_upper.tolist() == [*model.col_upper.tolist(), 1.0]
    raw = RawPoint("", ["mine", *name_list(model.columns)], np.append(7.0, solution.x))
    point = point_of(manifest, model, raw, content, tmp_path / "m.sol")
    assert point.tolist() == [*solution.x.tolist(), 7.0]
    assert point_of(manifest, model, replace(raw, n_columns=model.n_cols + 1), content, tmp_path / "m.sol").size
    own = RawPoint("", name_list(model.columns), solution.x)
    assert point_of(manifest, model, own, "", tmp_path / "m.sol").tolist() == solution.x.tolist()
    for other, known in (
        (raw, ""),  # of which file it is, is not known
        (raw, "0" * 64),
        (replace(raw, n_columns=model.n_cols + 5), content),
        (RawPoint("", None, np.append(7.0, solution.x), n_columns=model.n_cols + 1), content),
    ):
        with pytest.raises(SolutionError):
            point_of(manifest, model, other, known, tmp_path / "m.sol")
    # Names of others beside the file as it was built.
    with pytest.raises(SolutionError):
        point_of(manifest, model, raw, written(plain, tmp_path), tmp_path / "m.sol")


def test_a_file_that_lacks_columns_proves_nothing(case, tmp_path):
    manifest, model, solution, plain = case
    names = name_list(plain.columns)
    for other in ([f"z{at}" for at in range(len(names))], [*names[:-1], "z"]):
        given = replace(plain, columns=(NamedBlock(tuple(other)),), matrix=plain.A)
        content = written(given, tmp_path)
        same, found = settled_claim(manifest, model, replace(solution, content=content), tmp_path / "m.sol")
        assert same is model and found.bound is None
        assert found.message.startswith("the model file was edited since it was built, so nothing is proved: ")


def test_a_longer_file_that_lacks_a_column_proves_nothing(case, tmp_path):
    manifest, model, solution, plain = case
    longer = with_own_column(plain)
    names = name_list(longer.columns)
    content = written(replace(longer, columns=(NamedBlock((names[0], "z", *names[2:])),), matrix=longer.A), tmp_path)
    same, found = settled_claim(manifest, model, replace(solution, content=content), tmp_path / "m.sol")
    assert same is model and f"it lacks columns of the model, {names[1]!r} is the first" in found.message


def test_rows_are_compared_with_their_numbers_and_sides_in_any_order(case):
    manifest, model, _, plain = case
    assert under_columns(manifest, model, plain) is None
    turned = np.arange(plain.n_rows)[::-1]
    again = replace(
        plain,
        matrix=plain.A.tocsr()[turned].tocsc(),
        row_lower=plain.row_lower[turned],
        row_upper=plain.row_upper[turned],
    )
    assert under_columns(manifest, model, again) is None
    A = plain.A.tocsc().copy()
    A.data[0] *= 2
    lower = np.where(np.isfinite(plain.row_lower), plain.row_lower - 1, plain.row_lower)
    for change in (
        {"matrix": A},
        {"row_lower": lower, "matrix": plain.A},
        {"col_lower": plain.col_lower - 1, "matrix": plain.A},
        {"col_upper": plain.col_upper + 1, "matrix": plain.A},
        {"integrality": 1 - plain.integrality, "matrix": plain.A},
        {"c": plain.c + 1, "matrix": plain.A},
        {"offset": plain.offset + 1, "matrix": plain.A},
    ):
        moved = under_columns(manifest, model, replace(plain, **change))
        assert moved is not None and moved.columns == model.columns


def test_a_model_file_that_cannot_be_read_is_none(case, tmp_path):
    manifest, _, _, plain = case
    content = written(plain, tmp_path)
    (tmp_path / "m.lp").write_text("no model")
    assert file_of(manifest, content, tmp_path / "m.sol").content == content
    assert file_of(replace(manifest, path=tmp_path / "none" / "n.odt.json"), content, tmp_path / "x.sol") is None
    assert file_of(manifest, content, tmp_path / "x.sol").content == content  # beside the manifest
