"""Time the contenders of one row in turn, so that a change of the machine's mood hits all of them alike."""

import gc
import statistics
import time
from dataclasses import dataclass

from .contenders import OURS, OURS_ALONE

__all__ = ["Comparison", "RowResult", "measure"]


@dataclass(frozen=True)
class Comparison:
    """How many times as fast as a peer we are, and how many times we want to be at least."""

    peer: str
    ours: str
    ratio: float
    ratio_of_minima: float
    at_least: float | None

    @property
    def is_met(self):
        """Whether the ratio of the medians reaches the aim; None without one."""
        return None if self.at_least is None else self.ratio >= self.at_least


@dataclass(frozen=True)
class RowResult:
    """The times of one row in seconds, by contender, in the order in which they were taken."""

    key: str
    title: str
    times: dict
    comparisons: list

    def median(self, name):
        """Median time of a contender in milliseconds."""
        return 1e3 * statistics.median(self.times[name])

    def minimum(self, name):
        """Least time of a contender in milliseconds."""
        return 1e3 * min(self.times[name])


def measure(row, workspace, *, rounds, seconds):
    """
    Run one row of the benchmark.

    Parameters
    ----------
    row : Row
        What to run.
    workspace : Workspace
        The files to run it on.
    rounds : int
        The least number of times that each contender runs.
    seconds : float
        Rounds are added until the row has taken this long.

    Returns
    -------
    RowResult
        All times and the comparisons with the peers.

    Raises
    ------
    AssertionError
        If the contenders' pixels differ: a wrong result has no speed.
    """
    contenders = row.make(workspace)
    row.check(workspace, {name: run() for name, run in contenders.items()})
    times = {name: [] for name in contenders}
    started = time.perf_counter()
    gc.collect()
    gc.disable()
    try:
        while len(times[OURS]) < rounds or (time.perf_counter() - started < seconds and len(times[OURS]) < 200):
            for name, run in contenders.items():
                times[name].append(time_once(run))
    finally:
        gc.enable()
    return RowResult(row.key, row.title, times, compare(row, times))


def time_once(run):
    """Seconds of one call; the result is dropped outside of the time."""
    start = time.perf_counter()
    result = run()
    elapsed = time.perf_counter() - start
    del result
    return elapsed


def compare(row, times):
    """Every peer against all our threads, and those that have an aim for one thread against one thread."""
    peers = [name for name in times if name != OURS and (name != OURS_ALONE or OURS_ALONE in row.at_least)]
    pairs = [(peer, OURS, row.at_least.get(peer)) for peer in peers]
    pairs += [(peer, OURS_ALONE, aim) for peer, aim in row.at_least_alone.items() if OURS_ALONE in times]
    return [
        Comparison(
            peer,
            ours,
            statistics.median(times[peer]) / statistics.median(times[ours]),
            min(times[peer]) / min(times[ours]),
            aim,
        )
        for peer, ours, aim in pairs
        if peer in times
    ]
