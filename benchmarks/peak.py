"""How a child process measures the most memory that it has had."""

__all__ = ["PEAK"]

PEAK = """
def peak():
    import resource, sys
    if sys.platform != "linux":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    with open("/proc/self/status") as status:       # ru_maxrss of a child begins with what its parent takes
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
"""
"""Lines that define ``peak()``: the most memory that the process has had, in bytes."""
