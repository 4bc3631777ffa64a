"""Slurm by slurmrestd: for users with a token or a socket, but no login node."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlencode

from documents.fields import Fields, quoted
from gas.endpoints.access import Access, Table
from gas.endpoints.exchange import MOST_ANSWER_BYTES
from gas.endpoints.programs import Programs, whole_path
from gas.endpoints.sending import Unclear
from gas.endpoints.slurm.accounting_answers import with_accounting
from gas.endpoints.slurm.conf_file import Stated, read_file, stated_keys
from gas.endpoints.slurm.json_accounting import accounting_lines
from gas.endpoints.slurm.json_answers import (
    ANSWERS,
    LAST_SHARED,
    OPTIONAL,
    read_cluster,
    read_jobs,
    tests_of_last_cycle,
)
from gas.endpoints.slurm.json_associations import QUERIES, read_accounting
from gas.endpoints.slurm.json_requests import FIRST_TYPED, change, submission
from gas.endpoints.slurm.rest_client import TIMEOUT_SECONDS, RestClient, beginning
from gas.endpoints.slurm.rest_connection import LOCAL, Tokens, vetted_address
from gas.endpoints.slurm.rest_refusals import NOTHING, UNACCEPTED, job_number, problems_in
from gas.endpoints.slurm.setting_answers import CONFIG, config_values
from gas.endpoints.slurm.topology import TOPOLOGY, chosen_by_switches, read_switches
from gas.endpoints.slurm.transport import Batch, Shape
from gas.errors import BadInput, Conflict, Forbidden, GasError, NotFound, Unreachable
from gas.slurm.cluster import Cluster, Job
from gas.slurm.unpublished import with_inferred_settings

__all__ = ["RestTransport"]

T = TypeVar("T")

ACCOUNTING_SECONDS = 10.0
"""Seconds to wait for slurmdbd: planning is possible without it."""

UNSHOWN = (
    "Unable to query partitions", "answered GET partitions with HTTP 500", "answered GET partitions with HTTP 422",
    "Unspecified error",
)  # fmt: skip
"""slurmrestd's messages if nodes or partitions are hidden: 24.11's, 26.05's, and 22.05's once it has answered other
requests (seen)."""

MOST_BYTES = 3 * MOST_ANSWER_BYTES
"""Largest answer in bytes: five to six kilobytes per job (seen), which are parsed one by one."""

LOCAL_FILES = ("/etc/slurm/slurm.conf", "/run/slurm/conf/slurm.conf", "/etc/slurm-llnl/slurm.conf")
"""Where Slurm's commands find slurm.conf without ``$SLURM_CONF``."""

CERTIFICATES = ("GAS_CA_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


class RestTransport(RestClient):
    """The transport by slurmrestd.

    Attributes
    ----------
    conf, stated
        Settings that it does not publish: a slurm.conf, or keys stated by the user.
    """

    conf: Path | None = None
    stated: Stated | None = None

    @classmethod
    def configured(cls, name: str, fields: Fields) -> RestTransport:
        """Return the transport for a table in the configuration.

        Its keys are ``url`` and optionally ``user``, ``token_file``, ``token_command``, ``version``, ``ca_file``,
        ``insecure`` and ``timeout``; and for settings that slurmrestd does not publish, ``slurm_conf``, a file that is
        read each time, or ``configuration``, a table of its keys. Other keys are left to the caller.
        """
        url = fields.text("url")
        user, version = fields.text("user", None), fields.text("version", None)
        timeout = fields.number("timeout", TIMEOUT_SECONDS, above=0, maximum=3600)
        file, insecure = fields.text("token_file", None), fields.boolean("insecure", False)
        command = fields.value("token_command", [])
        if not isinstance(command, list) or not all(isinstance(word, str) and word for word in command):
            raise fields.fail("token_command", 'must be a list of words, as in ["scontrol", "token"]')
        if file is not None and command:
            raise fields.fail("token_command", "and token_file cannot be used together; leave one out")
        if command and ("/" in command[0] or command[0].startswith("~")):
            command = [whole_path(fields, "token_command", command[0]), *command[1:]]
        if user is not None and not re.fullmatch(r"[\x21-\x7e]+", user):
            raise fields.fail("user", f"{quoted(user)} is not the name of a user")
        try:
            address = vetted_address(url)
        except BadInput as error:
            raise fields.fail("url", str(error)) from None
        rivals = fields.rivals if isinstance(fields, Table) else ()
        tokens = Tokens(address, file=file, command=command, insecure=insecure, rivals=rivals)
        if not command:  # a command runs only when a token is needed
            try:
                tokens.current()
            except BadInput as error:
                raise error if file is None else fields.fail("token_file", str(error)) from None
        table = {} if (ca_file := fields.text("ca_file", None)) is None else {"ca_file": ca_file}
        trusted = {key: value for key, value in os.environ.items() if key in CERTIFICATES}
        certificates = Access.of(LOCAL, Fields(table, fields.place), trusted).certificates
        try:
            found = cls(
                name, address, user=user, tokens=tokens, version=version, timeout=timeout, certificates=certificates
            )
        except BadInput as error:
            raise fields.fail("version", str(error)) from None
        path, given = fields.text("slurm_conf", None), fields.value("configuration", {})
        if path is not None and given:
            raise fields.fail("configuration", "and slurm_conf cannot be used together; leave one out")
        if not isinstance(given, Mapping):
            raise fields.fail("configuration", 'must be a table, as in {SchedulerParameters = "bf_max_job_test=500"}')
        try:
            if path is not None:
                found.conf = Path(whole_path(fields, "slurm_conf", path))
                read_file(found.conf)
            found.stated = stated_keys(given, f"the configuration of {name}") if given else None
        except BadInput as error:
            raise fields.fail("slurm_conf" if path is not None else "configuration", str(error)) from None
        return found

    # ------------------------------------------------------------------------------------------------ reading

    def cluster(self, name: str) -> Cluster:
        """Return the published state."""
        deadline = time.monotonic() + self.timeout
        version = self.version()
        # the smallest answer first, to see whether slurmrestd answers at all
        endpoints = sorted(ANSWERS, key=lambda endpoint: endpoint != "diag")
        if version == 36:
            endpoints.remove("reservations")
        answers: dict[str, bytes] = {}
        failed: dict[str, str] = {}
        for endpoint in endpoints:
            most = MOST_BYTES - sum(map(len, answers.values()))
            read = partial(self._read, endpoint, deadline, most, self._version_of(endpoint))
            try:
                answers[endpoint] = self._kept.get(endpoint, read)
            except (Forbidden, Unreachable) as error:
                refused = isinstance(error, Forbidden) or any(words in str(error) for words in UNSHOWN if answers)
                if not refused or endpoint not in ("nodes", "partitions"):
                    raise
                failed[endpoint] = str(error)
        for endpoint in OPTIONAL:
            if self._is_offered(endpoint):
                try:
                    answers[endpoint] = self._kept.get(endpoint, partial(self._read, endpoint, deadline))
                except GasError as error:
                    failed[endpoint] = str(error)
        named = self.stated is not None or self.conf is not None  # otherwise, commands would have to be run
        stated = Stated() if "conf" in answers and not named else self._stated(answers, deadline)
        cluster = self._understood(lambda: read_cluster(answers, name=name, failed=failed, stated=stated))
        if chosen_by_switches(cluster.values):
            with suppress(GasError):  # `caveats` reports that switches are unknown
                known_here = self._stated(answers, deadline) if "conf" in answers else stated
                cluster = replace(cluster, switches=read_switches(known_here.topology))
        cluster = self._with_accounting(cluster, deadline)
        if "conf" in answers or stated.whole:
            return cluster
        return with_inferred_settings(cluster, self._understood(lambda: tests_of_last_cycle(answers)))

    def _stated(self, answers: Mapping[str, bytes], deadline: float) -> Stated:
        """Return unpublished settings: as stated by the user, else from scontrol on this machine."""
        if self.stated is not None:
            return self.stated
        if self.conf is not None:
            return read_file(self.conf)
        here = any(Path(one).is_file() for one in (os.environ.get("SLURM_CONF", ""), *LOCAL_FILES) if one)
        if not here or shutil.which("scontrol") is None:
            return Stated()
        try:
            text = self._kept.get("config", partial(self._output_here, CONFIG, deadline)).decode()
            ping = partial(self._read, "ping", deadline)
            heads = re.findall(r'"hostname":\s*"([^"]+)"', self._kept.get("ping", ping, 600.0).decode(errors="replace"))
        except GasError:
            return Stated()
        values = config_values(text)
        # this machine's Slurm may not be that of the URL: it must have the same controller and release, and know the
        # newest job
        host = values.get("SlurmctldHost[0]", "").partition("(")[0]
        release = re.search(rb'"release":\s*"([^"]+)"', answers["diag"])
        newest = max(map(int, re.findall(rb'"job_id":\s*(\d+)', answers["jobs"])), default=0)
        same = host in heads and release is not None and release[1].decode() == values.get("SLURM_VERSION", "")
        if not same or newest >= int(values.get("NEXT_JOB_ID", "0")):
            return Stated()
        topology = ""
        if chosen_by_switches(values):
            with suppress(GasError):
                topology = self._kept.get("topology", partial(self._output_here, TOPOLOGY, deadline)).decode()
        return Stated(values, "scontrol show config", whole=True, topology=topology)

    def _output_here(self, command: Sequence[str], deadline: float) -> bytes:
        programs = Programs(self.name, {**os.environ, "LC_ALL": "C"}, "", timeout=self.timeout)
        done = programs.run(command, deadline=min(deadline, time.monotonic() + ACCOUNTING_SECONDS))
        if done.status != 0:
            raise Unreachable(f"{self.name}: scontrol does not answer here")
        return done.out.encode()

    def _with_accounting(self, cluster: Cluster, deadline: float) -> Cluster:
        """Return the cluster with accounts, QOS and limits, if jobs have accounts or slurmdbd is configured."""
        known = None if cluster.settings is None else cluster.settings.with_accounting
        if known is False or (known is None and not any(job.account for job in cluster.jobs)):
            return cluster
        answers: dict[str, bytes] = {}
        failures: dict[str, str] = {}
        for name, query in QUERIES.items():
            answer = partial(self._answer_or_error, query.service, name, deadline)
            found, error = self._accounting.get(name, answer, query.lifetime)
            if error:
                failures[name] = error
            else:
                answers[name] = found
        return with_accounting(cluster, read_accounting(answers, self.user, failures))

    def _answer_or_error(self, service: str, endpoint: str, deadline: float) -> tuple[bytes, str]:
        """Return an answer, or why there is none; both are cached, as slurmdbd may be down for long."""
        if service == "slurm" and not self._is_offered(endpoint):
            return b"", "it is not offered"
        path = f"/{service}/v0.0.{self.version()}/{endpoint}"
        try:
            answer = self._exchange("GET", path, deadline=min(deadline, time.monotonic() + ACCOUNTING_SECONDS))
            if answer.status_code == 404:
                return b"", "it is not offered"
            document = self._document(endpoint, answer)
        except GasError as error:
            return b"", str(error)
        message = "; ".join(dict.fromkeys(words for words in problems_in(document) if NOTHING not in words))
        return (b"", message) if message else (answer.content, "")

    def jobs(self, *, user: str | None = None, ids: Collection[int] = ()) -> tuple[Job, ...]:
        """Return the jobs of a user, or with these numbers, including recently ended ones; unknown ones are omitted."""
        if len(ids) == 1:
            try:
                answer = self._read(f"job/{next(iter(ids))}")
            except NotFound:
                return ()
        else:
            answer = self._read("jobs")
        jobs = self._understood(lambda: read_jobs({"jobs": answer}))
        # v0.0.36 does not show the owners of jobs: rather return too many than overlook one
        return tuple(job for job in jobs if user in (None, job.user or user) and (not ids or job.id in ids))

    def retention(self) -> int | None:
        """Return None: slurmrestd does not publish how long ended jobs are remembered."""
        return None

    def accounting(self, partition: str, days: int) -> bytes:
        """Return sacct's output for a partition's jobs of the last days; other users' jobs only if shown."""
        query = urlencode({"start_time": f"now-{days}days", "partition": partition, "skip_steps": "true"})
        answer = self._exchange("GET", f"/slurmdb/v0.0.{self.version()}/jobs?{query}")
        if answer.status_code == 401:
            raise self._problem("GET", "jobs", answer)
        cannot = f"{self.name}: its accounting is not available (slurmrestd"
        if answer.status_code == 404:
            missing = f"/slurmdb/v0.0.{self.version()}/jobs"
            raise BadInput(f"{cannot} offers no {missing}: there is no slurmdbd, or no plugin for it)")
        document = self._document("the accounting's jobs", answer)
        message = "; ".join(dict.fromkeys(words for words in problems_in(document) if NOTHING not in words))
        if message:
            # slurmctld, which is queried first, has accepted the token
            hint = "; does slurmdbd.conf have AuthAltTypes=auth/jwt?" if UNACCEPTED in message else ""
            raise BadInput(f"{cannot}: {message}{hint})")
        try:
            return self._understood(lambda: accounting_lines(document))
        except BadInput as error:
            raise BadInput(f"{cannot}: {error})") from None

    def _version_of(self, endpoint: str) -> int:
        """Return the version used for a query of an endpoint."""
        version = self.version()
        late = endpoint == "jobs" and version > LAST_SHARED
        return LAST_SHARED if late and self._is_offered(endpoint, LAST_SHARED) else version

    def _read(
        self,
        endpoint: str,
        deadline: float | None = None,
        most: int = MOST_BYTES,
        version: int | None = None,
    ) -> bytes:
        """Return the answer to a query."""
        answer = self._exchange("GET", self._path(endpoint, version), deadline=deadline, most=most)
        if answer.status_code != 200:
            raise self._problem("GET", endpoint, answer)
        if not answer.content.lstrip().startswith(b"{"):
            self._document(endpoint, answer)
        return answer.content

    def _understood(self, reader: Callable[[], T]) -> T:
        """Return an answer as parsed by a reader, whose errors get the address."""
        try:
            return reader()
        except Unreachable as error:
            raise Unreachable(f"{self._connection.called}: {error}") from None

    # ------------------------------------------------------------------------------------------------ acting

    def submit(self, batch: Batch) -> int:
        """Submit a job and return its number; see `Transport`."""
        document = self._act("POST", "job/submit", submission(batch, self.version()), sends=True)
        id = job_number(document)
        if not id:
            message = beginning(json.dumps(document))
            raise Unclear(f"{self._connection.called} returned {message}, without a job's number")
        return id

    def cancel(self, id: int) -> None:
        """Cancel a job; one that has ended is left alone."""
        try:
            self._act("DELETE", f"job/{id}")
        except Conflict:
            return

    def reshape(self, id: int, shape: Shape) -> None:
        """Change size and time limit of a waiting job."""
        if shape.others:
            raise BadInput(
                f"{self.name}: job {id} requests GPUs and cannot be reshaped by slurmrestd; Slurm's commands can"
            )
        version = self.version()
        self._must_be_of_tasks(id)
        body = change(shape, version)
        try:
            self._act("POST", f"job/{id}", body)
        except BadInput as error:
            if version != FIRST_TYPED or '"job"' not in str(error):
                raise
            self._act("POST", f"job/{id}", {"job": body})  # Slurm 23.02 requires this, unlike its API description

    def _must_be_of_tasks(self, id: int) -> None:
        """Refuse to change a job whose size is not only its number of tasks."""
        answer = self._exchange("GET", self._path(f"job/{id}"))
        if answer.status_code != 200:
            return  # the change itself will fail with the reason
        found = self._document(f"job/{id}", answer).get("jobs")
        job = found[0] if isinstance(found, list) and found and isinstance(found[0], Mapping) else {}
        numbers = {}
        for key in ("het_job_id", "cpus_per_task"):
            value = job.get(key)
            value = value.get("number") if isinstance(value, Mapping) and value.get("set", True) else value
            numbers[key] = value if isinstance(value, int) else 0
        if numbers["het_job_id"] > 0:
            raise BadInput(f"{self.name}: job {id} is heterogeneous and cannot be reshaped")
        if 1 < numbers["cpus_per_task"] < 0xFFFE:
            raise BadInput(f"{self.name}: job {id} has several CPUs per task and cannot be reshaped")
