"""Bodies of requests as JSON objects; a repeated key is an error, because its value is ambiguous."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import HTTPException, Request, Response
from fastapi.routing import APIRoute

from documents.fields import shown

__all__ = ["BodyRoute"]


class BodyRoute(APIRoute):
    """A route that answers 422 to a body with a repeated key in an object."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of requests."""
        handle = super().get_route_handler()

        async def handle_body(request: Request) -> Response:
            return await handle(_Request(request.scope, request.receive))

        return handle_body


class _Request(Request):
    async def json(self) -> Any:
        return json.loads(await self.body(), object_pairs_hook=_each_key_once)


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise HTTPException(422, f"body: the key {shown(twice)} occurs twice in one object; give it once")
    return found
