"""What each stand-in package is, read from data/packages/*.yaml."""

import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from qops.lab.errors import LabError
from qops.lab.packages.deb import File, Package
from qops.lab.packages.shared_object import shared_object

STAND_IN = "This is a stand-in of the qops lab: it holds no vendor software and drives no device."

_STANDING_IN = ("driver", "fabric", "toolkit", "system", "kernels")
_RELATIONS = ("depends", "recommends", "provides", "breaks", "conflicts", "replaces")
_SCRIPTS = ("postinst", "prerm", "postrm")
_KNOWN = {*_RELATIONS, *_SCRIPTS, "about", "arch", "branches", "version", "programs", "libraries", "files"}
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True, slots=True)
class Debian:
    """Debian's own packages: what hosts may install, and what the lab itself runs."""

    offered: tuple[str, ...]
    tools: tuple[str, ...]


def architecture() -> str:
    """Return Debian's name of this machine's architecture, which is also the hosts'."""
    return _ARCHITECTURES.get(platform.machine(), platform.machine())


def content(name: str) -> str:
    """Return the text of one of the definition files."""
    return (Path(str(resources.files("qops.data"))) / "packages" / f"{name}.yaml").read_text(encoding="utf-8")


def load(name: str) -> Mapping[str, Any]:
    """Return one of the definition files, parsed."""
    import yaml

    found: Mapping[str, Any] = yaml.safe_load(content(name))
    return found


def debian(base: str) -> Debian:
    """Return which of Debian's packages belong to a base."""
    found = load("debian")
    return Debian((*found["both"], *found[base]), tuple(found["tools"]))


def packages(kernels: Sequence[str]) -> tuple[Package, ...]:
    """Return every stand-in at every version; `kernels` are those to which there are headers."""
    return tuple(one for name in _STANDING_IN for one in _file(load(name), kernels))


def _file(given: Mapping[str, Any], kernels: Sequence[str]) -> Iterator[Package]:
    for values in _values(given, kernels):
        for name, about in given["packages"].items():
            unknown = about.keys() - _KNOWN
            if unknown:
                raise LabError(f"package {name} has unknown keys: {', '.join(sorted(unknown))}")
            if "branches" not in about or int(values["branch"]) in about["branches"]:
                yield _package(name, about, values)


def _values(given: Mapping[str, Any], kernels: Sequence[str]) -> Iterator[dict[str, str]]:
    here = {"architecture": platform.machine(), "triplet": f"{platform.machine()}-linux-gnu"}
    if given["each"] == "release":
        for release in given["releases"]:
            branch = release.split(".")[0]
            yield {**here, "release": release, "branch": branch, "version": f"{release}-{given['revision']}"}
    elif given["each"] == "version":
        for version in given["versions"]:
            yield {**here, "release": version.rpartition("-")[0], "version": version}
    elif given["each"] == "kernel":
        yield from ({**here, "kernel": kernel} for kernel in kernels)
    else:
        yield here


def _package(name: str, about: Mapping[str, Any], values: Mapping[str, str]) -> Package:
    def filled(text: str) -> str:
        for key, value in values.items():
            text = text.replace(f"@{key}@", value)
        return text

    arch = about.get("arch", architecture())
    version = filled(about.get("version", "@version@"))
    fields = [
        (relation.capitalize(), ", ".join(filled(one) for one in about[relation]))
        for relation in _RELATIONS
        if relation in about
    ]
    summary = filled(about["about"])
    fields += [("Section", "NVIDIA"), ("Priority", "optional"), ("Description", f"{summary}\n {STAND_IN}")]
    files = [File(filled(path), filled(text).encode()) for path, text in about.get("files", {}).items()]
    for path, script in about.get("programs", {}).items():
        text = filled((Path(__file__).parent / "files" / script).read_text(encoding="utf-8"))
        files.append(File(filled(path), text.encode(), 0o755))
    for soname in about.get("libraries", ()):
        folder = filled("/usr/lib/@triplet@")
        real = f"{soname.partition('.so.')[0]}.so.{values['release']}"
        files.append(File(f"{folder}/{real}", shared_object(soname, architecture(), STAND_IN)))
        files.append(File(f"{folder}/{soname}", link=real))
    scripts = [(script, filled(about[script])) for script in _SCRIPTS if script in about]
    triggers = ("activate-noawait ldconfig",) if about.get("libraries") else ()
    return Package(filled(name), version, arch, tuple(fields), tuple(files), tuple(scripts), triggers)
