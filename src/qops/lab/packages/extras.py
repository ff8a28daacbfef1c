"""Images that hold what the lab takes from Debian: packages for hosts, and the tools that the lab itself runs.

One beside each base image, shared by all labs of this machine, made once with a network.
"""

import hashlib
import json

from qops.lab import mirror
from qops.lab.docker import LABEL, Docker, labels
from qops.lab.images import Base
from qops.lab.packages import definition
from qops.lab.place import Place, Say

REPOSITORY = "qops-lab-extras"
MAKE_S = 600  # 20 s here
FOLDER = "/srv/debian"
TOOLS = "/opt/qops-lab/tools"

# apt checks what it fetches. A package's paragraph comes from apt's own lists, with the file's place replaced.
_SCRIPT = r"""set -e
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
mkdir -p {folder} {tools} /tmp/tools
apt-get install -q -y --no-install-recommends --download-only {offered}
mv /var/cache/apt/archives/*.deb {folder}
cd {folder}
for file in *.deb; do
  dpkg-deb -f "$file" | sed '/^Filename:/d;/^Size:/d;/^SHA256:/d'
  echo "Filename: ./$file"
  echo "Size: $(stat -c %s "$file")"
  echo "SHA256: $(sha256sum "$file" | cut -d' ' -f1)"
  echo
done >Packages.new
mv Packages.new Packages
cd /tmp/tools
apt-get download -q {wanted}
for file in *.deb; do dpkg-deb -x "$file" x; done
for tool in busybox docker-registry; do
  install -m 755 "$(find x -type f -path "*/bin/$tool")" {tools}/$tool
done
rm -rf /tmp/tools /var/lib/apt/lists/* /var/cache/apt/*.bin
"""


def tag(base: Base) -> str:
    """Return the image's name; it changes with what is in it."""
    recipe = repr((_SCRIPT, base.tag, definition.debian(base.name)))
    return f"{REPOSITORY}:{base.name}-{hashlib.sha256(recipe.encode()).hexdigest()[:12]}"


def present(docker: Docker, base: Base) -> bool:
    """Tell whether the image is there."""
    return docker.call("image", "inspect", tag(base), check=False).returncode == 0


def make(docker: Docker, place: Place, base: Base, say: Say) -> bool:
    """Make the image; return false, and say why, where Debian's mirror cannot be had."""
    say(f"{base.name}: fetching Debian's packages for hosts, once, about 20 s")
    wanted = definition.debian(base.name)
    name = f"qops-{place.name}-extras-{base.name}"
    script = _SCRIPT.format(folder=FOLDER, tools=TOOLS, offered=" ".join(wanted.offered), wanted=" ".join(wanted.tools))
    if docker.refuse_foreign("container", name, place.name):
        docker.call("rm", "-f", "-v", name, check=False)
    proxy = mirror.proxy()
    through = ("-e", f"http_proxy={proxy}") if proxy else ()
    try:
        done = docker.call(
            "run", "--name", name, *labels(lab=place.name), *through, base.tag, "sh", "-c", script,
            timeout=MAKE_S, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            lines = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
            say(f"{base.name}: no packages from Debian: {lines[-1] if lines else 'no reason given'}")
            return False
        docker.call("commit", "--change", f"LABEL {LABEL}=any", name, tag(base), timeout=MAKE_S)
    finally:
        docker.call("rm", "-f", "-v", name, check=False)
    return True


def remove_old(docker: Docker) -> None:
    """Remove extras whose base or list has changed, unless a container needs them."""
    current = {tag(Base(name)) for name in ("debian12", "debian13")}
    listing = ("image", "ls", "--format", "{{json .}}", "--filter", f"label={LABEL}=any", REPOSITORY)
    for line in docker.lines(*listing):
        found = json.loads(line)
        name = f"{found['Repository']}:{found['Tag']}"
        if name not in current:
            docker.call("image", "rm", name, check=False)
