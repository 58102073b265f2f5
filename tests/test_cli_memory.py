"""Freed memory of one file that serves the next."""

import ctypes
import resource
import subprocess
import sys

import pytest
from needs import REPOSITORY

from astropy_tilecomp.adapters.cli.memory import keep_freed_memory

N_BLOCKS, BLOCK_NBYTES = 8, 2 << 20

FAULTS = f"""
import resource, sys
from astropy_tilecomp.adapters.cli.memory import keep_freed_memory
if sys.argv[1] == "keep":
    keep_freed_memory()

def work():
    return [bytearray(b"1") * {BLOCK_NBYTES} for _ in range({N_BLOCKS})]

work()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
work()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(how):
    """Page faults of work that was done before."""
    done = subprocess.run([sys.executable, "-c", FAULTS, how], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="needs glibc")
def test_memory_is_kept():
    n_pages = N_BLOCKS * BLOCK_NBYTES // resource.getpagesize()
    assert faults("keep") < n_pages // 10 < faults("give back")


def test_other_systems_are_left_alone(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    keep_freed_memory()
