"""Tables of tiles in parquet."""

from __future__ import annotations

import numpy as np

from ..extras import extra

__all__ = ["read_parquet", "write_parquet"]


def write_parquet(columns: dict, path: str) -> None:
    """Write a table as fsspec's own references are written."""
    with extra("kerchunk"):
        import fastparquet
        import pandas as pd

    fastparquet.write(path, pd.DataFrame(columns), compression="ZSTD", write_index=False, stats=False)


def read_parquet(path: str) -> dict[str, np.ndarray]:
    """Read what `write_parquet` wrote: name to column."""
    with extra("kerchunk"):
        import fastparquet

    table = fastparquet.ParquetFile(path).to_pandas()
    return {name: table[name].to_numpy() for name in table}
