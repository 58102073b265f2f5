"""Tile indexing: what the table says and where pixels lie; integers and bytes, no I/O, no codec."""
