"""The configuration: named endpoints in a TOML file.

::

    [endpoints.kth]
    type = "s3"                      # or "file", or a plug-in's name
    url = "http://127.0.0.1:8642"
    max_processors = 64              # limits are optional
    max_walltime = "12h"
    speed = 1.2                      # how many times as fast applications run there as their files say
    token_file = "~/.config/gas/kth.token"   # of mode 0600, with the token alone; else $GAS_TOKEN
    ca_file = "~/.config/gas/kth.pem"        # certificates to trust; else $GAS_CA_FILE
    insecure = false                 # true: the token may go over plain HTTP to another machine
    timeout = 10                     # seconds to wait for an answer
    retries = 2                      # how often reading and cancelling are repeated that got none
    patience = 30                    # seconds for which submitting and reserving are repeated

The type names an entry point of the group ``gas.endpoints``: a callable taking the endpoint's name and its `Fields`.
It is loaded when the endpoint is used, so a broken plug-in does not disturb the others.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path

from gas.application import read_toml
from gas.endpoints.endpoint import Endpoint
from gas.errors import BadInput, GasError, Missing, NotFound
from speedup_models.fields import FieldError, Fields, nearest, quoted

__all__ = ["PLUG_INS", "Configuration", "find_configuration", "load_configuration"]

PLUG_INS = "gas.endpoints"


@dataclass(frozen=True)
class Configuration:
    """The endpoints of a configuration file, by name, as tables not read yet."""

    path: Path | None = None
    tables: Mapping[str, Mapping[str, object]] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """The names of the endpoints in the order of the file."""
        return list(self.tables)

    def endpoint(self, name: str) -> Endpoint:
        """Return an endpoint.

        Raises
        ------
        NotFound
            There is none of this name.
        FieldError, BadInput
            Its table cannot be used.
        Missing
            Its plug-in cannot be loaded.
        """
        if name not in self.tables:
            where = f"in {self.path}" if self.path else "because there is no configuration file"
            hint = nearest(name, self.tables) if self.tables else "; name it by its URL, or write a gas.toml"
            raise NotFound(f'there is no endpoint "{name}" {where}{hint}')
        fields = Fields(self.tables[name], f"{self.path}, [endpoints.{name}]")
        kind = fields.text("type")
        found = {point.name: point for point in entry_points(group=PLUG_INS)}
        if kind not in found:
            raise fields.fail("type", f"{quoted(kind)} is not known{nearest(kind, found)}")
        try:
            build = found[kind].load()
        except Exception as error:  # whatever a plug-in does wrong is its own
            raise Missing(f'{fields.where("type")}: the plug-in "{kind}" cannot be loaded: {error!r}') from None
        try:
            endpoint: Endpoint = build(name, fields)
        except (FieldError, GasError):
            raise
        except Exception as error:
            raise Missing(f'{fields.where("type")}: the plug-in "{kind}" failed: {error!r}') from None
        return endpoint


def find_configuration(explicit: Path | None = None) -> Path | None:
    """Return the configuration file: the one named, ``$GAS_CONFIG``, ``./gas.toml``, the user's own; None if none."""
    if explicit is not None:
        return explicit
    if named := os.environ.get("GAS_CONFIG"):
        return Path(named)
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return next((path for path in (Path("gas.toml"), home / "gas" / "config.toml") if path.is_file()), None)


def load_configuration(explicit: Path | None = None) -> Configuration:
    """Return the configuration that is in force, empty if there is no file.

    Raises
    ------
    BadInput, FieldError
        The file cannot be read, or its outer form cannot be used.
    """
    path = find_configuration(explicit)
    if path is None:
        return Configuration()
    fields = Fields(read_toml(path), str(path))
    endpoints = fields.table("endpoints", {})
    tables = {}
    for name in endpoints.keys():  # noqa: SIM118  # not a mapping
        if not name.strip() or any(c in name for c in ":/ \t\n"):
            raise BadInput(f"{path}, [endpoints]: {quoted(name)} cannot be a name; use letters, digits, - and _")
        tables[name] = endpoints.table(name)._table
    fields.done()
    return Configuration(path, tables)
