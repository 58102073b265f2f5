"""Encoded bytes to pixel values and back, one file an algorithm."""
