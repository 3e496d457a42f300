"""Parts of work for a team of processes, and what it makes of them."""


def make_ready(what):
    return what


def sum_of(ready, task):
    return ready + task


def results(team, part, tasks):
    """{task: result}."""
    waiting, found = {team.submit(part, task): task for task in tasks}, {}
    while waiting:
        for future in team.done(waiting, lambda: None):
            found[waiting.pop(future)] = future.result()
    return found
