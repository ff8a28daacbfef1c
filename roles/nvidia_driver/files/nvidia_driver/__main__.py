"""Changes the NVIDIA driver of this host, or brings the last good one back. From qops, role nvidia_driver.

python3 -I /usr/local/lib/qops/nvidia_driver change|rollback [--stop-clients]

What happens, in this order: look whether it can be done, fetch everything, keep the packages of the present state,
write the journal, stop who uses the GPUs, unload, install, load, look, start again. Until the journal is written
nothing is changed. After that a failure brings the kept state back; what does not come to an end at all (a power cut,
kill -9, a full disk) is finished, or taken back, by the next run. It never reboots.
"""

import contextlib
import json
import sys
from pathlib import Path

import gpu
import store
from apt import Apt
from commands import FailedError, RefusedError, say
from dnf import Dnf

SPEC = "/etc/qops/nvidia-driver.json"
OPTIONS = "/etc/modprobe.d/qops-nvidia.conf"


class Change:
    """One run."""

    def __init__(self, spec):
        self.spec = spec
        self.manager = Apt(spec) if spec["manager"] == "apt" else Dnf(spec)
        self.did, self.reboot, self.warnings = [], "", []
        self.stopped = []
        self.touched = False  # whether packages may have been changed

    def change(self):
        """Make the driver as the plan says."""
        manager, before = self.manager, store.journal()
        if before or manager.unfinished():
            self._repair(before)
        install = not manager.satisfied()
        target = self._prepare(before) if install else None
        reload = self._must_reload(target, before)
        if not install and not reload:
            self._finish(before)
            return
        self.stopped = list(before.get("stopped", []))
        self.touched = before.get("step", "stop") != "stop"
        stop = gpu.clients(self.spec) if reload else []
        if install:
            self._keep(before)
        self._note("stop", target, stop)
        try:
            if reload:
                gpu.stop(stop)
                self.reboot = gpu.unload()
            if install:
                self._install(target)
            self._load()
        except (FailedError, RefusedError, OSError) as error:
            self._back(error)
        self._finish(before)

    def _repair(self, before):
        what = f"a change ({before.get('step', 'unknown')}) did not end" if before else "dpkg was interrupted"
        say(f"{what}: repair")
        trouble = self.manager.repair(before.get("version", ""))
        self.did.append("repaired an interrupted change")
        if trouble:
            say(f"it cannot be finished as it is: {trouble}")

    def _prepare(self, before):
        """Return the transaction, checked and fetched. RefusedError where it cannot be done."""
        trouble = self.manager.refresh()
        if trouble:
            say(f"no fresh lists of packages: {trouble}")
        try:
            target = self.manager.target(before.get("version", ""))
            if target.requests:
                self.manager.check(target)
                self.manager.download(target)
        except RefusedError as error:
            after = f" (the lists are old: {trouble})" if trouble else ""
            if before.get("step", "stop") != "stop":  # half of it is done: there is no staying here
                self.touched = True
                self._back(RefusedError(f"{error}{after}"))
            raise RefusedError(f"{error}{after}") from None
        return target

    def _must_reload(self, target, before):
        loaded = gpu.loaded()
        if "nouveau" in loaded or before.get("step"):
            return True
        wanted = target.version if target and target.version else self.manager.version()
        if "nvidia" not in loaded:
            return True
        same_flavour = (self.spec["flavour"] == "open") == ("Open Kernel" in gpu.read("/proc/driver/nvidia/version"))
        right = gpu.version() == wanted and same_flavour
        return not right or gpu.parameters_differ(self.spec["parameters"])

    def _keep(self, before):
        """Keep the present state as the last good one, if it is good: whole, of one version, with its module.

        What an unfinished change left was never seen to work: then the way back stays where it leads.
        """
        version = self.manager.version()
        if not version or not gpu.has_module(gpu.kernel()) or (before and store.last_good()[0]):
            return
        folder = store.keep(self.manager.keepable(), self.manager.collect, self.manager.files())
        store.make_last_good(folder)
        self.did.append(f"kept {version}")

    def _note(self, step, target=None, stop=()):
        self.stopped = list(dict.fromkeys([*self.stopped, *stop]))
        version = target.version if target else self.manager.version()
        store.note({"step": step, "version": version, "stopped": self.stopped})

    def _install(self, target):
        self._note("install", target)
        self.touched = True
        self.manager.unhold()
        try:
            if target.requests:
                say(f"install {' '.join(target.requests)}")
                self.manager.install(target)
        finally:
            self._hold()
        self.did.append(f"installed {self.manager.version() or target.version}")

    def _hold(self):
        if self.spec["hold"]:
            try:
                self.manager.hold()
            except FailedError as error:
                self.warnings.append(str(error))

    def _load(self):
        """Build what is missing, load, and look."""
        self._note("load")
        version = self.manager.version()
        for release in gpu.kernels():
            if not gpu.has_module(release):
                said = self.manager.build(release)
                if not gpu.has_module(release) and release == gpu.kernel():
                    raise FailedError(f"there is no module for the running kernel {release}: {said.strip()[-500:]}")
                if not gpu.has_module(release):
                    self.warnings.append(f"no module for the installed kernel {release}")
        if Path(OPTIONS).exists() and self.manager.initramfs(OPTIONS):
            self.did.append("made the initial ramdisk anew")
        if self.reboot:
            say(f"reboot needed: {self.reboot}")
            store.ask_for_reboot()
            return
        gpu.load(version)
        self.did.append(f"loaded {version}")

    def _back(self, error):
        """Bring the last good state back after a failure, and say so."""
        folder, manifest = store.last_good()
        if not self.touched:
            self._end()
            raise FailedError(f"{error}\nNothing was installed") from None
        if not manifest:
            self._start()
            raise FailedError(f"{error}\nNo driver was here before; the next run goes on from here") from None
        say(f"{error}\nback to {folder}")
        with contextlib.suppress(OSError):  # a full disk: the journal says "install" then, which is as good
            self._note("back")
        try:
            self._restore(folder, manifest)
        except (FailedError, RefusedError, OSError) as second:
            self._make_do()
            raise FailedError(
                f"{error}\nand the way back failed too: {second}\nThe kept packages stay in {folder}; mend what is "
                "wrong and run again"
            ) from None
        self._end()
        raise FailedError(f"{error}\nThe driver of before, {self.manager.version()}, is back") from None

    def _make_do(self):
        """Load whatever driver is there, and let it be used if it works: better than none until the next run."""
        with contextlib.suppress(FailedError):
            gpu.load("")
            self._start()

    def _restore(self, folder, manifest):
        if not self.reboot and "nvidia" in gpu.loaded():
            self.reboot = gpu.unload()
        self.manager.restore(folder, manifest)
        self._hold()
        self._load()

    def rollback(self):
        """Return to the last good state, without a network."""
        before = store.journal()
        folder, manifest = store.last_good()
        if not manifest:
            raise RefusedError("no earlier state of the driver is kept on this host")
        if before or self.manager.unfinished():
            self._repair(before)
        self.stopped = list(before.get("stopped", []))
        now = {(p["name"], p["version"]) for p in self.manager.keepable()}
        if now == {(p["name"], p["version"]) for p in manifest["packages"]} and not before:
            say(f"the driver is as it is kept in {folder}")
            self._finish(before)
            return
        stop = gpu.clients(self.spec)
        self._note("rollback", None, stop)
        gpu.stop(stop)
        self.reboot = gpu.unload()
        self._restore(folder, manifest)
        self.did.append(f"went back to {self.manager.version()}")
        self._end()

    def _finish(self, before):
        """Do what comes last, also where the driver itself was right: holds, daemons, ramdisk, clients."""
        held = {n for n, p in self.manager.installed().items() if p.held}
        self._hold()
        if {n for n, p in self.manager.installed().items() if p.held} != held:
            self.did.append("held the driver")
        if Path(OPTIONS).exists() and self.manager.initramfs(OPTIONS):
            self.did.append("made the initial ramdisk anew")
        self.stopped = list(dict.fromkeys([*self.stopped, *before.get("stopped", [])]))
        self._end()

    def _start(self):
        if self.reboot:
            return
        self.warnings += gpu.enable(self.spec["units"])
        self.warnings += gpu.start([u for u in self.stopped if u not in self.spec["units"]])

    def _end(self):
        self._start()
        folder, _ = store.last_good()
        if self.manager.version() and self.did:
            try:
                current = store.keep(self.manager.keepable(), self.manager.collect, self.manager.files())
                store.prune({folder, current})
            except (RefusedError, OSError) as error:
                self.warnings.append(f"the present packages are not kept yet: {error}")
        store.close()


def main(arguments):
    """Do what is asked; print what was done as JSON. 0: done, 1: failed, 2: nothing was changed."""
    spec = json.loads(Path(SPEC).read_text(encoding="utf-8"))
    if "--stop-clients" in arguments:
        spec["stop_clients"] = True
    change = Change(spec)
    status, error = 0, ""
    try:
        with store.locked():
            change.rollback() if arguments[:1] == ["rollback"] else change.change()
    except RefusedError as refusal:
        status, error = 2, str(refusal)
    except (FailedError, OSError) as failure:
        status, error = 1, str(failure)
    told = {"did": change.did, "reboot": change.reboot, "warnings": change.warnings, "error": error}
    print(json.dumps(told))
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
