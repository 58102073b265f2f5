"""The most memory that a process has had, measured by itself."""

import inspect

__all__ = ["PEAK", "peak_nbytes"]


def peak_nbytes():
    """Resident memory of this process at its peak, in bytes."""
    import resource
    import sys

    if sys.platform != "linux":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    with open("/proc/self/status") as status:       # ru_maxrss of a child begins with what its parent takes
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


PEAK = inspect.getsource(peak_nbytes)
"""The same as lines for a program that a child runs."""
