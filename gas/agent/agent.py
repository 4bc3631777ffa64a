"""One application and its schedulers: what AppLeS calls an agent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gas.agent.choice import Planned, Task
from gas.agent.options import Forecasting, PlanOptions, ReshapeOptions, Run, checked_key
from gas.agent.schedulers import Scheduler, called, gather
from gas.application import Application
from gas.endpoints import Answer, FileEndpoint, JobDescription
from gas.errors import BadInput, WithoutGpus, outcome_of

if TYPE_CHECKING:  # imported where they are used: planning by promises needs none of them
    from gas.agent.coallocating import SubmittedTogether
    from gas.agent.prediction import Predictor
    from gas.agent.redundant import SubmittedRedundantly
    from gas.agent.reshaping import Reshaped
    from gas.agent.spreading import PlannedTogether, Spread
    from gas.agent.submission import Prepared, Submission, Submitted
    from gas.agent.watching import Event
    from gas.endpoints.slurm.directives import Script

__all__ = ["Agent"]


class Agent:
    """An application-level scheduler: it queries the schedulers, chooses for its application, and acts.

    Parameters
    ----------
    application
        Its execution time on each number of processors.
    schedulers
        In the order that decides ties. A scheduler that could not be set up is given by its name and the error; Gas
        plans with the others and reports the error as a remark.
    script
        A Slurm job script (`gas.endpoints.slurm.directives.Script`), planned with its options and submitted unchanged;
        the application gives its sizes and times.
    unit
        Unit of the script's sizes: tasks, nodes, gpus or cpus; by default the unit of its own size.
    remark
        Called with remarks for the user, such as a scheduler that did not answer, or a plan that is made again. By
        default they are logged as warnings of ``gas.agent``.
    progress
        Called with what a scheduler does during a long request; by default it is logged.
    config
        The configuration that names the schedulers, for messages that name a command.
    """

    def __init__(
        self,
        application: Application,
        schedulers: Sequence[Scheduler],
        *,
        script: Script | None = None,
        unit: str | None = None,
        remark: Callable[[str], object] | None = None,
        progress: Callable[[str], object] | None = None,
        config: Path | None = None,
    ) -> None:
        self.application = application
        self.schedulers = list(schedulers)
        self.script = script
        self.unit = unit
        self._remark = _log_warning if remark is None else remark
        self._progress = _log_progress if progress is None else progress
        self._config = config
        self._predictor: Predictor | None = None

    def plan(self, options: PlanOptions | None = None) -> Planned:
        """Query the schedulers, and find the request that finishes first on those that answer.

        Raises
        ------
        Unreachable
            None of them answers.
        BadInput
            The deadline leaves no time at all.
        """
        return self._plan_with(self._schedulers_for(None), options or PlanOptions())

    def prepare(self, run: Run | JobDescription | Sequence[str], options: PlanOptions | None = None) -> Prepared:
        """Plan, and return what `submit` would send; raises the errors of `plan`, and `Infeasible`."""
        from gas.agent.submission import prepared

        options, given = options or PlanOptions(), self._run(run)
        return prepared(self._plan_with(self._schedulers_for(given.job), options), given)

    def submit(
        self,
        run: Run | JobDescription | Sequence[str],
        options: PlanOptions | None = None,
        *,
        key: str | None = None,
        before: Callable[[Planned], object] | None = None,
    ) -> Submitted:
        """Plan, and submit the request that finishes first: at most one job, whatever happens on the network.

        If a plan goes stale in the meantime, Gas plans again. It leaves out a scheduler that accepts no jobs now.

        Parameters
        ----------
        run
            A job, or a command such as ``["./ocean", "-n", "{processors}"]``, in which Gas replaces placeholders by the
            chosen values.
        key
            Idempotency key: all submissions with the same key create one job in total. Without a key, each call creates
            a job.
        before
            Called with each plan just before its request is sent; if it raises an error, the submission ends, and
            nothing of that plan is sent.

        Raises
        ------
        Infeasible
            No request is possible.
        StalePlan
            The schedule changed again and again between planning and submitting; nothing was submitted.
        InDoubt
            The scheduler did not answer. Submit again with the `key` of the error to find the job, or to submit it.
        """
        submission = self._submission(self._run(run), options or PlanOptions(), key, before)
        return submission.make() if key is None else submission.make_or_find()

    def _submission(
        self, run: Run, options: PlanOptions, key: str | None, before: Callable[[Planned], object] | None = None
    ) -> Submission:
        from uuid import uuid4

        from gas.agent.submission import Submission

        return Submission(
            self.application.name,
            self._plan_with,
            self._schedulers_for(run.job),
            run,
            options,
            uuid4().hex if key is None else checked_key(key),
            self._remark,
            self._config,
            before,
        )

    def submit_redundantly(
        self,
        run: Run | JobDescription | Sequence[str],
        options: PlanOptions | None = None,
        *,
        key: str | None = None,
        shared: Path | None = None,
        before: Callable[[Planned], object] | None = None,
    ) -> SubmittedRedundantly:
        """Submit the request that finishes first and, if it has to wait, a request to each further scheduler.

        Only the first of these jobs to start runs the command; `SubmittedRedundantly.settle` waits for it and withdraws
        the others. Other parameters and errors are those of `submit`; `gas.agent.redundant` describes how it works.

        Parameters
        ----------
        shared
            Folder on a file system that all machines share; by default that of the user's state (in the home folder).
        """
        from gas.agent.redundant import Redundant

        given = self._run(run)
        return Redundant(
            self.application.name,
            self._plan_with,
            self._schedulers_for(given.job),
            given,
            options or PlanOptions(),
            None if key is None else checked_key(key),
            self._remark,
            shared=shared,
            before=before,
        ).make()

    def plan_together(self, options: PlanOptions | None = None, spread: Spread | None = None) -> PlannedTogether:
        """Find the request that finishes first on one machine, or on several that start together; errors as `plan`."""
        return self._plan_together(options or PlanOptions(), spread, {})

    def submit_together(
        self,
        run: Run | JobDescription | Sequence[str],
        options: PlanOptions | None = None,
        spread: Spread | None = None,
        *,
        key: str | None = None,
        before: Callable[[PlannedTogether], object] | None = None,
    ) -> SubmittedTogether:
        """Plan on one machine or several, and submit the request that finishes first: all its parts or none.

        Parameters and errors are those of `submit`; `gas.agent.coallocating` describes how it works.
        """
        from uuid import uuid4

        from gas.agent.coallocating import Together
        from gas.agent.holdings import fingerprint

        wanted, given = options or PlanOptions(), self._run(run)
        if given.job.job_class is not None:
            raise BadInput(
                f"class {given.job.job_class}: parts of a coallocation are reservations, which have no class"
            )
        if given.job.notice is not None:
            raise BadInput(
                "notice: parts of a coallocation start together and are offered no other start; leave it out"
            )

        def plan(without: Mapping[str, str]) -> PlannedTogether:
            nonlocal wanted
            planned = self._plan_together(wanted, spread, without)
            wanted = wanted.fixed(planned.not_before, planned.deadline)
            return planned

        together = Together(
            plan,
            lambda: self._single_of(given, wanted, key),
            fingerprint(self.application, given),
            self.schedulers,
            given,
            uuid4().hex if key is None else checked_key(key),
            self._remark,
            own=key is None,
            before=before,
        )
        return together.make()

    def _single_of(self, run: Run, options: PlanOptions, key: str | None) -> Submitted:
        """Submit the part of a coallocation that is all of it."""
        submission = self._submission(run, options, key)
        return submission.make() if key is None else submission.make_or_find(of_coallocation=True)

    def _plan_together(
        self, options: PlanOptions, spread: Spread | None, without: Mapping[str, str]
    ) -> PlannedTogether:
        from gas.agent.spreading import Spread, named_twice, planned_together

        answers = self._answers(self._schedulers_for(None), options)
        without = {**named_twice(answers), **without}
        return planned_together(self.application, answers, options, spread or Spread(), self._remark, without)

    def reshape(
        self,
        job: int,
        options: ReshapeOptions | None = None,
        *,
        on: str | None = None,
        processors: int | None = None,
        dry_run: bool = False,
        forecasting: Forecasting | None = None,
    ) -> Reshaped:
        """Give a waiting job another shape if it then finishes sooner; it keeps its number and its place in the queue.

        Parameters
        ----------
        on
            The name of its scheduler, if there are several.
        processors
            Change to this number of processors, even without a gain.
        dry_run
            Return the change without making it.
        forecasting
            Decide by predictions, if the scheduler shows the job's place in its queue; None: by its plans.

        Raises
        ------
        Conflict
            The job is no longer waiting.
        BadInput
            Its scheduler cannot change jobs, or the job cannot run on this number of processors.
        """
        from gas.agent.reshaping import reshape, reshaping_endpoint

        where = reshaping_endpoint(self._of_job(on), job)
        return reshape(
            self.application,
            where,
            job,
            options or ReshapeOptions(),
            processors=processors,
            dry_run=dry_run,
            predictor=None if forecasting is None else self._predictor_of(forecasting),
        )

    def watch(
        self,
        job: int,
        report: Callable[[Event], object],
        options: ReshapeOptions | None = None,
        *,
        on: str | None = None,
        every: int = 30,
        until_end: bool = False,
        dry_run: bool = False,
        forecasting: Forecasting | None = None,
    ) -> dict[str, Any]:
        """Reshape a waiting job whenever its queue changes, until it has started or ended; then return the job.

        Parameters
        ----------
        report
            Called with each decision and its reason.
        on
            The name of its scheduler, if there are several.
        every
            Seconds between two checks of the queue.
        until_end
            Continue until it has ended.
        dry_run
            Change nothing.
        forecasting
            Decide by predictions, if the scheduler shows the job's place in its queue; None: by its plans.
        """
        from gas.agent.reshaping import reshaping_endpoint
        from gas.agent.watching import Watch

        where = reshaping_endpoint(self._of_job(on), job)
        predictor = None if forecasting is None else self._predictor_of(forecasting)
        watch = Watch(
            self.application, where, job, options or ReshapeOptions(), every, dry_run, report, predictor=predictor
        )
        return watch.run(self._remark, until_end=until_end)

    def _scheduler(self, name: str | None) -> Scheduler:
        """Return the scheduler of this name, or the only one."""
        known = {one[0] if isinstance(one, tuple) else called(one): one for one in self.schedulers}
        if name is None and len(self.schedulers) == 1:
            return self.schedulers[0]
        if name not in known:
            which = "which scheduler?" if name is None else f"{name}: is not a scheduler of this agent;"
            raise BadInput(f"{which} name one of {', '.join(known) or 'none'}")
        return known[name]

    def _of_job(self, on: str | None) -> Scheduler:
        """Return the scheduler of a job that is in its queue, as one of such jobs."""
        where = self._scheduler(on)
        if self.script is None and not self.application.asks_for_more:
            return where
        from gas.agent.scripts import for_jobs

        (found,) = for_jobs(
            [where], script=self.script, unit=self.unit, application=self._if_not_of_script, placed=True
        )
        return found

    def gather(self, options: PlanOptions | None = None) -> list[Answer]:
        """Query the schedulers; one that does not answer has an error instead of a list."""
        options = options or PlanOptions()
        return gather(self._schedulers_for(None), choices=options.choices, stale_ok=options.stale_ok)

    def choose(self, answers: Sequence[Answer], options: PlanOptions | None = None) -> Planned:
        """Find the request that finishes first with the schedulers that have answered; raises the errors of `plan`."""
        options = options or PlanOptions()
        predictor = None if options.forecasting is None else self._predictor_of(options.forecasting)
        return Task.of(self.application, answers, options, predictor, self._remark, self._progress).plan(answers)

    def _run(self, run: Run | JobDescription | Sequence[str]) -> Run:
        """Return what is to run; a script may say itself where."""
        given = Run.of(run, self.application.name)
        own_folder = self.script is not None and self.script.has("chdir")
        return replace(given, here=given.here and not own_folder)

    def _schedulers_for(self, job: JobDescription | None) -> list[Scheduler]:
        """Return the schedulers as they plan for a job, with what it asks for besides; None is any job."""
        plain = job is None and self.script is None and not self.application.asks_for_more
        if plain and all(isinstance(one, FileEndpoint) for one in self.schedulers):
            return list(self.schedulers)  # a list in a file is the same for all jobs
        from gas.agent.scripts import command_script, for_jobs

        native, command = ((), None) if job is None else (job.native, command_script(job.command, job.directory))
        return for_jobs(self.schedulers, native, command, self.script, self.unit, application=self._if_not_of_script)

    @property
    def _if_not_of_script(self) -> Application | None:
        """The application, unless a script says itself what its jobs ask for."""
        return self.application if self.script is None else None

    def _plan_with(self, schedulers: Sequence[Scheduler], options: PlanOptions) -> Planned:
        return self.choose(self._answers(schedulers, options), options)

    def _answers(self, schedulers: Sequence[Scheduler], options: PlanOptions) -> list[Answer]:
        """Ask the schedulers, and say which do not answer; raise what a single one says."""
        answers = gather(schedulers, choices=options.choices, stale_ok=options.stale_ok)
        errors = [(a.error, a.endpoint.named) for a in answers if a.error is not None]
        if len(errors) == len(answers) == 1 and outcome_of(errors[0][0]) is not None:
            raise errors[0][0]
        for error, named in errors:
            if named or len(errors) == len(answers) or not isinstance(error, WithoutGpus):
                self._remark(str(error))
        return answers

    def _predictor_of(self, forecasting: Forecasting) -> Predictor:
        """Return what predicts: the one that has asked the schedulers for their past, if there is one."""
        from gas.agent.prediction import Predictor

        if self._predictor is None or self._predictor.options is not forecasting:
            self._predictor = Predictor(forecasting, self._remark)
        return self._predictor


def _log_warning(text: str) -> None:
    import logging

    logging.getLogger("gas.agent").warning("%s", text)


def _log_progress(text: str) -> None:
    import logging

    logging.getLogger("gas.agent").info("%s", text)
