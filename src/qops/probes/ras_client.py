"""The script that asks RAS on a host, with what the host has: python3, else bash, else nc.

Protocol (NVIDIA/nccl src/ras/client_support.cc): lines in, of any case; `CLIENT PROTOCOL 2`, `TIMEOUT s` and `SET
FORMAT json` are answered with one line each, `VERBOSE STATUS` with the whole answer, after which RAS hangs up.

* RAS listens on localhost:28028 of its process's network namespace, or on NCCL_RAS_ADDR. All processes of a host
  share that port (SO_REUSEPORT), so the kernel may hand a connection to a stopped process. Hence eight connections
  at once; the first that greets is used.
* `TIMEOUT 2` makes RAS give up on a silent peer after two seconds and name it, where its default takes longer than
  we wait.
* nvidia-smi is not asked for the processes: it may hang, and a hung one cannot be killed. Who maps libnccl,
  libcuda or a GPU's device file is in /proc, and who may not read that may not enter the namespace either.
* A client costs a fifth of a second of processor time, so the kernel's table of listeners is read first.
* The whole ends within 9 s: 1 s to find processes, 7.5 s to ask; namespaces are asked side by side.
"""

from qops.probes.process_script import NO_GPU

# Arguments: HOST:PORT. Prints the text answer, then the JSON answer when the server knows it.
CLIENT = r"""
import select, socket, sys, time
host, _, port = sys.argv[1].rpartition(":")
begun = time.monotonic()
socks, why = [], ""
for _ in range(8):
    try:
        s = socket.create_connection((host.strip("[]"), int(port)), timeout=1)
        s.sendall(b"CLIENT PROTOCOL 2\n")
        socks.append(s)
    except Exception as e:
        why = str(e) or type(e).__name__
        break
if not socks:
    print("no server: " + why)
    sys.exit()
def until(s, limit, whole):
    got = b""
    while time.monotonic() < begun + limit and len(got) < 4000000:
        if select.select([s], [], [], max(0, begun + limit - time.monotonic()))[0]:
            try:
                part = s.recv(65536)
            except OSError:
                return got, True
            if not part:
                return got, True
            got += part
            if not whole and got.count(b"\n") >= 2:
                return got, True
    return got, False
ready = select.select(socks, [], [], 1.5)[0]
time.sleep(0.05)
ready = select.select(socks, [], [], 0)[0]
if not ready:
    print("no answer: %d connections and no greeting within 1.5 s" % len(socks))
    sys.exit()
ready[0].sendall(b"TIMEOUT 2\nVERBOSE STATUS\n")
got, ended = until(ready[0], 6, True)
print(got.decode("utf-8", "replace"))
if not ended:
    print("no answer: the communicators did not come within 6 s")
    sys.exit()
for s in select.select([s for s in socks if s is not ready[0]], [], [], 0.5)[0][:1]:
    s.recv(4096)
    s.sendall(b"TIMEOUT 2\nSET FORMAT json\n")
    got, ended = until(s, 7, False)
    if ended and b"ERROR" not in got:
        s.sendall(b"VERBOSE STATUS\n")
        got, ended = until(s, 7.5, True)
        if ended:
            print(got.decode("utf-8", "replace"))
"""

# The same with bash alone, text only: one connection after the other, until one greets.
_BASH = r"""
for try in 1 2 3; do
  exec 3<>"/dev/tcp/${1%:*}/${1##*:}" || { echo "no server: connection refused"; exit; }
  printf "CLIENT PROTOCOL 2\n" >&3
  if read -r -t 1 line <&3; then
    printf "TIMEOUT 2\nVERBOSE STATUS\n" >&3
    echo "$line"
    timeout 4 cat <&3 || echo "no answer: the communicators did not come within 4 s"
    exit
  fi
  exec 3>&-
done
echo "no answer: 3 connections and no greeting within 1 s each"
"""

SCRIPT = (
    NO_GPU
    + r"""
# Whether the kernel's tables of sockets of a process's network show a listener at the port: nobody there costs no
# client. Tables that cannot be read, and a port that is no number, tell nothing.
silent() {
  [ "$1" = none ] && set -- self "$2"
  port=$(printf '%04X' "${2##*:}" 2>/dev/null) && set -- "/proc/$1/net/tcp" "/proc/$1/net/tcp6" && [ -r "$1" ] &&
    ! grep -qs ":$port [0-9A-F]*:[0-9A-F]* 0A " "$@"
}
ask() {
  if silent "$1" "$3"; then echo "no server: nothing listens on port ${3##*:}"; return; fi
  if command -v python3 >/dev/null; then set -- "$1" "$2" python3 -S -c "$PY" "$3"
  elif command -v bash >/dev/null; then set -- "$1" "$2" bash -c "$SH" ras "$3"
  elif command -v nc >/dev/null; then set -- "$1" "$2" sh -c "$NC" ras "$3"
  else echo "not asked: neither python3 nor bash nor nc is here"; return; fi
  pid=$1; inside=$2; shift 2
  if [ "$inside" = own ]; then timeout -s KILL 7.8 "$@" 2>/dev/null
  elif ! nsenter -t "$pid" -n true 2>/dev/null; then echo "not asked: may not enter the network of process $pid"
  else timeout -s KILL 7.8 nsenter -t "$pid" -n "$@" 2>/dev/null; fi
}
report() { out=$(ask "$@"); printf "=== RAS pid %s\n%s\n" "$1" "$out"; }
NC='printf "CLIENT PROTOCOL 2\nTIMEOUT 2\nVERBOSE STATUS\n" | timeout 6 nc "${1%:*}" "${1##*:}" || echo "no server"'
seen=' '
n=0
found=
users() { timeout -s KILL 1 grep -lsE 'libnccl|libcuda\.so|/dev/nvidia[0-9]' /proc/[0-9]*/maps 2>/dev/null; }
no_gpu || found=$(users)
[ -z "$found" ] || own=$(readlink /proc/self/ns/net)
for maps in $found; do
  pid=${maps#/proc/}; pid=${pid%/maps}
  net=$(readlink "/proc/$pid/ns/net") || continue
  addr=$(tr '\0' '\n' 2>/dev/null <"/proc/$pid/environ" | sed -n 's/^NCCL_RAS_ADDR=//p' | head -n 1)
  case $addr in *[!A-Za-z0-9.:_-]* | '') addr=localhost:28028 ;; esac
  case $seen in *" $net/$addr "*) continue ;; esac
  seen="$seen$net/$addr "
  n=$((n + 1)); [ "$n" -gt 8 ] && break
  if [ "$net" = "$own" ]; then report "$pid" own "$addr" & else report "$pid" other "$addr" & fi
done
if [ "$n" -eq 0 ]; then
  report none own localhost:28028
  case $out in "no server"*) exit 1 ;; esac # nothing to follow
fi
wait
"""
).strip()
SCRIPT = f"PY='{CLIENT}'\nSH='{_BASH}'\n{SCRIPT}"
