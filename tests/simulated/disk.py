"""A disk with a page cache: what was written is seen at once, and survives a power cut only if it was synced.

Every file and every directory has what is seen now and what is on the platter. In between lie the operations that were
not synced: at a power cut each survives or not, and data may be torn at a sector. A failed fsync leaves some of them
neither on the platter nor pending, as Linux does, page by page: they are seen until the power goes.
"""

from __future__ import annotations

import errno
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator

SECTOR = 512
PAGE = 4096

CHANGES = ("create", "write", "truncate", "fsync", "rename", "link", "unlink", "mkdir", "rmdir")
"""The operations before and after which a power cut may come."""


class File:
    """Bytes."""

    is_directory = False
    __slots__ = ("data", "durable", "mode", "number", "pending", "stale")

    def __init__(self, number: int) -> None:
        self.number = number
        self.mode = 0o600
        self.data = bytearray()
        self.durable = bytearray()
        self.pending: list[tuple[int, int, bytes | None]] = []  # (when, offset, data); without data, a new size
        self.stale: set[int] = set()  # pages that count as written but are not

    def seal(self) -> None:
        for _, offset, data in self.pending:
            _apply(self.durable, offset, data)
        self.pending.clear()


class Directory:
    """Names."""

    is_directory = True
    __slots__ = ("durable", "entries", "mode", "number", "pending")

    def __init__(self, number: int) -> None:
        self.number = number
        self.mode = 0o700
        self.entries: dict[str, File | Directory] = {}
        self.durable: dict[str, File | Directory] = {}
        self.pending: list[tuple[int, dict[str, File | Directory | None]]] = []  # (when, names that change together)

    def seal(self) -> None:
        for _, changes in self.pending:
            _rename(self.durable, changes)
        self.pending.clear()


Node = File | Directory


def _apply(content: bytearray, offset: int, data: bytes | None) -> None:
    if data is None:
        if offset <= len(content):
            del content[offset:]
        else:
            content.extend(bytes(offset - len(content)))
        return
    if offset > len(content):
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(data)] = data


def _rename(entries: dict[str, Node], changes: dict[str, Node | None]) -> None:
    for name, node in changes.items():
        if node is None:
            entries.pop(name, None)
        else:
            entries[name] = node


def _pages(offset: int, size: int) -> range:
    return range(offset // PAGE, (offset + size - 1) // PAGE + 1)


class Disk:
    """A file system.

    Attributes
    ----------
    operations
        How many changes there were so far, by kind.
    watch
        Called with the kind and the path before and after each change (second argument: whether it is done).
        It may raise, sleep, or cut the power.
    """

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self._numbers = 1
        self._order = 0
        self.root = Directory(1)
        self.operations: Counter[str] = Counter()
        self.watch: Callable[[str, str, bool], None] = lambda kind, path, done: None
        self.lost = 0  # operations lost at power cuts

    # --------------------------------------------------------------------------------------------------- names

    def find(self, path: str) -> Node:
        node: Node = self.root
        for part in path.split("/"):
            if not part:
                continue
            if not node.is_directory:
                raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
            try:
                node = node.entries[part]  # type: ignore[union-attr]
            except KeyError:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path) from None
        return node

    def place(self, path: str) -> tuple[Directory, str]:
        """Return the directory that holds, or is to hold, a name."""
        parent, _, name = path.rstrip("/").rpartition("/")
        folder = self.find(parent)
        if not isinstance(folder, Directory):
            raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        return folder, name

    def exists(self, path: str) -> bool:
        try:
            self.find(path)
        except OSError:
            return False
        return True

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers

    def _change(self, folder: Directory, changes: dict[str, Node | None]) -> None:
        _rename(folder.entries, changes)
        self._order += 1
        folder.pending.append((self._order, changes))

    # ------------------------------------------------------------------------------------------------- changes

    def _begin(self, kind: str, path: str) -> None:
        self.operations[kind] += 1
        self.watch(kind, path, False)

    def create(self, path: str) -> File:
        folder, name = self.place(path)
        self._begin("create", path)
        file = File(self._number())
        self._change(folder, {name: file})
        self.watch("create", path, True)
        return file

    def mkdir(self, path: str) -> None:
        folder, name = self.place(path)
        if name in folder.entries:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
        self._begin("mkdir", path)
        self._change(folder, {name: Directory(self._number())})
        self.watch("mkdir", path, True)

    def write(self, file: File, data: bytes, offset: int, path: str) -> None:
        self._begin("write", path)
        _apply(file.data, offset, data)
        self._order += 1
        file.pending.append((self._order, offset, data))
        if file.stale:
            for page in file.stale.intersection(_pages(offset, len(data))):
                file.stale.discard(page)  # from the cache the whole page is written
                whole = bytes(file.data[page * PAGE : (page + 1) * PAGE])
                file.pending.append((self._order, page * PAGE, whole))
        self.watch("write", path, True)

    def truncate(self, file: File, size: int, path: str) -> None:
        self._begin("truncate", path)
        _apply(file.data, size, None)
        self._order += 1
        file.pending.append((self._order, size, None))
        self.watch("truncate", path, True)

    def fsync(self, node: Node, path: str) -> None:
        try:
            self._begin("fsync", path)
        except OSError as error:
            if error.errno == errno.EIO and isinstance(node, File):
                self._give_up_pages(node)
            raise
        node.seal()
        self.watch("fsync", path, True)

    def _give_up_pages(self, file: File) -> None:
        """Do what Linux does when pages cannot be written: take them for written, until they are changed again."""
        pages = sorted({page for _, offset, data in file.pending if data for page in _pages(offset, len(data))})
        given_up = {page for page in pages if self.rng.random() < 0.5}
        for _, offset, data in file.pending:
            if data is None:
                _apply(file.durable, offset, None)
                continue
            for page in _pages(offset, len(data)):
                if page not in given_up:
                    start, end = max(offset, page * PAGE), min(offset + len(data), (page + 1) * PAGE)
                    _apply(file.durable, start, data[start - offset : end - offset])
        file.pending.clear()
        file.stale |= given_up

    def rename(self, old: str, new: str) -> None:
        folder, name = self.place(old)
        target, other = self.place(new)
        if name not in folder.entries:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), old)
        self._begin("rename", new)
        node = folder.entries[name]
        if folder is target:
            self._change(folder, {name: None, other: node})
        else:
            self._change(target, {other: node})
            self._change(folder, {name: None})
        self.watch("rename", new, True)

    def link(self, old: str, new: str) -> None:
        node = self.find(old)
        folder, name = self.place(new)
        if name in folder.entries:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), new)
        self._begin("link", new)
        self._change(folder, {name: node})
        self.watch("link", new, True)

    def unlink(self, path: str) -> None:
        folder, name = self.place(path)
        if name not in folder.entries:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        if folder.entries[name].is_directory:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        self._begin("unlink", path)
        self._change(folder, {name: None})
        self.watch("unlink", path, True)

    def rmdir(self, path: str) -> None:
        folder, name = self.place(path)
        node = self.find(path)
        if not isinstance(node, Directory):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        if node.entries:
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path)
        self._begin("rmdir", path)
        self._change(folder, {name: None})
        self.watch("rmdir", path, True)

    # ----------------------------------------------------------------------------------------------- power cuts

    def nodes(self, durable: bool = False) -> Iterator[Node]:
        """Every node below the root, once."""
        seen: set[int] = set()
        waiting: list[Node] = [self.root]
        while waiting:
            node = waiting.pop()
            if node.number not in seen:
                seen.add(node.number)
                yield node
                if isinstance(node, Directory):
                    waiting += (node.durable if durable else node.entries).values()

    def lose_power(self, how: str) -> None:
        """Forget what was not synced: ``all`` of it, ``none``, what came after some ``moment``, or ``some``."""
        moment = self.rng.randint(0, self._order)
        oldest = min((op[0] for node in self.nodes() for op in node.pending), default=0)
        if how == "moment":
            moment = self.rng.randint(min(oldest, self._order), self._order)
        waiting: list[Node] = [self.root]
        seen: set[int] = set()
        while waiting:
            node = waiting.pop()
            if node.number in seen:
                continue
            seen.add(node.number)
            for operation in node.pending:
                if how == "all" or (how == "moment" and operation[0] > moment):
                    self.lost += 1
                    continue
                if how == "some" and self.rng.random() < 0.5:
                    self.lost += 1
                    if isinstance(node, File) and operation[2] and self.rng.random() < 0.3:  # type: ignore[misc]
                        self._tear(node, operation[1], operation[2])  # type: ignore[misc, arg-type]
                    continue
                if isinstance(node, File):
                    _apply(node.durable, operation[1], operation[2])  # type: ignore[misc, arg-type]
                else:
                    _rename(node.durable, operation[1])  # type: ignore[arg-type]
            node.pending.clear()
            if isinstance(node, File):
                node.stale.clear()
                node.data = bytearray(node.durable)
            else:
                node.entries = dict(node.durable)
                waiting += node.entries.values()

    def _tear(self, file: File, offset: int, data: bytes) -> None:
        """Let some sectors of a write survive."""
        position = 0
        while position < len(data):
            size = SECTOR - (offset + position) % SECTOR
            if self.rng.random() < 0.5:
                _apply(file.durable, offset + position, data[position : position + size])
            position += size

    def seal(self) -> None:
        """Make everything durable, as an administrator does who prepares a machine."""
        for node in self.nodes():
            node.seal()
