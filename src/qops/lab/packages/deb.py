"""Debian packages, written without Debian's tools: equal contents give equal bytes."""

import gzip
import hashlib
import io
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath


@dataclass(frozen=True, slots=True)
class File:
    """One file of a package, or a link if `link` is set; the path is absolute."""

    path: str
    content: bytes = b""
    mode: int = 0o644
    link: str = ""


@dataclass(frozen=True, slots=True)
class Package:
    """One package at one version. `fields` are its relations and texts, in the order of the control file."""

    name: str
    version: str
    architecture: str
    fields: tuple[tuple[str, str], ...] = ()
    files: tuple[File, ...] = ()
    scripts: tuple[tuple[str, str], ...] = ()  # maintainer scripts by name: postinst, prerm, postrm
    triggers: tuple[str, ...] = ()

    @property
    def control(self) -> str:
        """The package's paragraph."""
        size = sum(len(file.content) for file in self.files) // 1024 + 1
        head = (
            ("Package", self.name), ("Version", self.version), ("Architecture", self.architecture),
            ("Maintainer", "qops lab <lab@qops.invalid>"), ("Installed-Size", str(size)),
        )  # fmt: skip
        return "".join(f"{key}: {value}\n" for key, value in (*head, *self.fields))

    @property
    def filename(self) -> str:
        """The name of its archive; an epoch does not belong there."""
        return f"{self.name}_{self.version.split(':', 1)[-1]}_{self.architecture}.deb"


def build(package: Package) -> bytes:
    """Return the package's archive (deb(5), format 2.0)."""
    sums = "".join(
        f"{hashlib.md5(one.content, usedforsecurity=False).hexdigest()}  {one.path.lstrip('/')}\n"
        for one in package.files
        if not one.link and not one.path.startswith("/etc/")
    )
    inside = [File("/control", package.control.encode()), File("/md5sums", sums.encode())]
    configuration = "".join(f"{one.path}\n" for one in package.files if one.path.startswith("/etc/"))
    if configuration:
        inside.append(File("/conffiles", configuration.encode()))
    if package.triggers:
        inside.append(File("/triggers", "".join(f"{one}\n" for one in package.triggers).encode()))
    inside += [File(f"/{name}", f"#!/bin/sh\nset -e\n{text}".encode(), 0o755) for name, text in package.scripts]
    members = (
        ("debian-binary", b"2.0\n"),
        ("control.tar.gz", _packed(inside)),
        ("data.tar.gz", _packed(package.files)),
    )
    return b"!<arch>\n" + b"".join(_member(name, content) for name, content in members)


def _member(name: str, content: bytes) -> bytes:
    head = f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n"
    return head.encode() + content + b"\n" * (len(content) % 2)


def _packed(files: Iterable[File]) -> bytes:
    plain = io.BytesIO()
    wanted = {file.path: file for file in files}
    folders = {str(parent) for path in wanted for parent in PurePosixPath(path).parents}
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for path in sorted(folders | wanted.keys()):
            member = tarfile.TarInfo(f".{path}")
            member.uname = member.gname = "root"
            file = wanted.get(path)
            if file is None:
                member.type, member.mode = tarfile.DIRTYPE, 0o755
                archive.addfile(member)
            elif file.link:
                member.type, member.linkname, member.mode = tarfile.SYMTYPE, file.link, 0o777
                archive.addfile(member)
            else:
                member.mode, member.size = file.mode, len(file.content)
                archive.addfile(member, io.BytesIO(file.content))
    return gzip.compress(plain.getvalue(), compresslevel=6, mtime=0)
