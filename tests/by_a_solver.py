"""A fit by way of the model and a solver, also where the compiler's own search would take the problem."""

from tests import pipeline


def by_a_solver(
    data, model="flowoct", depth=2, *, solver="highs", start_from="cart", threads=1, time_limit=None, **keys
):
    """The Fit of a model; the words are those of `odtc.fit`."""
    problem = pipeline.pose(data, model, depth, **keys)
    ready = pipeline.prepare(problem, None, start_from)
    solving = pipeline.SolvingSpec(solver=solver, threads=threads, time_limit=time_limit)
    last, solution = pipeline.solve_or_loop(ready.model, solving, ready.point)
    return pipeline.finish(last, solution)
