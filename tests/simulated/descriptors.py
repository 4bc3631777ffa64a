"""What file descriptors stand for: files, and pipes between processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulated.kernel import Task


class Pipe:
    """Bytes on their way; `writers` counts the open ends."""

    def __init__(self) -> None:
        self.data = b""
        self.writers = 0
        self.waiting: list[Task] = []

    def changed(self) -> None:
        waiting, self.waiting = self.waiting, []
        for task in waiting:
            task.wake()


class Open:
    """An open file description."""

    __slots__ = ("flags", "node", "offset", "path", "pipe", "references", "writes")

    def __init__(self, path: str, flags: int, node: Any = None, pipe: Pipe | None = None, writes: bool = False) -> None:
        self.path, self.flags, self.node, self.pipe, self.writes = path, flags, node, pipe, writes
        self.offset = 0
        self.references = 1
        if pipe is not None and writes:
            pipe.writers += 1

    def release(self) -> None:
        self.references -= 1
        if self.references == 0 and self.pipe is not None and self.writes:
            self.pipe.writers -= 1
            if not self.pipe.writers:
                self.pipe.changed()
