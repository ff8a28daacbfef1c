"""`script/read-engine-flags`: reads releases from the package index that pip uses, and writes the data."""

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from qops.data import engines
from qops.data.engines import Engine, order
from qops.errors import QopsError
from qops.wheels import changes, index, sglang, vllm
from qops.wheels.archive import Files, Remote
from qops.wheels.release import Release

_DATA = Path(engines.__file__).parent
_FIRST = {"vllm": "0.16.0", "sglang": "0.5.9"}  # the oldest releases that the project serves with
_READERS: dict[str, tuple[Callable[[Files], Release], Callable[[str], bool]]] = {
    "vllm": (vllm.release, vllm.wanted),
    "sglang": (sglang.release, sglang.wanted),
}


def main() -> int:
    """Read what is asked for; 1 when a release cannot be read."""
    parser = argparse.ArgumentParser(prog="script/read-engine-flags", description=__doc__)
    parser.add_argument("--engine", choices=engines.ENGINES, help="only this one")
    parser.add_argument("--all", action="store_true", help="read every release again, not only the new ones")
    chosen = parser.parse_args()
    try:
        for engine in (chosen.engine,) if chosen.engine else engines.ENGINES:
            _write(engine, None if chosen.all else engines.load(engine))
    except QopsError as error:
        _say(f"error: {error.message}" + (f"\n  hint: {error.hint}" if error.hint else ""))
        return 1
    return 0


def _write(engine: str, start: Engine | None) -> None:
    after = order(start.versions[-1]) if start else order(_FIRST[engine])
    context = index.tls()
    offered = index.wheels(engine, context)
    new = [one for version, one in offered.items() if order(version) > after or (not start and order(version) == after)]
    releases = {}
    for wheel in new:
        read, wanted = _READERS[engine]
        files = Remote(wheel, context)
        files.want(path for path in files.names() if wanted(path))
        releases[wheel.version] = release = read(files)
        _say(f"{engine} {wheel.version}: {_counted(release)}, {files.read / 1e6:.1f} MB read")
    if not releases:
        _say(f"{engine}: nothing newer than {engines.load(engine).versions[-1]}")
        return
    text = changes.written(changes.merged(engine, releases, start))
    (_DATA / f"{engine}.json").write_text(text, encoding="utf-8")
    _say(f"{engine}: wrote {len(text) / 1e3:.0f} kB")


def _counted(release: Release) -> str:
    parts: Iterable[tuple[str, int]] = (("options", len(release.options)), ("variables", len(release.variables)))
    return ", ".join(f"{number} {name}" for name, number in parts)


def _say(text: str) -> None:
    print(text, file=sys.stderr)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
