"""The driver's packages by dnf and rpm: RHEL and what is made of it, 9 (module streams) and 10 (version locks)."""

import re
import shutil
from pathlib import Path

from commands import FailedError, RefusedError, last, output, read, run, say
from packages import KERNEL, Family, Package, Target, satisfied

LOCKS = "/etc/dnf/plugins/versionlock.list"
STREAM = "/etc/dnf/modules.d/nvidia-driver.module"
# " package   arch   version   repository   size": the rows of dnf's table, under its headings.
_HEADING = re.compile(r"^(Installing|Upgrading|Downgrading|Removing|Reinstalling|Installing dependencies)")
_ROW = re.compile(r"^ (\S+)\s+(?:x86_64|aarch64|noarch)\s+\S+")


class Dnf:
    """The package manager of RHEL and what is made of it."""

    def __init__(self, spec):
        self.spec, self.family = spec, Family(spec)

    def installed(self):
        """Return {name: Package} of what is installed."""
        found, locks = {}, read(LOCKS)
        for line in output(
            ["rpm", "-qa", "--qf", "%{NAME}|%|EPOCH?{%{EPOCH}:}|%{VERSION}-%{RELEASE}|%{ARCH}\n"]
        ).splitlines():
            name, version, arch = line.split("|")
            found.setdefault(name, Package(name, version, arch, f"{name}-" in locks, True))
        return found

    def unfinished(self):
        """Return whether a transaction was interrupted: two versions of one package stay then."""
        return bool(output(["dnf", "-q", "repoquery", "--duplicates", "--installed"], timeout=120).strip())

    def repair(self, _version):
        """Take away what an interrupted transaction left twice."""
        status, text = run(["dnf", "-y", "remove", "--duplicates"], timeout=900)
        return last(text) if status else ""

    def refresh(self):
        """Fetch the lists, and switch to the stream that is wanted."""
        status, text = run(["dnf", "-q", "-y", "makecache"], timeout=900)
        return last(text, 4) if status else ""

    def target(self, prefer=""):
        """Return the transaction that makes the host as the plan says. RefusedError where it cannot be had."""
        spec, now = self.spec, self.installed()
        self._stream(spec["stream"])
        lead = spec["lead"]
        offered = self._versions(lead)
        fitting = [v for v in offered if satisfied(spec["version"], self._of(lead, v))]
        keep = [now[lead].version] if lead in now and satisfied(spec["version"], self.family.of(now[lead])) else []
        first = [v for v in fitting if prefer and self._of(lead, v) == prefer]
        chosen = next(iter([*keep, *first, *fitting]), "")
        if not chosen:
            raise RefusedError(
                f"no repository of this host has {lead} {spec['version']}; versions that can be had: "
                + (", ".join(offered) or "none")
            )
        version = self._of(lead, chosen)
        ours = [n for n, p in now.items() if self.family.has(p)]
        requests = [f"{n}-{version}" for n in dict.fromkeys([*spec["versioned"], *ours])]
        return Target(version, requests + [n for n in spec["plain"] if n not in now])

    def satisfied(self):
        """Return whether all that is wanted is installed, at one version that fits."""
        now = self.installed()
        ours = [p for p in now.values() if self.family.has(p)]
        if any(n not in now for n in (*self.spec["versioned"], *self.spec["plain"])):
            return False
        versions = {self.family.of(p) for p in ours}
        return len(versions) == 1 and satisfied(self.spec["version"], versions.pop())

    def version(self):
        """Return the driver's version where all its packages are of one, else ""."""
        versions = {self.family.of(p) for p in self.installed().values() if self.family.has(p)}
        return versions.pop() if len(versions) == 1 else ""

    def check(self, target):
        """Refuse a transaction that touches a kernel or removes what is not the driver's; nothing is changed."""
        status, text = run(["dnf", "--assumeno", "--allowerasing", "install", *target.requests], timeout=600)
        if status and "Operation aborted" not in text and "Nothing to do" not in text:
            raise RefusedError(f"dnf cannot do it: {last(text, 8)}")
        kernels, strange, heading = set(), set(), ""
        for line in text.splitlines():
            if found := _HEADING.match(line):
                heading = found[1]
            elif heading and (row := _ROW.match(line)):
                kernels |= {row[1]} if KERNEL.match(row[1]) else set()
                strange |= {row[1]} if heading == "Removing" and not self.family.moves(row[1]) else set()
        if kernels:
            raise RefusedError(
                f"installing the driver would change the kernel ({', '.join(sorted(kernels))}): upgrade the kernel and "
                "reboot first"
            )
        if strange:
            raise RefusedError(f"installing the driver would remove {', '.join(sorted(strange))}")

    def download(self, target):
        """Fetch all packages."""
        free = shutil.disk_usage("/usr").free
        if free < 3 << 30:
            raise RefusedError(f"/usr has {free >> 20} MiB free, and 3072 are needed")
        status, text = run(["dnf", "-y", "--allowerasing", "--downloadonly", "install", *target.requests])
        if status:
            raise RefusedError(f"the packages cannot be fetched: {last(text, 6)}")

    def keepable(self):
        """Return what is to be kept of the installed state."""
        lead = self.spec["lead"]
        ours = [p for p in self.installed().values() if self.family.has(p)]
        first = lead if any(p.name == lead for p in ours) else (ours[0].name if ours else "")
        return [
            {"name": p.name, "version": p.version, "arch": p.arch, "held": p.held, "lead": p.name == first}
            for p in ours
        ]

    def collect(self, packages, folder):
        """Put the files of packages into a folder. RefusedError where one is not to be had: rpm keeps none."""
        names = [_file(p) for p in packages]
        status, text = run(["dnf", "-y", "download", f"--destdir={folder}", *names], timeout=1800)
        for package in packages:
            name = _file(package)
            package["file"] = f"{name}.rpm"
            if not (folder / f"{name}.rpm").exists():
                raise RefusedError(f"no way back: {name} cannot be fetched: {last(text, 3) if status else ''}")

    def files(self):
        """Return the other files that belong to a state: the stream and the locks."""
        return {path: read(path) or None for path in (STREAM, LOCKS)}

    def install(self, target):
        """Do the transaction."""
        status, text = run(["dnf", "-y", "--allowerasing", "install", *target.requests])
        if status:
            raise FailedError(f"dnf failed: {last(text)}")

    def restore(self, folder, manifest):
        """Install a kept state, without a network."""
        for path, text in manifest["files"].items():
            if text is None:
                Path(path).unlink(missing_ok=True)
            else:
                Path(path).write_text(text, encoding="utf-8")
        names = {p["name"] for p in manifest["packages"]}
        files = [f"{folder}/{p['file']}" for p in manifest["packages"]]
        extra = [n for n, p in self.installed().items() if n not in names and self.family.has(p)]
        if extra:
            run(["rpm", "-e", "--nodeps", *extra])
        status, text = run(["rpm", "-U", "--oldpackage", "--replacepkgs", *files])
        if status:
            raise FailedError(f"the kept packages in {folder} cannot be installed: {last(text)}")

    def hold(self):
        """Lock the versions of the driver."""
        loose = sorted(n for n, p in self.installed().items() if self.family.has(p) and not p.held)
        if loose:
            if "python3-dnf-plugin-versionlock" not in self.installed():
                run(["dnf", "-y", "install", "python3-dnf-plugin-versionlock"])
            status, text = run(["dnf", "-q", "versionlock", "add", *loose], timeout=300)
            if status:
                raise FailedError(f"cannot lock the driver: {last(text, 3)}")

    def unhold(self, names=None):
        """Free what is locked of the driver."""
        ours = [n for n, p in self.installed().items() if p.held and self.family.has(p)]
        if ours:
            run(["dnf", "-q", "versionlock", "delete", *ours], timeout=300)

    def build(self, release):
        """Build the installed driver's module for a kernel."""
        return run(["dkms", "autoinstall", "-k", release])[1]

    def initramfs(self, newer_than):
        """Make the initial ramdisks anew that are older than a file of options."""
        since = Path(newer_than).stat().st_mtime
        images = [path for path in Path("/boot").glob("initramfs-*.img") if not re.search("rescue|kdump", path.name)]
        old = [path for path in images if path.stat().st_mtime < since]
        for path in old:
            say(f"make {path} anew")
            release = path.stem.removeprefix("initramfs-")
            status, text = run(["dracut", "--force", str(path), release])
            if status:
                raise FailedError(f"dracut failed: {last(text, 4)}")
        return bool(old)

    def _stream(self, stream):
        """Switch to a module stream, "nvidia-driver:580-open"."""
        if stream and f"stream={stream.partition(':')[2]}" not in read(STREAM).replace(" ", ""):
            run(["dnf", "-y", "module", "reset", "nvidia-driver"], timeout=300)
            status, text = run(["dnf", "-y", "module", "enable", stream], timeout=300)
            if status:
                raise RefusedError(f"there is no stream {stream}: {last(text, 3)}")

    def _versions(self, name):
        listed = output(["dnf", "-q", "repoquery", "--available", "--qf", "%{epoch}:%{version}-%{release}\n", name])
        return list(dict.fromkeys(reversed(listed.split())))

    def _of(self, name, version):
        return self.family.of(Package(name, version, "", False, True))


def _file(package):
    """Return a package's full name, which its file has too; without the epoch."""
    version = package["version"].partition(":")[2] or package["version"]
    return f"{package['name']}-{version}.{package['arch']}"
