"""What stops this program."""

from __future__ import annotations


class Refused(Exception):  # noqa: N818 - what happened, not an error of this program
    """Something that the person who runs this must decide or mend; the text says what."""


class Silent(Refused):
    """A registry that this program could not ask; the engine may have ways of its own (a proxy, a login helper)."""
