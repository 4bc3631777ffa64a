"""Finds users' policies by name: from plug-ins (entry points ``gas.policies``) and from files.

Finding a policy runs none of its code; `OwnPolicy.make` loads it and creates an instance. A plug-in cannot take the
name of one of Gas's policies. An entry point names a class, or a function that returns an object like an instance of
such a class (`gas.policies.deciding`).
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from documents.fields import nearest
from gas.errors import BadInput
from gas.policies.wording import in_words
from gas.simulation.schedule import POLICIES, Policy

__all__ = ["PLUG_INS", "OwnPolicy", "find_policies", "find_policy", "plug_ins"]

PLUG_INS = "gas.policies"

_DECIDES = ("start", "kernel")
"""A policy has one of these attributes."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,49}")


@dataclass(frozen=True)
class OwnPolicy:
    """A user's policy and its source.

    Attributes
    ----------
    name
        Name in tables and messages.
    named
        Name in a command: the name of a plug-in, or a file and optionally a class in it, ``./sjf.py:SJF``.
    """

    name: str
    named: str

    def __str__(self) -> str:
        return self.name

    def make(self) -> object:
        """Load the policy, and create an instance.

        Raises
        ------
        BadInput
            The policy cannot be found, loaded or created, or has neither `start` nor `kernel`.
        """
        if file := _file_of(self.named):
            made = self._class_in(*file)
        else:
            points = [point for point in plug_ins() if point.name == self.named]
            if not points:
                raise BadInput(f"policy {self.named}: no plug-in registers it (entry points {PLUG_INS})")
            made = self._loaded(f"{points[0].value} cannot be loaded", points[0].load)
        if callable(made):
            return self._loaded("cannot be created (Gas calls it without arguments)", made)
        return made

    def source(self) -> dict[str, str] | None:
        """Return its file and the file's SHA-256; None for a plug-in, or if the file can no longer be read."""
        file = _file_of(self.named)
        try:
            return file and {"path": str(file[0]), "sha256": hashlib.sha256(file[0].read_bytes()).hexdigest()}
        except OSError:
            return None

    def version(self) -> str:
        """Return a version that changes with its file, or with the release of its plug-in."""
        if source := self.source():
            return source["sha256"]
        dists = [point.dist for point in plug_ins() if point.name == self.named]
        return " ".join(f"{dist.name} {dist.version}" for dist in dists if dist is not None)

    def _class_in(self, path: Path, wanted: str) -> Any:
        module = self._loaded("cannot be loaded", lambda: _module_of(path))
        if not wanted:
            classes = [
                name
                for name, one in vars(module).items()
                if isinstance(one, type) and one.__module__ == module.__name__ and _decides(one)
            ]
            if len(classes) != 1:
                which = f"{len(classes)}: {', '.join(classes)}" if classes else "none"
                raise BadInput(
                    f"policy {self.named}: a policy is a class with a method start (or a kernel), and the file has "
                    f"{which}; give one as {path}:CLASS"
                )
            wanted = classes[0]
        if not hasattr(module, wanted):
            known = [name for name, one in vars(module).items() if isinstance(one, type)]
            raise BadInput(f"policy {self.named}: the file has no class {wanted}{nearest(wanted, known)}")
        return getattr(module, wanted)

    def _loaded(self, what: str, load: Callable[[], Any]) -> Any:
        try:
            return load()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # others' code may raise anything
            raise BadInput(f"policy {self.named}: {what}: {in_words(error)}") from None


def plug_ins() -> list[EntryPoint]:
    """Return the registered policies that a command can name, without loading them."""
    found = {point.name: point for point in entry_points(group=PLUG_INS)}
    return [point for name, point in sorted(found.items()) if name not in (*POLICIES, "all") and _NAME.fullmatch(name)]


def find_policies(texts: Sequence[str]) -> list[Policy | OwnPolicy]:
    """Return the policies that a user names, in this order, each once; "all" means Gas's own.

    Parameters
    ----------
    texts
        Names, or several names separated by commas.

    Raises
    ------
    BadInput
        A policy is unknown, none is named, or two have the same name.
    """
    words = [word.strip() for text in texts for word in text.split(",") if word.strip()]
    if not words:
        raise BadInput(f"--policy: is empty; known: {', '.join(POLICIES)}")
    found: list[Policy | OwnPolicy] = []
    for word in words:
        found += POLICIES if word == "all" else [find_policy(word)]
    found = list(dict.fromkeys(found))
    names = [str(policy) for policy in found]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        of = " and ".join(one.named for one in found if isinstance(one, OwnPolicy) and one.name == twice[0])
        raise BadInput(f"--policy: {of} are both called {twice[0]}; rename a class, or simulate them one by one")
    return found


def find_policy(word: str) -> Policy | OwnPolicy:
    """Return the policy that a word names.

    Raises
    ------
    BadInput
        The policy is unknown, or its file cannot be read.
    """
    known = [policy for policy in POLICIES if policy == word]
    if known:
        return known[0]
    if file := _file_of(word):
        path, name = file
        try:
            path.open("rb").close()
        except OSError as error:
            raise BadInput(f"--policy {word}: {path} cannot be read: {error.strerror}") from None
        title = name or path.stem
        if title in POLICIES:
            raise BadInput(f"--policy {word}: would have the name {title} of a policy of Gas; rename it")
        return OwnPolicy(title, word)
    names = [point.name for point in plug_ins()]
    if word in names:
        return OwnPolicy(word, word)
    raise BadInput(
        f"--policy {word}: is not known{nearest(word, (*POLICIES, *names, 'all'))} "
        "(give your own policy by its file, ./FILE.py:CLASS)"
    )


def _file_of(named: str) -> tuple[Path, str] | None:
    """Return the file and the class that a word names, "" for no class; None if it names no file."""
    path, colon, name = named.rpartition(":")
    if not colon:
        path, name = named, ""
    return (Path(path), name) if path.endswith(".py") else None


def _decides(one: type) -> bool:
    return any(callable(getattr(one, name, None)) for name in _DECIDES)


def _module_of(path: Path) -> Any:
    """Load a file as a module; like a program, it can import its neighbours."""
    whole = path.resolve()
    name = f"gas_policy_{hashlib.sha256(str(whole).encode()).hexdigest()[:12]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = spec_from_file_location(name, whole)
    assert spec is not None, "its name ends in .py"
    assert spec.loader is not None, "a file has one"
    module = module_from_spec(spec)
    sys.modules[name] = module
    if str(whole.parent) not in sys.path:
        sys.path.append(str(whole.parent))
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
