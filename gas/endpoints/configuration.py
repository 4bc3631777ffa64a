"""The configuration: named endpoints in a TOML file.

::

    [endpoints.kth]
    type = "s3"                      # or "file", or a plug-in's name
    url = "http://127.0.0.1:8642"
    max_processors = 64              # limits are optional
    max_walltime = "12h"
    speed = 1.2                      # relative to the times in application files
    token_file = "~/.config/gas/kth.token"   # of mode 0600, with the token alone; see `gas.endpoints.access`
    ca_file = "~/.config/gas/kth.pem"        # certificates to trust; else $GAS_CA_FILE
    insecure = false                 # true: the token may go over plain HTTP to another machine
    timeout = 10                     # seconds to wait for an answer
    retries = 2                      # how often a query or a cancellation without an answer is repeated
    patience = 30                    # seconds for which submitting and reserving are repeated

The type names an entry point of the group ``gas.endpoints``: a callable taking the endpoint's name and its `Fields`.
It is loaded when the endpoint is used, so a broken plug-in does not disturb the others.

An endpoint runs programs, or sends jobs and tokens to the address in its table. So a file that others may have written,
or a ``gas.toml`` of the current folder that the user has not allowed (`gas.endpoints.trust`), defines only endpoints of
the type "file", which do neither.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from typing import NamedTuple

from documents.fields import FieldError, Fields, nearest, quoted
from gas.endpoints.access import Table, same_service
from gas.endpoints.endpoint import Endpoint
from gas.endpoints.trust import Document, read_document
from gas.errors import BadInput, GasError, Missing, Untrusted
from gas.reading import parse_toml

__all__ = ["PLUG_INS", "Configuration", "Place", "find_configuration", "load_configuration", "tables_of"]

PLUG_INS = "gas.endpoints"

HARMLESS = "file"
"""The type of endpoint that runs nothing and sends nothing: it reads a list."""


@dataclass(frozen=True)
class Configuration:
    """The endpoints of a configuration file, by name, as unread tables.

    Attributes
    ----------
    distrust
        Why only endpoints of the type "file" are used, and the remedy; None if all are.
    """

    path: Path | None = None
    tables: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    distrust: str | None = None

    @property
    def names(self) -> list[str]:
        """The names of the endpoints in the order of the file."""
        return list(self.tables)

    def endpoint(self, name: str, *, alone: bool = False) -> Endpoint:
        """Return an endpoint.

        Parameters
        ----------
        alone
            Whether the user names only this endpoint, so that a token of the environment is meant for it.

        Raises
        ------
        Untrusted
            It would run programs or send secrets, and its file is not trusted.
        BadInput
            There is no endpoint of this name.
        FieldError, BadInput
            Its table is invalid.
        Missing
            Its plug-in cannot be loaded.
        """
        if name not in self.tables:
            where = f"in {self.path}" if self.path else "because there is no configuration file"
            hint = nearest(name, self.tables) if self.tables else "; give it by its URL, or write a gas.toml"
            raise BadInput(f'there is no endpoint "{name}" {where}{hint}')
        place, rivals = f"{self.path}, [endpoints.{name}]", () if alone else self._rivals(name)
        fields = Table(self.tables[name], place, name=name, rivals=rivals)
        kind = fields.text("type")
        if self.distrust is not None and kind != HARMLESS:
            raise Untrusted(
                f"{place}: is not used, because {quoted(kind)} can run programs or send jobs and tokens, and "
                f"{self.path} {self.distrust}"
            )
        found = {point.name: point for point in entry_points(group=PLUG_INS)}
        if kind not in found:
            raise fields.fail("type", f"{quoted(kind)} is not known{nearest(kind, found)}")
        try:
            build = found[kind].load()
        except Exception as error:  # errors of a plug-in concern only its endpoint
            raise Missing(f'{fields.where("type")}: the plug-in "{kind}" cannot be loaded: {error!r}') from None
        try:
            endpoint = build(name, fields)
        except (FieldError, GasError):
            raise
        except Exception as error:
            raise Missing(f'{fields.where("type")}: the plug-in "{kind}" failed: {error!r}') from None
        if not isinstance(endpoint, Endpoint):
            made = f"made a {type(endpoint).__name__}, which is not a gas.endpoints.Endpoint"
            raise Missing(f'{fields.where("type")}: the plug-in "{kind}" {made}')
        return endpoint

    def _rivals(self, name: str) -> tuple[str, ...]:
        """Return the other addresses for which a token of the environment could equally be meant."""

        def accepts_any_token(table: Mapping[str, object]) -> bool:
            return "url" in table and not table.keys() & {"token_file", "token_command"}

        own = self.tables[name]
        others = [t for t in self.tables.values() if accepts_any_token(t) and t.get("type") == own.get("type")]
        addresses = dict.fromkeys(str(t["url"]) for t in others)
        return tuple(a for a in addresses if not same_service(a, str(own.get("url", ""))))


class Place(NamedTuple):
    """A configuration file, and whether the user named it or it is the one in the user's home."""

    path: Path
    named: bool


def find_configuration(explicit: Path | None = None) -> Place | None:
    """Return the configuration file: the named one, ``$GAS_CONFIG``, ``./gas.toml`` or the user's own; None if none."""
    if explicit is not None:
        return Place(explicit, True)
    if named := os.environ.get("GAS_CONFIG"):
        return Place(Path(named), True)
    from documents.home import NoHome, user_folder

    places = [Place(Path("gas.toml"), False)]
    with suppress(NoHome):  # then there is no file below it
        places.append(Place(user_folder("XDG_CONFIG_HOME") / "gas" / "config.toml", True))
    return next(filter(_is_file, places), None)


def _is_file(place: Place) -> bool:
    try:
        return place.path.is_file()
    except OSError as error:
        remedy = "make its folder readable, or name another configuration (--config or $GAS_CONFIG)"
        raise BadInput(f"{place.path}: cannot be read: {error.strerror}; {remedy}") from None


def load_configuration(explicit: Path | None = None) -> Configuration:
    """Return the effective configuration, empty if there is no file.

    Raises
    ------
    BadInput, FieldError
        The file cannot be read, or its structure is invalid.
    """
    place = find_configuration(explicit)
    if place is None:
        return Configuration()
    document = read_document(place.path)
    return Configuration(place.path, tables_of(document), document.distrust(named=place.named))


def tables_of(document: Document) -> dict[str, Mapping[str, object]]:
    """Return the tables of the endpoints in a configuration, by name.

    Raises
    ------
    BadInput, FieldError
        Its structure is invalid.
    """
    where = "standard input" if str(document.path) == "-" else str(document.path)
    fields = Fields(parse_toml(document.data, where), where)
    endpoints = fields.table("endpoints", {})
    tables: dict[str, Mapping[str, object]] = {}
    for name in endpoints.keys():  # noqa: SIM118  # not a mapping
        if not name.strip() or any(c in name for c in ":/ \t\n"):
            raise BadInput(f"{where}, [endpoints]: {quoted(name)} cannot be a name; use letters, digits, - and _")
        tables[name] = endpoints.table(name).rest()
    fields.done()
    return tables
