"""S³ over HTTP, with requests: timeouts, and bounded retries of what is safe to repeat.

Reading and cancelling are safe to repeat. Submitting and reserving are made so by a key of the client's own: the
service answers a second request with the same key with the job that the first one made.
"""

from __future__ import annotations

import ipaddress
import uuid
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from gas.availability import AvailabilityList
from gas.endpoints.endpoint import JobDescription, Request, limits_from
from gas.errors import BadInput, Conflict, NotFound, StalePlan, Unreachable
from gas.planner import Limits
from speedup_models.fields import FieldError, Fields

if TYPE_CHECKING:  # imported where they are used: planning on a file needs no HTTP
    import requests

__all__ = ["S3Endpoint"]

TIMEOUT_SECONDS = 10.0
RETRIES = 2


class S3Endpoint:
    """An S³ service.

    Parameters
    ----------
    name
        What the user calls it.
    url
        Where it is, for example ``http://127.0.0.1:8642``.
    timeout
        Seconds to wait for a connection, and for an answer.
    retries
        How often a request is repeated that got no answer.
    """

    def __init__(
        self,
        name: str,
        url: str,
        *,
        timeout: float = TIMEOUT_SECONDS,
        retries: int = RETRIES,
        limits: Limits | None = None,
    ) -> None:
        import requests
        from requests.adapters import HTTPAdapter
        from urllib3.util import Retry

        parts = _split(url)
        self.name = name
        self.address = url.rstrip("/")
        self._called = self.address if name.rstrip("/") == self.address else f"{name}: {self.address}"
        self.limits = limits or Limits()
        self._timeout = timeout
        self._session = requests.Session()
        self._session.trust_env = not _is_loopback(parts)  # a proxy does not know this machine's own services
        again = Retry(
            retries, status_forcelist=(502, 503, 504), allowed_methods=None, backoff_factor=0.2, raise_on_status=False
        )
        self._session.mount("http://", HTTPAdapter(max_retries=again))
        self._session.mount("https://", HTTPAdapter(max_retries=again))

    @classmethod
    def configured(cls, name: str, fields: Fields) -> S3Endpoint:
        """Return the endpoint of a table with ``url`` and perhaps ``timeout``, ``retries`` and limits."""
        url = fields.text("url")
        timeout = fields.number("timeout", TIMEOUT_SECONDS, above=0, maximum=3600)
        retries = fields.integer("retries", RETRIES, minimum=0, maximum=100)
        limits = limits_from(fields)
        fields.done()
        try:
            return cls(name, url, timeout=timeout, retries=retries, limits=limits)
        except BadInput as error:
            raise fields.fail("url", str(error)) from None

    @property
    def is_local(self) -> bool:
        """Whether the service runs on this machine, so that paths mean the same there."""
        return _is_loopback(_split(self.address))

    def availability(self) -> AvailabilityList:
        """Return the list, or raise `Unreachable`."""
        answer = self._call("GET", "/v1/availability")
        try:
            return AvailabilityList.from_wire(self._json(answer), "availability")
        except FieldError as error:
            raise Unreachable(f"{self.name}: answered an availability list that breaks the format: {error}") from None

    def submit(self, request: Request, job: JobDescription) -> dict[str, Any]:
        """Submit a job and return it with its promise.

        Raises
        ------
        StalePlan
            It would start after ``request.start_by``; nothing was queued.
        BadInput, Conflict, Unreachable
            The service refused it, or did not answer.
        """
        if job.run_time is None:
            actuator: dict[str, Any] = {
                "kind": "process",
                "command": list(job.command),
                "environment": dict(job.environment),
                "directory": job.directory,
            }
        else:
            actuator = {"kind": "simulated", "run_time": job.run_time}
        body = {
            "name": job.name,
            "processors": request.processors,
            "walltime": request.walltime,
            "not_before": request.not_before,
            "start_by": request.start_by,
            "actuator": actuator,
            "key": uuid.uuid4().hex,
        }
        return self._job_of(self._call("POST", "/v1/jobs", json=body))

    def reserve(self, name: str, processors: int, start: int, walltime: int) -> dict[str, Any]:
        """Reserve processors from `start` on and return the reservation."""
        body = {
            "name": name,
            "processors": processors,
            "start": start,
            "walltime": walltime,
            "key": uuid.uuid4().hex,
        }
        return self._job_of(self._call("POST", "/v1/reservations", json=body))

    def job(self, id: int) -> dict[str, Any]:
        """Return what has become of a job, or raise `NotFound`."""
        return self._job_of(self._call("GET", f"/v1/jobs/{id}"))

    def jobs(self, ended: int = 0) -> list[dict[str, Any]]:
        """Return the jobs in the schedule, after the latest `ended` ones that have ended."""
        answer = self._json(self._call("GET", f"/v1/jobs?ended={ended}"))
        jobs = answer.get("jobs") if isinstance(answer, dict) else None
        if not isinstance(jobs, list) or not all(isinstance(job, dict) and "id" in job for job in jobs):
            raise Unreachable(f"{self.name}: answered a list of jobs that cannot be understood")
        return jobs

    def output(self, id: int, stream: Literal["stdout", "stderr"] = "stdout", limit: int = 2**20) -> bytes:
        """Return the last `limit` bytes of what a job has written."""
        return self._call("GET", f"/v1/jobs/{id}/output?stream={stream}&limit={limit}").content

    def cancel(self, id: int) -> dict[str, Any]:
        """Cancel a job or a reservation and return it."""
        return self._job_of(self._call("DELETE", f"/v1/jobs/{id}"))

    def _call(self, method: str, path: str, json: object = None) -> requests.Response:
        import requests

        try:
            answer = self._session.request(
                method, self.address + path, json=json, timeout=self._timeout, allow_redirects=False
            )
        except requests.Timeout:
            raise Unreachable(f"{self._called} did not answer within {self._timeout:g} s") from None
        except requests.RequestException as error:
            raise Unreachable(f"{self._called} cannot be reached ({_cause(error)})") from None
        if answer.ok and answer.status_code < 300:
            return answer
        message = self._message(answer)
        if message is None:
            raise Unreachable(f"{self._called} answered HTTP {answer.status_code}; is it an S³ service?")
        kinds = {404: NotFound, 409: Conflict, 412: StalePlan, 422: BadInput}
        raise kinds.get(answer.status_code, Unreachable)(f"{self.name}: {message}")

    def _json(self, answer: requests.Response) -> Any:
        try:
            return answer.json()
        except (ValueError, RecursionError):
            raise Unreachable(f"{self._called} answered something that is not JSON") from None

    def _job_of(self, answer: requests.Response) -> dict[str, Any]:
        job = self._json(answer)
        wanted = {"id", "state", "processors", "walltime", "promise"}
        if not isinstance(job, dict) or not wanted <= job.keys():
            raise Unreachable(f"{self.name}: answered a job that cannot be understood")
        return job

    @staticmethod
    def _message(answer: requests.Response) -> str | None:
        """Return the message of an S³ error, None if the answer is none."""
        try:
            return str(answer.json()["error"]["message"])
        except (ValueError, KeyError, TypeError, RecursionError):
            return None


def _split(url: str) -> Any:
    try:
        parts = urlsplit(url)
        port = parts.port  # raises for one that is none
        if parts.scheme in ("http", "https") and parts.hostname and port != 0:
            return parts
    except ValueError:
        pass
    raise BadInput(f"{url[:80]!r}: is not the address of a service; write it like http://127.0.0.1:8642")


def _is_loopback(parts: Any) -> bool:
    if parts.hostname == "localhost":
        return True
    try:
        return ipaddress.ip_address(parts.hostname).is_loopback
    except ValueError:
        return False


def _cause(error: BaseException) -> str:
    """Return the innermost reason of a failed request, in words."""
    while True:
        inner = getattr(error, "reason", None) or error.__cause__ or error.__context__
        if not isinstance(inner, BaseException):
            break
        error = inner
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
