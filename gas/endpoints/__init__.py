"""Schedulers that can be asked: what the planner's lists come from, and where its requests go.

Its modules:

    endpoint        what every endpoint answers, and what those that take jobs answer besides
    s3              S³ over HTTP, and why nothing is submitted twice
    connection      one exchange over HTTP: an answer, a refusal, or neither
    access          tokens, certificates and addresses
    events          the reader of server-sent events
    journal         where each key was sent
    file            an availability list on disk or standard input
    slurm           what Slurm publishes, and what that says about when which nodes are free
    configuration   gas.toml: named endpoints and their limits
    asking          several endpoints at once; one that does not answer is reported, not fatal
"""

from gas.endpoints.asking import Answer, ask
from gas.endpoints.configuration import Configuration, load_configuration
from gas.endpoints.endpoint import Endpoint, InDoubt, JobDescription, JobEndpoint, Request
from gas.endpoints.file import FileEndpoint
from gas.endpoints.s3 import S3Endpoint

__all__ = [
    "Answer",
    "Configuration",
    "Endpoint",
    "FileEndpoint",
    "InDoubt",
    "JobDescription",
    "JobEndpoint",
    "Request",
    "S3Endpoint",
    "ask",
    "load_configuration",
]
