"""Fixtures of the service's tests that have modules of their own."""

from clock_shim import clock_library, clock_shim
from fsync_shim import fsync_shim, shim_library
from real_cgroup import real_cgroup
from unix_users import unix_users

__all__ = ["clock_library", "clock_shim", "fsync_shim", "real_cgroup", "shim_library", "unix_users"]
