"""The operators of benchmarks.mutation: each change is of one place, and is what its words say."""

from benchmarks.single_changes import Source

TEXT = '''
LEAST = 2

def kept(numbers, least=0):
    """Those from `least` on, doubled."""
    if not numbers:
        raise ValueError(f"expected {LEAST - 1} number, got {len(numbers) + 0}")
    found = [2 * number for number in numbers if number >= least and number != 7]
    for number in found:
        if number < 0:
            found.remove(number)
    return found + [max(found)]
'''
GIVEN = ([1, 7, 3, -4, 5],)
CHANGES = {
    "Gt to GtE": None,  # stands nowhere
    "GtE to Gt": [2, 6, 10, 10],
    "NotEq to Eq": [14, 14],
    "And to Or": [2, 14, 6, 10, 14],
    "without part 1": [2, 6, 10, 10],
    "without part 2": [2, 14, 6, 10, 14],
    "without the condition": [2, 14, 6, 10, 14],
    "Mult to Div": [2, 2 / 3, 0.4, 2],
    "no round of the loop": [2, 6, 10, 10],
    "max to min": [2, 6, 10, 2],
    "without the call": [2, 6, 10, 10],
    "2 to 3": None,
    "7 to 8": [2, 14, 6, 10, 14],
}


def run(code):
    there = {}
    exec(code, there)
    return there["kept"](*GIVEN)


def fresh():
    return Source("made.py", "made.py", TEXT)


def test_each_change_is_what_its_words_say():
    words = {change.words: number for number, change in enumerate(fresh().changes)}
    assert run(compile(TEXT, "made.py", "exec")) == [2, 6, 10, 10]
    for said, answer in CHANGES.items():
        if answer is not None:
            assert run(fresh().code(words[said])) == answer, said
    assert "Gt to GtE" not in words


def test_messages_stay_and_places_are_told():
    changes = fresh().changes
    assert not any(change.line == 7 for change in changes)  # of the message that is raised
    kinds = {change.kind: change for change in changes}
    assert kinds["assignment"].function is None and kinds["assignment"].text == "LEAST = 2"
    assert kinds["default"].function == kinds["body"].function == ("kept", 4)
    head = next(change for change in changes if change.words == "no round of the loop")
    assert head.statement == (9, 9)


def test_an_end_of_a_solver_is_changed_and_lost():
    text = 'WORDS = {"optimal": Termination.OPTIMAL, "time": Termination.TIME_LIMIT}\n'
    words = [change.words for change in Source("made.py", "made.py", text).changes]
    assert words == ["without 'optimal'", "without 'time'", "OPTIMAL to TIME_LIMIT", "TIME_LIMIT to OPTIMAL"]
