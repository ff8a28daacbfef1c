#!/bin/sh
# Writes the values in /etc/qops/host-tuning.conf to the kernel's files. From qops, role host_tuning.
set -u
failed=0
while read -r pattern value; do
  case "$pattern" in '' | '#'*) continue ;; esac
  there=0
  # Not quoted: a pattern stands for the file of every CPU. QOPS_ROOT is set on practice hosts only.
  for file in ${QOPS_ROOT:-}$pattern; do
    [ -e "$file" ] || continue
    there=1
    read -r now <"$file" || now=
    # A choice shows all its values, the one in force in brackets.
    case " $now " in " $value " | *" [$value] "*) continue ;; esac
    if printf '%s\n' "$value" >"$file"; then
      echo "$file: $now -> $value"
    else
      failed=1
    fi
  done
  if [ "$there" = 0 ]; then
    echo "$pattern: this kernel does not have it" >&2
    failed=1
  fi
done </etc/qops/host-tuning.conf
exit "$failed"
