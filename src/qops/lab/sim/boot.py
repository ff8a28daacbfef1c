"""What happens when a practice host boots: the redirected tree is laid out afresh and configured.

Run as `python3 -m sim.boot`, before the units that read or write the tree. Settings that a reboot
loses on a real host (power limits, locked clocks, persistence mode, kernel settings) go back to the
scenario's; then the host's own configuration is applied, so that what a role made to last does last.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence

from . import (
    boot_loader,
    clock,
    faults,
    hardware,
    kmod,
    modules_on_disk,
    netdevs,
    persistence,
    procfs,
    settle,
    store,
    sysfs,
)
from .tree import Tree


def boot(here: hardware.Hardware) -> list[str]:
    """Lay out and configure the tree; return what the host's configuration could not set."""
    root = store.root()
    fresh = root.with_name(root.name + ".new")
    shutil.rmtree(fresh, ignore_errors=True)
    faults.boot()
    planted = faults.load()
    tree = Tree(fresh)
    sysfs.lay_out(tree, here)
    procfs.lay_out(tree, here, planted, store.system())
    modules_on_disk.lay_out(here, planted)
    boot_loader.lay_out(here, store.system())
    problems = persistence.apply(tree, store.system()) + netdevs.make(here)
    # Contents are put in place below the root itself: it may be a mount, which cannot be renamed.
    root.mkdir(parents=True, exist_ok=True)
    for name in ("sys", "proc", "dev"):
        shutil.rmtree(root / name, ignore_errors=True)
        if (fresh / name).is_dir():
            shutil.move(str(fresh / name), str(root / name))
    shutil.rmtree(fresh, ignore_errors=True)
    shutil.rmtree(store.var() / "settled", ignore_errors=True)
    settle.settle(Tree(root))
    state = {key: value for key, value in store.state().items() if key not in (*kmod.VOLATILE, "acs")}
    state["booted"] = clock.now()
    store.write_json(store.var() / "state.json", state)
    return problems


def main(arguments: Sequence[str]) -> int:
    """Boot this host; a host without a scenario has nothing to lay out."""
    here = hardware.load()
    if here is None:
        sys.stderr.write("qops-lab: no hardware.json, nothing is simulated\n")
        return 0
    for problem in boot(here):
        sys.stderr.write(f"qops-lab: {problem}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
