"""Time the contenders of one row in turn, so that a change of the machine's mood hits all of them alike."""

import gc
import statistics
import time
from dataclasses import dataclass

from .contenders import OURS, OURS_ALONE

__all__ = ["Comparison", "RowResult", "measure"]

MIN_SECONDS_OF_A_TURN = 0.02
"""Short work is repeated: its first call finds in the processor's caches what the others left there."""


@dataclass(frozen=True)
class Comparison:
    """
    How many times as fast as a peer we are, and what we want.

    Parameters
    ----------
    peer, ours : str
        The contenders.
    ratio, ratio_of_minima : float
        The peer's time over ours.
    ms_more : float
        Our median time less the peer's, in milliseconds.
    at_least : float or None
        The ratio that we want at least.
    at_most_ms_more : float or None
        The difference that we want at most.
    by_least : bool
        Whether the ratio of the least times is held against the aim, and not that of the medians.
    """

    peer: str
    ours: str
    ratio: float
    ratio_of_minima: float
    ms_more: float
    at_least: float | None = None
    at_most_ms_more: float | None = None
    by_least: bool = False

    @property
    def is_met(self):
        """Whether the aim is reached; None without one."""
        if self.at_most_ms_more is not None:
            return self.ms_more <= self.at_most_ms_more
        return None if self.at_least is None else self._ratio_that_counts >= self.at_least

    @property
    def _ratio_that_counts(self):
        return self.ratio_of_minima if self.by_least else self.ratio

    @property
    def aim(self):
        """The aim in words; empty without one."""
        if self.at_most_ms_more is not None:
            return f"at most {self.at_most_ms_more:.3g} ms more"
        return "" if self.at_least is None else f"{self.at_least:.3g}x"

    def standing(self, digits):
        """What the aim is compared with, in words: the ratio to so many digits, or the difference."""
        if self.at_most_ms_more is not None:
            return f"{self.ms_more:.1f} ms more"
        return f"{self._ratio_that_counts:.{digits}f}x"


@dataclass(frozen=True)
class RowResult:
    """The time of a call in seconds, turn by turn, by contender."""

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
        The least number of turns of each contender.
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
                times[name].append(time_of_a_call(run))
    finally:
        gc.enable()
    return RowResult(row.key, row.title, times, compare(row, times))


def time_of_a_call(run):
    """Seconds that a call takes, the mean of as many as fill a turn; every result is dropped outside of the time."""
    elapsed, n_calls = 0.0, 0
    while elapsed < MIN_SECONDS_OF_A_TURN:
        start = time.perf_counter()
        result = run()
        elapsed += time.perf_counter() - start
        n_calls += 1
        del result
    return elapsed / n_calls


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
            1e3 * (statistics.median(times[ours]) - statistics.median(times[peer])),
            aim,
            row.at_most_ms_more.get(peer) if ours == OURS else None,
            row.by_least,
        )
        for peer, ours, aim in pairs
        if peer in times
    ]
