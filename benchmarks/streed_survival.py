"""STreeD's survival trees, made to run with this numpy, and with the θ of each row as its prediction."""

import numpy as np


def survival_thetas(cuts: np.ndarray, time: np.ndarray, event: np.ndarray, depth: int, time_limit: float = 60):
    """(θ of each row, CPU seconds of `fit`) of STreeD's best tree over binary tests, int (rows, tests)."""
    import time as clock

    from pystreed import STreeDSurvivalAnalysis
    from pystreed.base import BaseSTreeDSolver

    class Peer(STreeDSurvivalAnalysis):
        def _compute_baseline_cumulative_hazard_function(self, events, times):
            return super()._compute_baseline_cumulative_hazard_function(events.astype(int), times)

    y = np.array(list(zip(event.astype(bool), time)), dtype=[("event", bool), ("time", float)])
    began = clock.process_time()
    fitted = Peer(max_depth=depth, time_limit=time_limit).fit(cuts, y)
    spent = clock.process_time() - began
    return np.asarray(BaseSTreeDSolver.predict(fitted, cuts), float), spent
