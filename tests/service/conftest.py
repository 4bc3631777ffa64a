"""Fixtures of the service's tests that have modules of their own."""

from fsync_shim import fsync_shim, shim_library

__all__ = ["fsync_shim", "shim_library"]
