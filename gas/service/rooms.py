"""Chooses which connection to close when no place is left: the oldest of the party with the most connections.

A party is the address of a client, or a user; shares are counted by party. This module has no clock and closes nothing:
the caller reports who enters and leaves.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

__all__ = ["Room"]

Member = TypeVar("Member", bound=Hashable)


class Room(Generic[Member]):
    """Members by party, in the order in which they came; every operation takes constant time.

    Parameters
    ----------
    places
        Largest number of members; the caller enforces it.
    """

    def __init__(self, places: int) -> None:
        self.places = places
        self._party_of: dict[Member, Hashable] = {}
        self._members: dict[Hashable, dict[Member, None]] = {}
        self._of_size: dict[int, dict[Hashable, None]] = {}
        self._most = 0

    def __len__(self) -> int:
        return len(self._party_of)

    def __contains__(self, member: object) -> bool:
        return member in self._party_of

    def __iter__(self) -> Iterator[Member]:
        return iter(self._party_of)

    @property
    def full(self) -> bool:
        """Whether a member must leave before another enters."""
        return len(self) >= self.places

    def party_of(self, member: Member) -> Hashable | None:
        """Return the party of a member; None if it is not here."""
        return self._party_of.get(member)

    def count(self, party: Hashable) -> int:
        """Return the number of members of a party."""
        return len(self._members.get(party, ()))

    def members(self, party: Hashable) -> list[Member]:
        """Return the members of a party, the oldest first."""
        return list(self._members.get(party, ()))

    @property
    def largest(self) -> Hashable:
        """The party with the most members; of several, the one that has had this number for the longest time.

        Raises
        ------
        LookupError
            The room is empty.
        """
        if not self._most:
            raise LookupError("the room is empty")
        return next(iter(self._of_size[self._most]))

    def enter(self, member: Member, party: Hashable) -> None:
        """Add a member that is not here yet."""
        assert member not in self._party_of, "it is here already"
        self._party_of[member] = party
        members = self._members.setdefault(party, {})
        members[member] = None
        self._resized(party, len(members) - 1, len(members))

    def leave(self, member: Member) -> None:
        """Remove a member, if it is here."""
        if member not in self._party_of:
            return
        party = self._party_of.pop(member)
        members = self._members[party]
        del members[member]
        if not members:
            del self._members[party]
        self._resized(party, len(members) + 1, len(members))

    def _resized(self, party: Hashable, before: int, after: int) -> None:
        if before:
            peers = self._of_size[before]
            del peers[party]
            if not peers:
                del self._of_size[before]
        if after:
            self._of_size.setdefault(after, {})[party] = None
        self._most = max(self._most, after)
        if self._most and self._most not in self._of_size:
            self._most -= 1  # the party that had most has one less now
