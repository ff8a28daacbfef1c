#!/bin/sh
# Run a script as the only work of a container. It ends with the container when whoever started it is gone: the
# container's standard input is their end.
set -eu
trap 'exit 99' TERM
exec 3<&0
{ cat <&3 >/dev/null; kill -TERM 1; } 2>/dev/null &
sh "$1" </dev/null 3<&- &
wait $!
