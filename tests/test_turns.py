"""Threads that take turns: never more at work than may be, and nobody idle while somebody waits."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from astropy_tilecomp.turns import Turns, waiting

SECONDS = 30


def test_no_more_threads_work_than_may():
    turns, lock = Turns(2), threading.Lock()
    at_work, most = 0, 0

    def work(number):
        nonlocal at_work, most
        with turns:
            for _ in range(2):
                with lock:
                    at_work += 1
                    most = max(most, at_work)
                time.sleep(0.002)
                with lock:
                    at_work -= 1
                with waiting():
                    time.sleep(0.002)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(12)))
    assert most == 2


def test_a_thread_that_waits_lets_another_work():
    turns, other_worked = Turns(1), threading.Event()

    def other():
        with turns:
            other_worked.set()

    with ThreadPoolExecutor(1) as pool, turns:
        pool.submit(other)
        assert not other_worked.wait(0.01)
        with waiting():
            assert other_worked.wait(SECONDS)


def test_a_turn_comes_back_after_an_error():
    turns = Turns(1)
    with turns, pytest.raises(OSError, match="disk full"), waiting():
        raise OSError("disk full")
    with turns, waiting():
        pass  # would hang, or raise, if the turn were lost or given twice


def test_without_turns_nothing_is_given():
    turns = Turns(1)
    with waiting(), turns:
        pass
