"""Sentences that name options of the command line, in the words of Python: `--time-limit` is `time_limit`, and
`--missing separate` is missing="separate".

Messages are written once, for the command line; functions of Python rewrite what they show (`told_in_python`).
"""

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from odtc.errors import OdtcError

# Options whose keyword is another word; all others are spelt alike but for dashes. tests/unit/test_python_words.py
# compares them with the fields of the specifications.
OTHERS = {"constraint": "constraints", "lambda": "lambda_", "start": "start_from", "solver-template": "template"}
LISTS = {"categorical", "numeric", "aside", "ignore", "actions", "propensity"}  # of names between commas
TEXTS = {"ordered", "missing-mark"}  # one text of a list
NUMBER, WORD, SCHEME = r"\d+(\.\d+)?(e-?\d+)?", r"[a-z_0-9]+", r"[a-z_0-9]+(:[a-z_0-9=,:.]+)?"
# What stands behind an option is its value if it looks so; of a name that is any text, if it is none of FOLLOWS.
VALUES = {
    **dict.fromkeys(
        ("time-limit", "depth", "hold-out", "threads", "seed", "gap", "workers", "confidence", "lambda"), NUMBER
    ),
    **dict.fromkeys(("encoding", "start", "select", "cuts"), SCHEME),
    **dict.fromkeys(("model", "task", "scores", "goal", "missing"), WORD),
    "decimal": "[.,]",
    "class-weight": r"balanced|[^ ]+=[^ ]+",
}
NAMES = LISTS | TEXTS | {"target", "weights", "treatment", "outcome", "time", "event", "constraint", "test", "solver"}
NAMES |= {"cost", "solver-template", "program", "cluster"}
FOLLOWS = set(
    "and as asks beside chooses counts does expected expects finds for gives had has have hold if in is it keeps "
    "leaves lists moves must name named names needs of on or out reads said says shall shows solves such takes than "
    "that the they to was which with would".split()
)
OPTION = re.compile(
    r"`odtc [^`]*`"  # a command of the command line
    r"|(?P<quote>`?)(?<![\w-])(?:--(?P<flag>[a-z]+(?:-[a-z]+)*)|-p (?P<key>[A-Za-z_0-9]+)=)"
    r"(?P<behind> ?(?:'[^']*'|\"[^\"]*\"|[^\s`]+))?(?P<close>`?)"
)
COMMANDS = {f"`odtc {name}`": f"`odtc.{name}`" for name in ("certify", "fit", "frontier", "inspect")}
STOPS = ",;:.)"  # what may stand behind a value in a sentence


def in_python(text: str, names: Mapping[str, str] | None = None) -> str:
    """A sentence in the words of Python.

    Parameters
    ----------
    text : str
    names : dict of str to str, or None
        Keywords of options that are called otherwise than in `odtc.fit`: {"depth": "max_depth"} of an estimator.

    Returns
    -------
    str
        Options that Python does not have stay as they are.
    """
    others = OTHERS | dict(names or {})

    def told(found: re.Match[str]) -> str:
        if found["flag"] is None and found["key"] is None:
            return COMMANDS.get(found[0], found[0])
        behind, close = found["behind"] or "", found["close"]
        word, rest = _cut(behind.removeprefix(" "), found["flag"])
        if found["key"] is not None:
            value = {"true": "True", "false": "False"}.get(word, word)
            said = f"{'lambda_' if found['key'] == 'lambda' else found['key']}={_plain(value)}"
            return said + rest + _unpaired(found["quote"], close)
        flag = found["flag"]
        if flag not in VALUES and flag not in NAMES:
            return found[0]
        keyword = others.get(flag, flag.replace("-", "_"))
        if not behind.startswith(" ") or not _is_value(flag, word):
            return f"`{keyword}`{behind}{_unpaired(found['quote'], close)}"
        return f"{keyword}={_written(flag, word)}{rest}{_unpaired(found['quote'], close)}"

    return OPTION.sub(told, text)


@contextmanager
def told_in_python(names: Mapping[str, str] | None = None) -> Iterator[None]:
    """Around a function of Python: the sentences of its errors are in Python's words."""
    try:
        yield
    except OdtcError as problem:
        if problem.args and isinstance(problem.args[0], str):
            problem.args = (in_python(problem.args[0], names), *problem.args[1:])
        raise


def _cut(word: str, flag: str | None) -> tuple[str, str]:
    """(a value, the signs of the sentence behind it)."""
    if flag == "decimal":
        return word[:1], word[1:]
    bare = word if word.startswith(("'", '"')) else word.rstrip(STOPS)
    return bare, word[len(bare) :]


def _is_value(flag: str, word: str) -> bool:
    if flag in VALUES:
        return re.fullmatch(VALUES[flag], word) is not None and word not in FOLLOWS
    return bool(word) and word[0] not in "(`" and word not in FOLLOWS


def _written(flag: str, word: str) -> str:
    """A value as Python writes it."""
    text = _unquoted(word)
    if VALUES.get(flag) == NUMBER:
        return text
    if flag in LISTS:
        return json.dumps(text.split(","), ensure_ascii=False)
    return json.dumps([text] if flag in TEXTS else text, ensure_ascii=False)


def _unquoted(word: str) -> str:
    try:
        return " ".join(shlex.split(word))
    except ValueError:  # an apostrophe in a name
        return word


def _plain(value: str) -> str:
    is_plain: Callable[[str], object] = re.compile(rf"True|False|{NUMBER}").fullmatch
    return value if is_plain(value) else json.dumps(value, ensure_ascii=False)


def _unpaired(opened: str, closed: str) -> str:
    """The sign that closes what was opened before the option: `--model auto` as a whole loses both."""
    return "" if opened else closed
