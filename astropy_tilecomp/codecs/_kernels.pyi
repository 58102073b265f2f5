# The compiled module: functions over buffers, described in _kernels.pyx.
from typing import Any

def __getattr__(name: str) -> Any: ...
