"""An availability list on disk or standard input, as an endpoint: Gas can plan with it, but it accepts no jobs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from documents.fields import Fields
from gas.availability import AvailabilityList
from gas.endpoints.endpoint import Endpoint, limits_from
from gas.errors import BadInput
from gas.planner import Limits
from gas.reading import read_availability

__all__ = ["FileEndpoint"]


@dataclass(frozen=True)
class FileEndpoint(Endpoint):
    """The list in a file; ``-`` is standard input.

    A file named in a configuration must be a regular file: a pipe may never end, and the configuration may belong to
    another user.
    """

    name: str
    address: str
    limits: Limits = Limits()  # noqa: RUF009  # frozen
    only_regular: bool = False

    @classmethod
    def configured(cls, name: str, fields: Fields) -> FileEndpoint:
        """Return the endpoint of a table of the configuration: ``path`` and limits."""
        endpoint = cls(name, fields.text("path"), limits_from(fields), only_regular=True)
        fields.done()
        return endpoint

    def availability(self) -> AvailabilityList:
        """Read the list."""
        path = Path(self.address)
        if self.only_regular and path.exists() and not path.is_file():
            raise BadInput(
                f"{self.name}: {self.address}: is not a regular file; give one, or use --availability for a pipe"
            )
        return read_availability(self.address)
