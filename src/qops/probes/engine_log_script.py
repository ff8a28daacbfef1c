"""The shell script that fetches the last log of each serving engine of a host."""

# Units by their name, containers by their image or command. Only the last start counts: what failed before it was
# mended is no fault of today. One that is started again and again is the exception, since its last start may have said
# nothing yet, and so is a container that served before it was started again: why it ended is in the log of that time.
# Who asked for what is left out: it is most of the log of an engine that serves.
# Bounded: 3000 lines of a unit, 2000 of a container, four of each, 4 MB in all; a journal that is slow to read does
# not hold the rest up.
HEADER = "== engine log: "
SCRIPT = r"""
limit() { if command -v timeout >/dev/null; then timeout -s KILL "$@"; else shift; "$@"; fi; }
quiet() { grep -vE '"(GET|HEAD) /(metrics|health|ping|version|load)[^"]*" 200|: Route: /|Route: /'; }
served() { printf '%s\n' "$1" | grep -cE 'Application startup complete\.|ready to roll!'; }
units() {
  command -v journalctl >/dev/null && command -v systemctl >/dev/null || return
  for unit in $(limit 3 systemctl list-units --all --plain --no-legend 'vllm*.service' 'sglang*.service' 2>/dev/null \
      | awk 'NR <= 4 { print $1 }'); do
    id=$(systemctl show -p InvocationID --value "$unit")
    log=$([ -z "$id" ] || limit 6 journalctl -b --no-pager -q -n 3000 -o short-iso \
      _SYSTEMD_INVOCATION_ID="$id" + INVOCATION_ID="$id" 2>/dev/null)
    [ "$(served "$log")" -gt 0 ] || { [ -n "$log" ] && [ "$(systemctl show -p NRestarts --value "$unit")" = 0 ]; } \
      || log=$(limit 6 journalctl -b --no-pager -q -n 3000 -o short-iso -u "$unit" 2>/dev/null)
    [ -z "$log" ] || printf '== engine log: unit %s\n%s\n' "$unit" "$log"
  done
}
containers() {
  for engine in docker podman; do
    command -v $engine >/dev/null || continue
    for id in $(limit 3 $engine ps -a --no-trunc --format '{{.ID}} {{.Image}} {{.Command}}' 2>/dev/null \
        | awk 'tolower($0) ~ /vllm|sglang/ && ++n <= 4 { print $1 }'); do
      echo "== engine log: container $(limit 3 $engine inspect -f '{{.Name}}' "$id" 2>/dev/null | sed 's#^/##')"
      since=$(limit 3 $engine inspect -f '{{.RestartCount}} {{.State.StartedAt}}' "$id" 2>/dev/null)
      log=$(limit 6 $engine logs --tail 2000 ${since:+--since "${since#* }"} "$id" 2>&1)
      if [ "${since%% *}" != 0 ]; then
        whole=$(limit 6 $engine logs --tail 2000 "$id" 2>&1)
        now=$(served "$log")
        { [ "$now" -gt 0 ] && [ "$now" = "$(served "$whole")" ]; } || log=$whole
      fi
      printf '%s\n' "$log"
    done
  done
}
{ units; containers; } | quiet | head -c 4000000
true
""".strip()
