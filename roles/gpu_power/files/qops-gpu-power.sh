#!/bin/sh
# Sets what /etc/qops/gpu-power.conf says of each GPU, where it differs, and sees whether it is so. From qops, role
# gpu_power. Prints what it changed.
set -u
conf=/etc/qops/gpu-power.conf
locks=/run/qops/gpu-clocks # nvidia-smi shows locked clocks nowhere, so this remembers them
failed=0

complain() {
  echo "qops-gpu-power: $*" >&2
  failed=1
}

# Prints a line for each GPU: UUID, persistence mode (on, off), power limit (watts, or [N/A]). Asked twice in all: where
# persistence mode is off, each question starts every GPU anew.
look() {
  nvidia-smi --query-gpu=uuid,persistence_mode,power.limit --format=csv,noheader,nounits |
    sed 's/, */ /g; s/ Enabled / on /; s/ Disabled / off /'
}

# Whether two numbers of watts are the same: nvidia-smi prints 300.00 for 300.
same() {
  awk -v a="$1" -v b="$2" 'BEGIN { exit !(a - b < 0.5 && b - a < 0.5) }'
}

# Runs a command of nvidia-smi on a GPU, whose words are shown only when it fails.
smi() {
  said=$(nvidia-smi -i "$uuid" "$@" 2>&1) && return
  complain "$uuid: nvidia-smi $*: $(echo "$said" | tr '\n' ' ')"
  return 1
}

lock() {
  was=$(sed -n "s/^$uuid //p" "$locks" 2>/dev/null)
  # Again each time, since the driver may have forgotten it.
  if [ "$clocks" = unlocked ]; then smi -rgc || return; else smi -lgc "$clocks" || return; fi
  [ "$was" = "$clocks" ] && return
  echo "$uuid: clocks ${was:-as they were} -> $clocks"
  mkdir -p "${locks%/*}"
  { sed "/^$uuid /d" "$locks" 2>/dev/null; echo "$uuid $clocks"; } >"$locks.new" && mv "$locks.new" "$locks"
}

set_one() {
  # First: without it the driver forgets the rest as soon as nobody uses the GPU.
  if [ "$persistence" != - ] && [ "$persistence" != "$mode" ]; then
    if [ "$persistence" = on ]; then smi -pm 1; else smi -pm 0; fi && echo "$uuid: persistence $mode -> $persistence"
  fi
  if [ "$limit" != - ] && ! same "$limit" "$watts"; then
    smi -pl "$limit" && echo "$uuid: power limit $watts W -> $limit W"
  fi
  [ "$clocks" = - ] || lock
}

# nvidia-smi also returns 0 where it only warns: what counts is what is so now.
check_one() {
  [ "$persistence" = - ] || [ "$persistence" = "$mode" ] || complain "$uuid: persistence mode is still $mode"
  [ "$limit" = - ] || same "$limit" "$watts" || complain "$uuid: the power limit is still $watts W"
}

# Does $1 with each GPU of the file, with its persistence mode and power limit as they are.
each() {
  seen=$(look)
  while read -r uuid persistence limit clocks; do
    case "$uuid" in '' | '#'*) continue ;; esac
    line=$(echo "$seen" | sed -n "s/^$uuid //p")
    if [ -z "$line" ]; then
      complain "$uuid: nvidia-smi does not name this GPU. If it was replaced, run the role again: $seen"
      continue
    fi
    mode=${line%% *} watts=${line#* }
    "$1"
  done <"$conf"
}

if ! command -v nvidia-smi >/dev/null; then
  complain "there is no nvidia-smi, so no driver"
  exit 1
fi
each set_one
[ "$failed" = 1 ] || each check_one
exit "$failed"
