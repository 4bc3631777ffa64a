"""Fixtures of the service's tests that have modules of their own."""

from clock_shim import clock_library, clock_shim
from fsync_shim import fsync_shim, shim_library

__all__ = ["clock_library", "clock_shim", "fsync_shim", "shim_library"]
