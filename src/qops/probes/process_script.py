"""The shell scripts that find the GPU processes of a host and say how they are."""

# POSIX sh, awk, grep, sed, tr: what Debian, RHEL and busybox have in common. Finding the processes takes no process's
# memory lock, because reading the maps or the command line of a stuck process can block.
#
# A process counts when it has a /dev/nvidiaN open, or a title that vLLM or SGLang gave it, since an engine may run on
# the CPU. With it come its launcher (the parent, unless that is a shell or an init) and the launcher's other children:
# a rank that never got as far as the GPU is one of those. Only root sees everybody's open files; others ask
# nvidia-smi, but not while one already hangs in the driver.
# Where the kernel has no NVIDIA device, nobody has one open, and a hundred milliseconds of looking are saved. A look
# asks that seven times, so it takes no program.
NO_GPU = """no_gpu() {
  [ -r /proc/devices ] && [ ! -e /dev/dxg ] || return 1
  for node in /dev/nvidia*; do [ ! -e "$node" ] || return 1; done
  while read -r _ name; do case $name in *nvidia*) return 1 ;; esac; done </proc/devices
  return 0
}
"""
# Sets `pids`, and `tree` with a line "process: PARENT PID STATE TICKS NAME" for each of them and their descendants.
GPU_PIDS = (
    NO_GPU
    + r"""stats=$(cat /proc/[0-9]*/stat 2>/dev/null)
users= tree= pids=
no_gpu || users=$(ls -ln /proc/[0-9]*/fd 2>/dev/null | awk '
  /^\/proc\// { split($0, part, "/"); pid = part[3] }
  /-> \/dev\/nvidia[0-9]/ { print pid }')
if command -v nvidia-smi >/dev/null && command -v timeout >/dev/null && [ "$(id -u)" != 0 ]; then
  case "$stats" in
    *"(nvidia-smi) D "*) ;;
    *) users="$users $(timeout 3 nvidia-smi --query-compute-apps=pid --format=csv,noheader 2>/dev/null \
         | grep -E '^[0-9]+$')" ;;
  esac
fi
engines=
case $stats in *"(VLLM::"* | *"(sglang::"*) engines=yes ;; esac
[ -z "${users# }$engines" ] || tree=$(printf '%s\n' "$stats" | awk -v users="$(echo $users)" '
  $1 ~ /^[0-9]+$/ {
    rest = $0; sub(/^.*\) /, "", rest)
    if (split(rest, f, " ") < 13) next
    name = substr($0, index($0, "(") + 1); sub(/\) [A-Za-z] -?[0-9].*$/, "", name)
    pid = $1 + 0; state[pid] = f[1]; parent[pid] = f[2] + 0; ticks[pid] = f[12] + f[13]; comm[pid] = name
  }
  END {
    for (p in comm) if (comm[p] ~ /^(VLLM|sglang)::/) users = users " " p
    count = split(users, list, " ")
    for (i = 1; i <= count; i++) {
      p = list[i] + 0
      if (!(p in comm) || comm[p] ~ /^(nvidia-persiste|nvidia-fabricma|nv-fabricmanage|nv-hostengine|dcgm|nvidia-smi)/)
        continue
      chosen[p] = 1
      q = parent[p]
      if (q > 1 && (q in comm) \
          && comm[q] !~ /^(systemd|init|sh|bash|dash|zsh|fish|ash|sshd|tmux|screen|sudo|su|login|cron|timeout|nohup)/ \
          && comm[q] !~ /^(containerd|conmon|docker|tini|dumb-init|catatonit|supervisord|s6-|runsv|kubelet)/)
        launcher[q] = 1
    }
    for (p in launcher) chosen[p] = 1
    for (p in comm) if (parent[p] in launcher) chosen[p] = 1
    for (p in chosen) print "chosen", p
    for (p in comm) {
      q = p
      for (depth = 0; depth < 32 && q > 1 && !(q in chosen); depth++) q = parent[q]
      if (q in chosen) print "process:", parent[p], p, state[p], ticks[p], comm[p]
    }
  }')
[ -z "$tree" ] || pids=$(printf '%s\n' "$tree" | sed -n 's/^chosen //p' | sort -n | head -n 128)
"""
)

STATES = (
    GPU_PIDS
    + r"""echo '== gpu processes'
for p in $pids; do
  [ -r "/proc/$p/stat" ] || continue
  echo "== pid $p"
  grep -E '^(Name|State|PPid|Threads|VmRSS|(non)?voluntary_ctxt_switches):' "/proc/$p/status" 2>/dev/null
  grep -E '^rchar:' "/proc/$p/io" 2>/dev/null
  echo "wchan: $(cat "/proc/$p/wchan" 2>/dev/null)"
done
echo '== process tree'
[ -z "$tree" ] || printf '%s\n' "$tree" | grep '^process: ' | sort -k 3,3n
[ -n "$pids" ] # without a process there is nothing to follow
"""
)

# Apart from the states, because these two reads take a process's memory lock: where a stuck process holds it, this
# script runs out of time, and the states are still known.
DETAILS = (
    GPU_PIDS
    + r"""echo '== gpu process details'
for p in $pids; do
  echo "cmdline $p: $({ tr '\000\012' '  ' < "/proc/$p/cmdline"; } 2>/dev/null)"
done
for p in $pids; do
  maps=$(grep -E '/lib(cuda|nccl|nvidia-ml)\.so' "/proc/$p/maps" 2>/dev/null | sed 's/^[^/]*//' | sort -u)
  [ -n "$maps" ] || continue
  printf '%s\n' "$maps" | sed "s#^#/proc/$p/maps:#"
  printf '%s\n' "$maps" | sed -n 's#/nvidia/nccl/lib/libnccl\.so.*##p' | while read -r site; do
    for d in "/proc/$p/root$site"/nvidia_nccl_cu*.dist-info; do
      [ -e "$d" ] && echo "nccl package: $site/${d##*/}"
    done
  done
done
true
"""
)

NAMES = (
    "NCCL_", "CUDA_", "NVIDIA_", "TORCH_", "PYTORCH_", "VLLM_", "SGL", "LD_LIBRARY_PATH=", "LD_PRELOAD=", "OMP_",
    "HF_HUB_", "GLOO_", "UCX_", "RAY_", "NVSHMEM_", "TRITON_", "FLASHINFER_", "RANK=", "LOCAL_RANK=", "WORLD_SIZE=",
    "MASTER_ADDR=", "MASTER_PORT=",
)  # fmt: skip

# Secrets never leave the host: the script itself replaces them. A value's line ends become blanks.
ENVIRONMENT = (
    GPU_PIDS
    + r"""for p in $pids; do
  [ -r "/proc/$p/environ" ] || continue
  echo "== pid $p"
  { tr '\000\012' '\012 ' < "/proc/$p/environ"; } 2>/dev/null | grep -E '^("""
    + "|".join(NAMES)
    + r""")' \
    | sed -E 's/^([A-Za-z0-9_]*(TOKEN|SECRET|PASSW|CREDENTIAL|KEY)[A-Za-z0-9_]*)=.*/\1=<redacted>/'
  home=$({ tr '\000\012' '\012 ' < "/proc/$p/environ"; } 2>/dev/null | sed -n 's/^HOME=//p' | head -n 1)
  own=$({ tr '\000\012' '\012 ' < "/proc/$p/environ"; } 2>/dev/null | sed -n 's/^NCCL_CONF_FILE=//p' | head -n 1)
  for f in /etc/nccl.conf "${home:+$home/.nccl.conf}" "$own"; do
    [ -n "$f" ] && [ -f "/proc/$p/root$f" ] && echo "== file $f" && head -n 200 "/proc/$p/root$f" 2>/dev/null
  done
done
for f in /etc/nccl.conf "$HOME/.nccl.conf"; do
  [ -f "$f" ] && echo "== file $f" && head -n 200 "$f"
done
true
"""
)
