"""The package files of what dpkg has installed: from apt's cache, a kept state, a repository, or packed anew."""

import os
import shutil
import tempfile
import urllib.parse
from pathlib import Path

from commands import RefusedError, last, output, run, say
from store import STATES

CACHE = Path("/var/cache/apt/archives")
INFO = Path("/var/lib/dpkg/info")
_SCRIPTS = ("preinst", "postinst", "prerm", "postrm", "triggers", "shlibs", "symbols", "config", "templates")


def file_name(package):
    """Return the name that apt gives a package's file."""
    version = urllib.parse.quote(package["version"], safe="+~").replace("%3A", "%3a")
    return f"{package['name']}_{version}_{package['arch']}.deb"


def collect(packages, folder):
    """Put the files of packages into a folder, and set "file" of each. RefusedError where one is not to be had."""
    for package in packages:
        package["file"] = file_name(package)
        known = [CACHE / package["file"], *STATES.glob(f"*/{package['file']}")]
        source = next((p for p in known if p.parent != folder and p.exists() and _is(p, package)), None)
        if source:
            _link(source, folder / package["file"])
        elif not _fetch(package, folder):
            _pack(package, folder)


def _link(source, target):
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copyfile(source, target)


def _is(path, package):
    """Return whether a file is whole and the package that it should be."""
    text = output(["dpkg-deb", "-f", str(path), "Package", "Version"])
    if text.split() != ["Package:", package["name"], "Version:", package["version"]]:
        return False
    return run(["sh", "-c", 'dpkg-deb --fsys-tarfile "$1" >/dev/null', "whole", str(path)], timeout=300)[0] == 0


def _fetch(package, folder):
    """Fetch a package from a repository that still has it."""
    script = 'cd "$1" && exec apt-get -o APT::Sandbox::User=root -o Acquire::Retries=1 download "$2"'
    entry = f"{package['name']}:{package['arch']}={package['version']}"
    run(["sh", "-c", script, "fetch", str(folder), entry], timeout=900)
    target = folder / package["file"]
    return target.exists() and _is(target, package)


def _pack(package, folder):
    """Pack an installed package anew from its files, as dpkg-repack does: no repository has it any more."""
    name, arch = package["name"], package["arch"]
    say(f"pack {name} {package['version']} anew: no repository has it")
    entry = name if arch == "all" else f"{name}:{arch}"
    with tempfile.TemporaryDirectory(dir=folder) as made:
        tree = Path(made) / "tree"
        about = tree / "DEBIAN"
        about.mkdir(parents=True)
        control = _control(output(["dpkg-query", "-s", entry]))
        (about / "control").write_text("\n".join(control) + "\n", encoding="utf-8")
        conffiles = output(["dpkg-query", "-W", "-f", "${Conffiles}", entry])
        names = [line.split()[0] for line in conffiles.splitlines() if line.strip() and "obsolete" not in line]
        if names:
            (about / "conffiles").write_text("\n".join(names) + "\n", encoding="utf-8")
        for script in _SCRIPTS:
            for path in (INFO / f"{name}.{script}", INFO / f"{name}:{arch}.{script}"):
                if path.exists():
                    shutil.copy(path, about / script)
        for line in output(["dpkg-query", "-L", entry]).splitlines():
            _copy(Path(line), tree)
        target = str(folder / package["file"])
        status, text = run(["dpkg-deb", "--root-owner-group", "-Znone", "-b", str(tree), target])
    if status:
        raise RefusedError(f"no way back: {name} {package['version']} cannot be had or packed anew: {last(text, 3)}")


def _control(text):
    """Yield the lines of a control file out of what dpkg knows of a package."""
    dropped = False
    for line in text.splitlines():
        if not line.startswith(" "):
            dropped = line.startswith(("Status:", "Config-Version:", "Conffiles:"))
        if line and not dropped:
            yield line


def _copy(path, tree):
    target = tree / path.relative_to("/")
    if path.is_dir() and not path.is_symlink():
        target.mkdir(parents=True, exist_ok=True)
    elif path.is_symlink() or path.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target, follow_symlinks=False)
