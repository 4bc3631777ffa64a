"""An availability list on disk or standard input as an endpoint: it can be planned with, and takes no jobs."""

from __future__ import annotations

from dataclasses import dataclass

from gas.availability import AvailabilityList, read_availability
from gas.endpoints.endpoint import limits_from
from gas.planner import Limits
from speedup_models.fields import Fields

__all__ = ["FileEndpoint"]


@dataclass(frozen=True)
class FileEndpoint:
    """The list in a file; ``-`` is standard input."""

    name: str
    address: str
    limits: Limits = Limits()  # noqa: RUF009  # frozen

    @classmethod
    def configured(cls, name: str, fields: Fields) -> FileEndpoint:
        """Return the endpoint that a table of the configuration describes: ``path`` and limits."""
        endpoint = cls(name, fields.text("path"), limits_from(fields))
        fields.done()
        return endpoint

    def availability(self) -> AvailabilityList:
        """Read the list."""
        return read_availability(self.address)
