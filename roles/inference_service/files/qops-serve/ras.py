"""NCCL's own account of its ranks, asked of its RAS server in every network namespace of a service's processes.

Protocol: NVIDIA/nccl src/ras/client_support.cc.
"""

from __future__ import annotations

import sys
from pathlib import Path

from bounded import run

PORT = 28028
_SECONDS = 12.0
# All ranks share the port, so the kernel may hand a connection to a stopped one: eight at once, the first that greets.
_CLIENT = f"""
import select, socket, sys, time
end, socks = time.monotonic() + 8, []
for _ in range(8):
    try:
        s = socket.create_connection(("127.0.0.1", {PORT}), timeout=1)
        s.sendall(b"CLIENT PROTOCOL 2\\n")
        socks.append(s)
    except OSError:
        break
ready = select.select(socks, [], [], 3)[0] if socks else []
if not ready:
    sys.exit("NCCL's RAS does not answer" if socks else 0)
s = ready[0]
s.recv(4096)
s.sendall(b"TIMEOUT 2\\nVERBOSE STATUS\\n")
while time.monotonic() < end:
    if not select.select([s], [], [], 1)[0]:
        continue
    part = s.recv(65536)
    if not part:
        break
    sys.stdout.write(part.decode(errors="replace"))
"""


def asked(pids: tuple[int, ...]) -> str:
    """Return what RAS says; "" where no NCCL runs."""
    spaces: dict[str, int] = {}
    for pid in pids:
        try:
            spaces.setdefault(str(Path(f"/proc/{pid}/ns/net").readlink()), pid)
        except OSError:
            continue
    own = str(Path("/proc/self/ns/net").readlink()) if Path("/proc/self/ns/net").exists() else ""
    found = []
    for space, pid in spaces.items():
        enter = [] if space == own else ["nsenter", f"--net=/proc/{pid}/ns/net"]
        found.append(run([*enter, sys.executable, "-IBc", _CLIENT], _SECONDS).text)
    return "".join(found)
