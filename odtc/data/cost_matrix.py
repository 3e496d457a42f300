"""Costs of misclassifications for each class and each predicted class, and checks of the weights that they multiply.

`cost[k, c]` is the cost of predicting c for one unit of weight of class k; a correct prediction costs nothing. By
default every error costs 1, so that the loss is the weight of the misclassified rows.

* Class weights give all errors on a class the same cost. "balanced" uses W / (K W_k), with W the weight of all rows,
  W_k the weight of class k and K the number of classes with a positive weight: every class then weighs W / K, and the
  loss of a tree is W · (1 - balanced accuracy).
* A cost matrix has a cost for each pair; together with class weights, row k is multiplied by the weight of k.
"""

import csv
import io
import math
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from odtc.base import deadline
from odtc.base.spec_fields import plain, quoted
from odtc.base.text import did_you_mean, in_list, show_number
from odtc.base.whole_numbers import as_written, nearest_floats, summed_weights, whole_numbers
from odtc.base.wording import option
from odtc.data.cells.text_pieces import read_text
from odtc.errors import ChoiceError, DataError, OdtcError

Names = tuple[str, ...]
LINES = 500  # lines of a cost file between two checks of the deadline; a shorter file is always read
MOST_COST = 1e150  # largest sum of weights or costs; its square is still a double


def unit_cost(K: int) -> np.ndarray:
    """Return float64 (K, K): a cost of 1 for every error."""
    return 1.0 - np.eye(K)


def cost_matrix(classes: Names, class_weights: np.ndarray, class_weight=None, cost=None) -> np.ndarray:
    """Return float64 (classes, classes): cell (k, c) is the cost of predicting class c for class k.

    `class_weights` (classes,) is the weight of the rows of each class, as of `weight_of_classes`. `class_weight` is
    "balanced", "CLASS=W,CLASS=W" or a mapping by class name; a class that is not named weighs 1. `cost` is the path of
    a CSV file, the matrix itself, "TRUE:PREDICTED=COST,…", or a mapping by (true, predicted); a pair that is not named
    costs 1. Raises ChoiceError, and TimeLimitReached within a long file.
    """
    K = len(classes)
    if cost is None:
        matrix = unit_cost(K)
    elif isinstance(cost, str | Path):
        matrix = _from_file(Path(cost), classes) if _is_file(cost) else _from_pairs(_pairs(str(cost), classes), classes)
    elif isinstance(cost, Mapping):
        matrix = _from_pairs(cost, classes)
    else:
        matrix = _checked(cost, classes)
    if class_weight is None:
        return matrix
    if isinstance(class_weight, str) and class_weight.strip() == "balanced":
        factors = _balanced(class_weights)
    else:
        given = (
            class_weight
            if isinstance(class_weight, Mapping)
            else _assignments(
                class_weight, f"{option('class_weight')}: expected balanced, or CLASS=W such as {classes[0]}=5"
            )
        )
        factors = [Fraction(1)] * K
        for name, value in given.items():
            price = _price(value, f"the weight of class {str(name)!r}")
            factors[_place(name, classes, option("class_weight"))] = as_written(price)
    return _checked(_times_rows(matrix, factors), classes)


def weight_of_classes(dataset: Any) -> np.ndarray:
    """Return float64 (classes,): the weight of the rows of each class of a Dataset, sums of decimals rounded once."""
    return summed_weights(dataset.y, dataset.weight, len(dataset.classes))


def _balanced(class_weights: np.ndarray) -> list[Fraction]:
    """Return W / (K W_k) for each class; 1 for a class without weight, which is not counted in K."""
    weights = list(map(as_written, class_weights.tolist()))
    whole, used = sum(weights), sum(weight > 0 for weight in weights)
    return [whole / (used * weight) if weight else Fraction(1) for weight in weights]


def _times_rows(matrix: np.ndarray, factors: list[Fraction]) -> np.ndarray:
    """Return the matrix with each row multiplied by its factor and rounded once, because only the nearest double of a
    decimal or a quotient stands for it (odtc.base.whole_numbers.as_written)."""
    whole, unit = whole_numbers(matrix)
    try:
        return np.array([nearest_floats(line, unit * factor) for line, factor in zip(whole, factors)])
    except OverflowError:
        raise ChoiceError(
            f"expected costs below {MOST_COST:g}, got more in a product of {option('class_weight')} and costs; divide "
            "the weights or costs by a power of ten"
        ) from None


def cost_text(cost: list[list[float]], classes) -> str:
    """Return a matrix of costs in the form of `--cost`: the costs that are not 1."""
    pairs = [
        f"{classes[true]}:{classes[predicted]}={plain(cost[true][predicted])}"
        for true in range(len(classes))
        for predicted in range(len(classes))
        if true != predicted and cost[true][predicted] != 1
    ]
    return ",".join(map(quoted, pairs))


def expect_telling_prices(weight: np.ndarray, cost: np.ndarray, least: float) -> None:
    """Raise ChoiceError if errors cost too little to distinguish trees by them, or so much in total that a double
    cannot represent the square.

    Parameters
    ----------
    weight : float64 (rows,)
    cost : float64 (classes, classes)
    least : float
        Least cost of the most expensive error.
    """
    with np.errstate(over="ignore"):
        most = float(weight.max(initial=0.0) * cost.max(initial=0.0))
        total = float(weight.sum() * cost.max(initial=0.0))
    if total >= MOST_COST:
        raise ChoiceError(
            f"expected errors that cost less than {MOST_COST:g} in all, weights times costs, got up to {total:.4g}: "
            "doubles have to hold the squares of sums; divide the weights or costs by a power of ten"
        )
    if 0 < most < least:
        raise ChoiceError(
            f"expected an error that costs {least:g} or more, its weight times cost, got {most:.4g} at most: what "
            f"differs by a tenth of that counts as equal here; multiply the weights or costs by "
            f"{10.0 ** -math.floor(math.log10(most)):g}"
        )


def expect_weights(values: np.ndarray, name: str, place: str) -> np.ndarray:
    """Return the weights, float64 of shape (rows,), NaN if missing; raises DataError below 0, if all are 0, and if
    they add up to too much."""
    if (values < 0).any():
        row = (values < 0).argmax()
        raise DataError(
            f"expected weights of 0 or more in column {name!r} of {place}, got {show_number(values[row])} in row "
            f"{row + 1}; correct it"
        )
    if not (values > 0).any():
        raise DataError(f"expected a weight above 0 in column {name!r} of {place}, got none; name another column")
    expect_addable(values, "weights", f"column {name!r} of {place}")
    return values


def expect_weight_left(values: np.ndarray, name: str, place: str) -> None:
    """Raise DataError if the remaining rows have no weight; `values` are their weights, float64 (rows,)."""
    if not (values > 0).any():
        raise DataError(
            f"expected a weight above 0 in column {name!r} of {place} in a row without missing cells, got none; fill "
            f"them in, choose {option('missing', 'separate')}, or name another column"
        )


def expect_addable(numbers: np.ndarray, what: str, place: str) -> None:
    """Raise DataError if numbers of 0 or more add up to a sum whose square is too large for a double.

    Parameters
    ----------
    numbers : float64 (numbers,)
        NaN counts as 0.
    what, place : str
        A description of the numbers, and where they come from.
    """
    most = float(np.nanmax(numbers, initial=0.0))
    if most < MOST_COST / max(1, len(numbers)):
        return
    total = float(np.nansum(numbers / most))
    if most >= MOST_COST or total * most >= MOST_COST:
        size = math.log10(most) + math.log10(total)
        raise DataError(
            f"expected {what} that add up to less than {MOST_COST:g} in {place}, got about 1e{size:.0f}: doubles have "
            f"to hold the squares of sums; multiply all by {10.0 ** -math.ceil(math.log10(most)):g}, say"
        )


def lost_weights(weight: np.ndarray) -> str:
    """Return a remark on weights so small compared with their sum that sums in doubles lose them; "" if there are
    none.

    Parameters
    ----------
    weight : float64 (rows,)

    Returns
    -------
    str
    """
    some, total = weight[weight > 0], float(weight.sum())
    lost = some[some < total * len(some) * 2.0**-53]
    if not len(lost):
        return ""
    return (
        f"rounding loses {len(lost):,} of {len(some):,} weights, the least {lost.min():g}, because the sum of all "
        f"is {total:g}: printed figures and the sums of a solver leave them out, although a proof of odtc counts them; "
        "use weights of similar size if these rows matter"
    )


def _is_file(cost) -> bool:
    text = str(cost)
    if isinstance(cost, Path) or "=" not in text:
        return True
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # a text too long for the name of a file
        return False


def _from_file(path: Path, classes: Names) -> np.ndarray:
    """Return the matrix of a file (`_read_file`); raises DataError for a file without a matrix."""
    try:
        return _read_file(path, classes)
    except ChoiceError as problem:
        raise DataError(str(problem)) from None


def _read_file(path: Path, classes: Names) -> np.ndarray:
    """Return the matrix of a table with a header of predicted classes, and one line for each true class; the diagonal
    may be blank."""
    where = f"the cost file {str(path)!r}"
    try:
        text = read_text(path, has_option=False)
    except OSError as problem:
        raise ChoiceError(
            f"cannot read {where}: {problem.strerror}; {option('cost')} expects a CSV file, or TRUE:PREDICTED=COST,…"
        ) from None
    except OdtcError as problem:
        raise ChoiceError(f"{where} cannot be used: {problem}") from None
    try:
        lines = [
            [cell.strip() for cell in line]
            for line in csv.reader(io.StringIO(text), strict=True)
            if any(map(str.strip, line))
        ]
    except csv.Error as problem:
        raise ChoiceError(f"expected comma separated text in {where}, got {problem}") from None
    if not lines:
        raise ChoiceError(f"expected a header of classes and one line for each class in {where}, got empty cells only")
    places = {name: k for k, name in enumerate(classes)}
    predicted = [places[name] if name in places else _place(name, classes, where) for name in lines[0][1:]]
    true = [places[line[0]] if line[0] in places else _place(line[0], classes, where) for line in lines[1:]]
    for named, what in ((predicted, "column"), (true, "line")):
        if sorted(named) != list(range(len(classes))):
            raise ChoiceError(
                f"expected one {what} for each class ({', '.join(map(in_list, classes))}) in {where}, "
                f"got {', '.join(classes[k] for k in named) or 'none'}"
            )
    matrix = np.zeros((len(classes), len(classes)))
    for at, (k, line) in enumerate(zip(true, lines[1:]), 1):
        if at % LINES == 0:
            deadline.check()
        if len(line) != len(lines[0]):
            raise ChoiceError(
                f"expected {len(lines[0])} cells in each line of {where}, got {len(line)} in the line of {classes[k]!r}"
            )
        matrix[k] = _prices(line[1:], k, predicted, classes, where)
    return _checked(matrix, classes)


def _prices(cells: list[str], k: int, predicted: list[int], classes: Names, where: str) -> np.ndarray:
    """Return float64 (classes,): a line of a cost file for class k, its cells in the order `predicted`."""
    prices, own = np.zeros(len(classes)), predicted.index(k)
    told = [cell or "0" if at == own else cell for at, cell in enumerate(cells)]
    try:
        prices[predicted] = list(map(float, told))
        readable = bool((np.isfinite(prices) & (prices >= 0)).all())
    except ValueError:
        readable = False
    if not readable:  # find the cell to report
        for c, cell in zip(predicted, told):
            prices[c] = _price(cell, f"the cost of {classes[k]!r} predicted as {classes[c]!r} in {where}")
    return prices


def _from_pairs(pairs: Mapping, classes: Names) -> np.ndarray:
    matrix = unit_cost(len(classes))
    for (true, predicted), value in pairs.items():
        k, c = _place(true, classes, option("cost")), _place(predicted, classes, option("cost"))
        matrix[k, c] = _price(value, f"the cost of {classes[k]!r} predicted as {classes[c]!r}")
    return _checked(matrix, classes)


def _checked(matrix, classes: Names) -> np.ndarray:
    """Return the matrix as float64; raises ChoiceError for another shape, a negative cost or a cost of a correct
    prediction."""
    K = len(classes)
    try:
        matrix = np.array(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        raise ChoiceError(f"expected a cost matrix of {K} x {K} numbers, got {matrix!r}") from None
    if matrix.shape != (K, K):
        raise ChoiceError(
            f"expected a cost matrix of {K} x {K} numbers, for {', '.join(map(in_list, classes))}, got the shape "
            f"{matrix.shape}"
        )
    if not (np.isfinite(matrix) & (matrix >= 0)).all():
        raise ChoiceError(
            f"expected finite costs of 0 or more, got {matrix[~(np.isfinite(matrix) & (matrix >= 0))][0]:g}"
        )
    if np.diagonal(matrix).any():
        k = int(np.flatnonzero(np.diagonal(matrix))[0])
        raise ChoiceError(
            f"expected a cost of 0 for a correct prediction, got {matrix[k, k]:g} for {classes[k]!r} predicted as "
            "itself"
        )
    if not matrix.any():
        raise ChoiceError("expected a cost above 0 for some error, got 0 for all: every tree would cost the same")
    return matrix


def _assignments(text: str, wanted: str) -> dict[str, str]:
    """Return {name: value} of the parts NAME=VALUE between commas, divided at their last "="; a part may be in double
    quotes, as in CSV."""
    found = {}
    try:
        parts = next(csv.reader([str(text)], skipinitialspace=True), [])
    except csv.Error as problem:
        raise ChoiceError(f"{wanted} between commas on one line, got {text!r} ({problem})") from None
    for part in parts:
        name, equals, value = part.rpartition("=")
        if not equals:
            place = f" in {text!r}; write a name with a comma in double quotes" if part != text else ""
            raise ChoiceError(f"{wanted} between commas, got {part!r}{place}")
        if name.strip() in found:
            raise ChoiceError(f"{name.strip()!r} is given twice in {text!r}")
        found[name.strip()] = value.strip()
    if not found:
        raise ChoiceError(f"{wanted} between commas, got {text!r}")
    return found


def _pairs(text: str, classes: Names) -> dict[tuple[str, str], str]:
    pairs = {}
    for name, value in _assignments(text, f"{option('cost')}: expected TRUE:PREDICTED=COST,…").items():
        # Class names may contain colons: the separator is the colon with a class on either side.
        cuts = [(_unquoted(name[:at]), _unquoted(name[at + 1 :])) for at, sign in enumerate(name) if sign == ":"]
        known = [cut for cut in cuts if cut[0] in classes and cut[1] in classes]
        if not cuts:
            other = next((one for one in classes if one != name), "PREDICTED")
            raise ChoiceError(
                f"expected TRUE:PREDICTED=COST in {option('cost')}, such as {name}:{other}={value} for rows of {name} "
                f"that are predicted as {other}, got {name}={value} (or name a CSV file)"
            )
        pairs[(known or cuts)[0]] = value
    return pairs


def _unquoted(name: str) -> str:
    """Return a name without blanks and double quotes around it; csv.reader keeps the quotes of all but the first."""
    name = name.strip()
    return name[1:-1].replace('""', '"') if len(name) > 1 and name[0] == name[-1] == '"' else name


def _place(name, classes: Names, where: str) -> int:
    if str(name) not in classes:
        raise ChoiceError(
            f"unknown class {str(name)!r} in {where}{did_you_mean(str(name), classes)}; the classes are "
            f"{', '.join(map(in_list, classes))}{'; its header names the classes predicted' if 'file' in where else ''}"
        )
    return classes.index(str(name))


def _price(value, what: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        raise ChoiceError(f"expected a finite number of 0 or more as {what}, got {value!r}")
    return number
