"""Schedulers and jobs by name: addresses, entries of the configuration, and the partitions of the local Slurm."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from documents.fields import FieldError
from gas.agent.gathering import Scheduler
from gas.endpoints import Endpoint, FileEndpoint, JobEndpoint
from gas.errors import BadInput, GasError, Unreachable

if TYPE_CHECKING:  # imported where it is read: planning on a file needs none
    from gas.endpoints import Configuration

__all__ = ["chosen_endpoints", "job_endpoint", "job_endpoints", "job_of"]


def chosen_endpoints(
    names: Sequence[str] | None = None,
    files: Sequence[str] | None = None,
    config: Path | None = None,
    *,
    slurm_here: bool = False,
) -> list[Scheduler]:
    """Return the schedulers named, or else all of the configuration.

    An endpoint that cannot be set up is returned as its name and the error, so that the others can be used.

    Parameters
    ----------
    slurm_here
        Without a configuration, use the partitions of the local Slurm, or raise its error.
    """
    given, lists = [_address(name) for name in names or []], list(files or [])
    if lists.count("-") > 1:
        raise BadInput("--availability -: standard input can be read only once")
    configuration, known = (None, None) if lists and not given else _configuration(config, needed=slurm_here)
    if configuration is not None and not given and not lists:
        given = configuration.names
        if not given and slurm_here:
            raise BadInput("no Slurm commands (scontrol, sbatch) in PATH; name a scheduler with -e NAME or URL")
        if not given:
            raise BadInput(
                "which scheduler? Name one with -e NAME or URL, or write a gas.toml (`gas endpoints --help` shows how)"
            )
    chosen: list[Scheduler] = []
    alone = bool(names) and len(set(given)) == 1  # then $GAS_TOKEN is for it
    for name in dict.fromkeys(given):
        if configuration is None or "://" in name:
            chosen.append(_s3(name, [other for other in given if other != name]))
            continue
        try:
            chosen.append(configuration.endpoint(name, alone=alone))
        except (GasError, FieldError) as error:
            if name not in configuration.tables:
                raise
            chosen.append((name, error))
    chosen += [FileEndpoint(path, path) for path in dict.fromkeys(lists)]
    of_slurm: list[Any] = [one for one in chosen if hasattr(one, "reading")]
    if len(of_slurm) > 1 or (of_slurm and known is not None):
        from gas.endpoints.slurm.discovery import share

        share(of_slurm, known)
    return chosen


def _configuration(explicit: Path | None, *, needed: bool = False) -> tuple[Configuration, Any]:
    """Return the configuration; without a file, the partitions of the local Slurm and its answers.

    Parameters
    ----------
    needed
        Raise the error of a local Slurm that cannot be used.
    """
    from gas.endpoints import Configuration, load_configuration

    found = load_configuration(explicit)
    if found.path is not None:
        return found, None
    from gas.endpoints.slurm.discovery import here, is_here

    if not is_here():
        return found, None
    try:
        tables, cluster = here()
    except GasError:
        if needed:
            raise
        return found, None
    return Configuration(None, tables), cluster


def _address(name: str) -> str:
    """Return an address in one form, so that one scheduler has one name."""
    if "://" in name:
        return name.rstrip("/")
    if name.partition(":")[0] in ("localhost", "127.0.0.1"):
        raise BadInput(f"-e {name}: is an address without a scheme; write http://{name}")
    return name


def _s3(address: str, rivals: Sequence[str] = ()) -> Endpoint:
    """Return the S³ at an address; `rivals` are others that a token of the environment could be meant for."""
    from gas.endpoints import S3Endpoint
    from gas.endpoints.access import Access

    return S3Endpoint(address, address, access=Access.of(address, rivals=rivals))


def job_endpoint(name: str | None, config: Path | None) -> JobEndpoint:
    """Return the scheduler named, or the only one of the configuration; it must accept jobs.

    Without a configuration, any partition of the local Slurm knows the jobs of all.
    """
    by_address = name is not None and "://" in name
    try:
        configuration, here = (None, None) if by_address else _configuration(config, needed=True)
    except Unreachable as error:
        if name is not None:
            raise
        raise BadInput(
            f"which scheduler? Name it with -e NAME or URL, or set GAS_ENDPOINT; the local Slurm fails: {error}"
        ) from None
    if name is None:
        assert configuration is not None, "there is no address"
        if len(configuration.names) != 1 and (here is None or not configuration.names):
            known = f" ({', '.join(configuration.names)})" if configuration.names else ""
            raise BadInput(f"which scheduler? Name it with -e NAME or URL, or set GAS_ENDPOINT{known}")
        name = configuration.names[0]
    name = _address(name)
    endpoint = _s3(name) if configuration is None else configuration.endpoint(name, alone=True)
    if not isinstance(endpoint, JobEndpoint):
        raise BadInput(f"{name}: accepts no jobs; it is only an availability list")
    return endpoint


def job_endpoints(names: Sequence[str] | None, config: Path | None) -> list[JobEndpoint | tuple[str, Exception]]:
    """Return the schedulers named, or else all of the configuration, that accept jobs.

    One that cannot be set up is returned as its name and the error.
    """
    chosen = chosen_endpoints(names, None, config)
    usable = [e for e in chosen if isinstance(e, tuple | JobEndpoint)]
    if names and len(usable) < len(chosen):
        none = next(e for e in chosen if not isinstance(e, tuple | JobEndpoint))
        raise BadInput(f"{none.name}: accepts no jobs; it is only an availability list")
    if not usable:
        raise BadInput("which scheduler? None in the configuration accepts jobs; name one with -e NAME or URL")
    return usable


def job_of(text: str, endpoint: str | None, config: Path | None) -> tuple[JobEndpoint, int]:
    """Return the scheduler and number of a job written ``12``, ``kth:12`` or ``http://127.0.0.1:8642:12``."""
    where, separator, number = text.rpartition(":")
    if separator and endpoint is not None and where != endpoint:
        raise BadInput(f"job {text}: names the scheduler {where}, but -e names {endpoint}; name it once")
    if not (number.isascii() and number.isdigit() and len(number) < 19 and int(number) > 0):
        raise BadInput(f"job {text!r}: is not a job; write NUMBER or SCHEDULER:NUMBER")
    return job_endpoint(where if separator else endpoint, config), int(number)
