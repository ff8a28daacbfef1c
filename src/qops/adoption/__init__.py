"""Reads how a machine serves now (compose file, unit, `docker run`, `docker inspect`), and says it in an inventory."""

from collections.abc import Mapping

from qops.adoption import compose, inspected, unit
from qops.adoption.found import Found, Left, Reader
from qops.adoption.instance import Adopted, adopt
from qops.adoption.script import Script
from qops.flags import systemd

__all__ = ["Adopted", "Found", "Left", "Reader", "adopt", "read"]


def read(text: str, source: str, values: Mapping[str, str], reader: Reader) -> list[Found]:
    """Return the engines that `text` starts, by what it looks like. `values` are the variables around it.

    UsageError, with file and line, for what looks like one of the kinds and is none.
    """
    if inspected.is_inspected(text):
        return inspected.read(text, source, reader)
    texts = unit.parts(text, source)
    if any(one.section in ("Service", "Container") for path, part in texts for one in systemd.settings(part, path)):
        return unit.Unit(source, texts, values, reader).found()
    if compose.is_compose(text):
        return compose.read(text, source, dict(values), reader)
    return Script(source, dict(values), reader).run(text)
