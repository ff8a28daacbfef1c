#!/bin/sh
# qops-lab-engine: the practice engine of this host, for `qops lab engine` and for the lab's faults.
#   start [TP [MODEL]]  let it serve, at boot too, with TP tensor-parallel ranks; returns at once
#   stop          stop it, and do not start it at boot
#   state         serving, silent (well by its own account, and no token comes), starting, failed or stopped
#   stage         what its log says last
#   ready [S]     wait until it has answered a chat completion; at most S seconds (240)
#   failed [S]    wait until it has failed, or ended; at most S seconds (240: some faults show late in a start)
#   override F L…  put the lines L… in the drop-in F of the unit, and restart it if it is wanted
#   restore F     take the drop-in F away again
#   ask [TOKENS]  one chat completion
set -u
unit=vllm.service
drop=/etc/systemd/system/$unit.d
here=http://127.0.0.1:8000

fail() { echo "qops-lab-engine: $*" >&2; exit 1; }

# Another program may answer on the port: the engine serves only if it is the unit's own.
answers() {
  [ "$(systemctl is-active $unit)" = active ] || return 1
  curl -s -f -m 3 $here/health >/dev/null || return 1
  curl -s -f -m 3 $here/version | grep -q '"version"'
}

state() {
  case $(systemctl is-active $unit) in
    active)
      if ! answers; then echo starting
      elif ask 1 10 >/dev/null; then echo serving
      else echo silent
      fi ;;
    activating|reloading|deactivating) echo starting ;;
    failed) echo failed ;;
    *) if [ "$(systemctl is-enabled $unit 2>/dev/null)" = enabled ]; then echo failed; else echo stopped; fi ;;
  esac
}

# Of vLLM's own lines what follows `[file.py:N] `; who asked for what is no stage of anything.
stage() {
  journalctl -u $unit -n 100 -o cat --no-pager | grep -vE '^ *$|HTTP/1.1"|Route: |ulimit|^ERROR: *$' | tail -n 1 \
    | sed -E 's/^\(.*pid=[0-9]+\) ([A-Z]+ [0-9: -]+\[[^]]*\])? *//' | cut -c 1-120
}

# The model's name is the folder's, whatever the fault of the day has put in its place.
ask() {
  curl -s -f -m "${2:-60}" $here/v1/chat/completions -H 'Content-Type: application/json' -d "{
    \"model\": \"tiny\", \"max_tokens\": ${1:-8}, \"ignore_eos\": true,
    \"messages\": [{\"role\": \"user\", \"content\": \"Which rank is it?\"}]}"
}

ready() {
  end=$(($(date +%s) + ${1:-240}))
  while [ "$(date +%s)" -lt $end ]; do
    case $(state) in
      serving) return 0 ;;
      starting|silent) ;;
      *) fail "the engine does not start: journalctl -u vllm; it said: $(stage)" ;;
    esac
    sleep 1
  done
  fail "the engine does not answer: journalctl -u vllm; it said: $(stage)"
}

failed() {
  end=$(($(date +%s) + ${1:-240}))
  while [ "$(date +%s)" -lt $end ]; do
    case $(systemctl is-active $unit) in failed|inactive) return 0 ;; esac
    sleep 1
  done
  fail "the engine runs, and should have failed"
}

# The first drop-in, so that the faults' come after it. The hybrid model's code imports torchvision: see install.sh.
settle() {
  [ -e "/opt/vllm/models/$2" ] || fail "there is no model $2; there are: $(cd /opt/vllm/models && echo *)"
  mkdir -p $drop
  {
    echo '[Service]'
    echo "Environment=TENSOR_PARALLEL=$1 MODEL=/opt/vllm/models/$2"
    case $2 in *qwen3-5*) echo 'Environment=PYTHONPATH=/opt/vllm/stubs' ;; esac
  } >$drop/00-lab.conf
}

# Not `restart`: it would wait for connections that a hung engine never closes, until the unit's time is up.
again() {
  systemctl daemon-reload
  systemctl kill -s KILL $unit 2>/dev/null
  systemctl stop $unit 2>/dev/null
  systemctl reset-failed $unit 2>/dev/null
  systemctl enable --quiet $unit && systemctl start --no-block $unit
}

case ${1-} in
  start)
    [ -e /opt/vllm/whole ] || fail "this host has no engine yet: qops lab engine build"
    [ -z "${2-}" ] || settle "$2" "${3-tiny-qwen3}"
    again ;;
  stop) systemctl disable --quiet $unit; systemctl kill -s KILL $unit 2>/dev/null; systemctl stop $unit; systemctl reset-failed $unit 2>/dev/null; true ;;
  state) state ;;
  stage) stage ;;
  ask) ask "${2-}" ;;
  ready) ready "${2-}" ;;
  failed) failed "${2-}" ;;
  override)
    file=$drop/$2.conf; shift 2
    mkdir -p $drop && { echo '[Service]'; printf '%s\n' "$@"; } >"$file" && again ;;
  restore) rm -f "$drop/$2.conf"; again ;;
  *) fail "unknown: ${1-}; see the top of $0" ;;
esac
