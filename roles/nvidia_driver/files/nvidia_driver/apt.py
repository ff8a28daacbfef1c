"""The driver's packages by apt and dpkg."""

import re
import shutil
import time
from pathlib import Path

from commands import FailedError, RefusedError, last, make_log, output, run, say
from debs import collect
from packages import KERNEL, PIN, Family, Package, Target, satisfied

PREFERENCES = Path("/run/qops-nvidia-driver-preferences")
_STATUS = re.compile(r"(.)(.)(.)\|(\S+)\|(\S*)\|(\S+)")
_NOT_BUILT = "Bad return status for module build"  # of dkms
_STEP = re.compile(r"^(Inst|Remv|Purg) (\S+)", re.MULTILINE)
_OPTIONS = (
    "-o", "DPkg::Lock::Timeout=600", "-o", "Dpkg::Use-Pty=0", "-o", "Dpkg::Options::=--force-confdef",
    "-o", "Dpkg::Options::=--force-confold", "-o", "APT::Get::AutomaticRemove=false", "-y",
)  # fmt: skip
# Kept files are there to be read; whatever else apt may want is not waited for. The folder is root's alone.
_OFFLINE = (
    "-o", "Acquire::Retries=0", "-o", "Acquire::http::Timeout=3", "-o", "Acquire::https::Timeout=3",
    "-o", "APT::Sandbox::User=root",
)  # fmt: skip
# Downgrades and held packages are asked for by their version, never met by chance.
_CHANGES = ("--allow-downgrades", "--allow-change-held-packages", "--no-install-recommends")


class Apt:
    """The package manager of Debian, Ubuntu and what is made of them."""

    def __init__(self, spec):
        self.spec, self.family = spec, Family(spec)

    def installed(self):
        """Return {name: Package} of what is installed, half or whole, the host's own architecture first."""
        found = {}
        fields = "${db:Status-Abbrev}|${Package}|${Version}|${Architecture}\n"
        own = output(["dpkg", "--print-architecture"]).strip()
        for line in output(["dpkg-query", "-W", "-f", fields]).splitlines():
            match = _STATUS.match(line)
            if match and match[2] not in "nc" and not (match[4] in found and match[6] not in (own, "all")):
                whole = match[2] == "i" and match[3] != "R"
                found[match[4]] = Package(match[4], match[5], match[6], match[1] == "h", whole)
        return found

    def unfinished(self):
        """Return whether dpkg was interrupted."""
        journal = any(path.name.isdigit() for path in Path("/var/lib/dpkg/updates").iterdir())
        return journal or bool(output(["dpkg", "--audit"]).strip())

    def repair(self, version):
        """Finish what dpkg was interrupted at, at the driver's version if there is one; return why it cannot.

        Where one package is unpacked and what it depends on is not, dpkg alone does not get on.
        """
        say("dpkg --configure -a")
        status, text = self._dpkg("--configure", "-a", "--force-confdef", "--force-confold")
        failed = last(text) if status else ""
        if failed:
            say(f"{failed}\napt-get --fix-broken install")
            whole = Target(version, ["--fix-broken"])
            try:
                self.check(whole)
            except RefusedError as error:
                return str(error)
            failed = last(self._transact(whole))
        if not failed:
            self._purge_pins(self.spec["pin"])
        return failed

    def refresh(self):
        """Fetch the lists of packages; return what apt says where it cannot."""
        status, text = run(["apt-get", *_OPTIONS, "-o", "APT::Update::Error-Mode=any", "update"], timeout=900)
        return last(text, 4) if status else ""

    def versions(self, names):
        """Return {name: versions that can be had, newest first}."""
        found = {}
        for line in output(["apt-cache", "madison", *names]).splitlines():
            parts = [part.strip() for part in line.split("|")]
            if len(parts) > 2 and parts[1] not in found.setdefault(parts[0], []):
                found[parts[0]].append(parts[1])
        return found

    def target(self, prefer=""):
        """Return the transaction that makes the host as the plan says. RefusedError where it cannot be had."""
        spec, now = self.spec, self.installed()
        wanted = [*spec["versioned"]]
        if not spec["explicit"]:
            requests = [*wanted, *spec["plain"]]
            return Target("", [n for n in requests if n not in now or n in wanted or not now[n].whole])
        ours = [n for n, p in now.items() if self.family.has(p)]
        offered = self.versions([*wanted, *ours])
        lead = spec["lead"]
        fitting = [v for v in offered.get(lead, []) if satisfied(spec["version"], self.family.of(_bare(lead, v)))]
        installed = [now[lead].version] if lead in now else []
        keep = [v for v in installed if satisfied(spec["version"], self.family.of(_bare(lead, v)))]
        first = [v for v in fitting if prefer and self.family.of(_bare(lead, v)) == prefer]
        chosen = next(iter([*keep, *first, *fitting]), "")
        if not chosen:
            there = ", ".join(dict.fromkeys(self.family.of(_bare(lead, v)) for v in offered.get(lead, []))) or "none"
            raise RefusedError(
                f"no repository of this host has {lead} {spec['version']}; versions that can be had: {there}"
            )
        version = self.family.of(_bare(lead, chosen))
        requests = []
        for name in dict.fromkeys([*wanted, *ours]):
            same = [v for v in offered.get(name, []) if self.family.of(_bare(name, v)) == version]
            here = now[name].version if name in now and self.family.of(now[name]) == version else ""
            if here and not same:
                continue  # installed at that version, and nowhere else any more
            if same:
                requests.append(f"{name}={here or same[0]}")
            elif name in wanted:
                raise RefusedError(
                    f"no repository of this host has {name} {version}, which belongs to {lead} {version}"
                )
        requests += [n for n in spec["plain"] if n not in now]
        requests += [spec["pin"]] if spec["pin"] and spec["pin"] not in now else []
        return Target(version, requests)

    def satisfied(self):
        """Return whether all that is wanted is installed whole, at one version that fits."""
        spec, now = self.spec, self.installed()
        ours = [p for p in now.values() if self.family.has(p)]
        names = [*spec["versioned"], *spec["plain"], *([spec["pin"]] if spec["pin"] else [])]
        if any(n not in now or not now[n].whole for n in names) or any(not p.whole for p in ours):
            return False
        versions = {self.family.of(p) for p in ours}
        return len(versions) == 1 and satisfied(spec["version"], versions.pop())

    def version(self):
        """Return the driver's version where all its packages are whole and of one version, else ""."""
        ours = [p for p in self.installed().values() if self.family.has(p)]
        versions = {self.family.of(p) for p in ours}
        return versions.pop() if len(versions) == 1 and all(p.whole for p in ours) else ""

    def check(self, target):
        """Refuse a transaction that touches a kernel or removes what is not the driver's; nothing is changed."""
        status, text = self._get(target, "-s")
        if status:
            raise RefusedError(f"apt cannot do it: {last(text, 8)}")
        steps = _STEP.findall(text)
        kernels = sorted({name for _, name in steps if KERNEL.match(name)})
        if kernels:
            raise RefusedError(
                f"installing the driver would change the kernel ({', '.join(kernels)}): upgrade the kernel and reboot "
                "first, or free it where it is held"
            )
        strange = sorted({name for step, name in steps if step != "Inst" and not self.family.moves(name)})
        if strange:
            raise RefusedError(f"installing the driver would remove {', '.join(strange)}")

    def download(self, target):
        """Fetch all packages, so that the transaction needs no network; RefusedError where there is no room."""
        _, text = self._get(target, "--print-uris", "--download-only")
        size = sum(int(n) for n in re.findall(r"^'\S+' \S+ (\d+) ", text, re.MULTILINE))
        for folder, factor in (("/var/cache/apt/archives", 1), ("/usr", 4), ("/var/lib/dpkg", 1)):
            free = shutil.disk_usage(folder).free
            need = factor * size + (256 << 20)
            if free < need:
                raise RefusedError(f"{folder} has {free >> 20} MiB free, and {need >> 20} are needed")
        status, text = self._get(target, "--download-only")
        if status:
            raise RefusedError(f"the packages cannot be fetched: {last(text, 6)}")

    def keepable(self):
        """Return what is to be kept of the installed state: the driver, its signed modules and its pin."""
        lead = self.spec["lead"]
        chosen = [p for p in self.installed().values() if self.family.has(p) or self.family.moves(p.name)]
        first = (
            lead if any(p.name == lead for p in chosen) else next((p.name for p in chosen if self.family.has(p)), "")
        )
        return [
            {"name": p.name, "version": p.version, "arch": p.arch, "held": p.held, "lead": p.name == first}
            for p in chosen
        ]

    def collect(self, packages, folder):
        """Put the files of packages into a folder."""
        collect(packages, folder)

    def files(self):
        """Return the other files that belong to a state."""
        return {}

    def install(self, target):
        """Do the transaction."""
        failed = self._transact(target)
        if failed and _NOT_BUILT not in failed:  # what does not compile will not the second time
            say(f"apt failed, once more: {last(failed, 4)}")
            self.repair(target.version)
            failed = self._transact(target)
        if failed:
            raise FailedError(f"apt failed: {last(failed)}{make_log()}")
        self._purge_pins(self.spec["pin"])

    def _transact(self, target):
        """Do it with what was fetched, else with what can be; return what apt says where it fails."""
        status, text = self._get(target, "--no-download")
        if status and _NOT_BUILT not in text:
            status, text = self._get(target)  # a package that a cleaner took away in between
        return (text or f"apt-get ended with status {status}") if status else ""

    def _purge_pins(self, pin):
        rest = Path("/var/lib/dpkg/info").glob("nvidia-driver-pinning-*.list")
        names = {path.name[: -len(".list")].partition(":")[0] for path in rest} - {pin}
        gone = [n for n in names if n not in self.installed()]
        if gone:
            self._dpkg("--purge", *gone)

    def restore(self, folder, manifest):
        """Install a kept state, without a network."""
        names = {p["name"] for p in manifest["packages"]}
        files = [f"{folder}/{p['file']}" for p in manifest["packages"]]
        now = self.installed()
        extra = [n for n, p in now.items() if n not in names and (self.family.has(p) or PIN in n)]
        self.unhold([*names, *extra])
        pins = [n for n in extra if PIN in n]
        if pins:
            self._dpkg("--purge", "--force-depends", *pins)
        rest = [f"{n}-" for n in extra if n not in pins]
        status, text = run(["apt-get", *_OPTIONS, *_OFFLINE, *_CHANGES, "install", *files, *rest])
        if status:
            say(f"apt does not take it, dpkg is asked: {last(text, 4)}")
            if rest:
                self._dpkg("--purge", "--force-depends", *(n for n in extra if n not in pins))
            status, text = self._dpkg("--install", "--force-downgrade", "--force-confold", *files)
        if status:
            raise FailedError(f"the kept packages in {folder} cannot be installed: {last(text)}{make_log()}")
        self._purge_pins(next((n for n in names if PIN in n), ""))

    def hold(self):
        """Hold the driver and what must move with it."""
        now = self.installed()
        besides = [n for n in self.spec["held_besides"] if n in now]
        loose = sorted(n for n in {*self._ours(now), *besides} if not now[n].held)
        if loose:
            status, text = run(["apt-mark", "hold", *loose], timeout=120)
            if status:
                raise FailedError(f"cannot hold the driver: {last(text, 3)}")

    def unhold(self, names=None):
        """Free what is held of the driver."""
        now = self.installed()
        ours = self._ours(now) if names is None else names
        held = sorted(n for n in ours if n in now and now[n].held)
        if held:
            run(["apt-mark", "unhold", *held], timeout=120)

    def _ours(self, now):
        return [n for n, p in now.items() if self.family.has(p) or self.family.modules.match(n)]

    def build(self, release):
        """Build the installed driver's module for a kernel."""
        return run(["dkms", "autoinstall", "-k", release])[1]

    def initramfs(self, newer_than):
        """Make the initial ramdisks anew that are older than a file of options."""
        since = Path(newer_than).stat().st_mtime
        images = Path("/boot").glob("initrd.img-*")
        old = [path for path in images if path.stat().st_mtime < since and path.suffix not in (".old", ".bak", ".new")]
        for path in old:
            say(f"make {path} anew")
            status, text = run(["update-initramfs", "-u", "-k", path.name.removeprefix("initrd.img-")])
            if status:
                raise FailedError(f"update-initramfs failed: {last(text, 4)}")
        return bool(old)

    def _dpkg(self, *arguments):
        """Run dpkg, and wait for whoever has it now."""
        until = time.monotonic() + 600
        while True:
            status, text = run(["dpkg", *arguments])
            if "lock" not in text or status == 0 or time.monotonic() > until:
                return status, text
            time.sleep(2)

    def _get(self, target, *options):
        pinned = self._preferences(target) if target.version else ()
        return run(["apt-get", *_OPTIONS, *pinned, *_CHANGES, *options, "install", *target.requests])

    def _preferences(self, target):
        """Let apt take dependencies at the driver's version too; the host's other preferences stay."""
        shutil.rmtree(PREFERENCES, ignore_errors=True)
        PREFERENCES.mkdir()
        for path in Path("/etc/apt/preferences.d").glob("*"):
            if "nvidia" not in path.name and path.is_file():
                shutil.copy(path, PREFERENCES)
        (PREFERENCES / "00-qops-nvidia-driver").write_text(
            "Package: *nvidia* cuda-drivers* libcuda1 libnvcuvid1 libnvsdm\n"
            f"Pin: version {target.version}-*\nPin-Priority: 1001\n",
            encoding="utf-8",
        )
        return ("-o", f"Dir::Etc::PreferencesParts={PREFERENCES}")


def _bare(name, version):
    return Package(name, version, "", False, True)
