from .asking import Answer as Answer, ask as ask
from .configuration import Configuration as Configuration, load_configuration as load_configuration
from .endpoint import (
    Endpoint as Endpoint,
    InDoubt as InDoubt,
    JobDescription as JobDescription,
    JobEndpoint as JobEndpoint,
    OfferingEndpoint as OfferingEndpoint,
    PlacedEndpoint as PlacedEndpoint,
    ProbingEndpoint as ProbingEndpoint,
    QueueEndpoint as QueueEndpoint,
    RememberingEndpoint as RememberingEndpoint,
    Request as Request,
    RequeueingEndpoint as RequeueingEndpoint,
    ReshapingEndpoint as ReshapingEndpoint,
    SchedulingEndpoint as SchedulingEndpoint,
    Standing as Standing,
)
from .file import FileEndpoint as FileEndpoint
from .s3 import S3Endpoint as S3Endpoint
