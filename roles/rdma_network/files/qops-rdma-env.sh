#!/bin/sh
# Writes /run/qops/nccl-rdma.env: the RDMA devices and the socket interface that /etc/qops/rdma-network.conf names, and
# the GID index as it is now. Fails, and leaves no file, when a device is not linked or they have no index in common.
# From qops, role rdma_network.
set -u
PATH=$PATH:/usr/sbin:/sbin
config=${QOPS_RDMA_CONF:-/etc/qops/rdma-network.conf}
target=${QOPS_RDMA_ENV:-/run/qops/nccl-rdma.env}
# QOPS_ROOT is set on practice hosts only.
ib=${QOPS_ROOT:-}/sys/class/infiniband
hcas='' gid=leave socket='' wait=0
while IFS='=' read -r name value; do
  case $name in
    hcas) hcas=$value ;;
    gid) gid=$value ;;
    socket) socket=$value ;;
    wait) wait=$value ;;
  esac
done <"$config"
devices=$(echo "$hcas" | tr , ' ')
why=''

# The indexes at which a device has an IPv4 address as RoCE v2. Reading an unused entry's type fails.
indexes() {
  for entry in "$ib/$1"/ports/1/gids/*; do
    read -r address <"$entry" || continue
    case $address in 0000:0000:0000:0000:0000:ffff:*) ;; *) continue ;; esac
    read -r kind 2>/dev/null <"$ib/$1/ports/1/gid_attrs/types/${entry##*/}" || continue
    [ "$kind" = 'RoCE v2' ] && echo "${entry##*/}"
  done | sort -n | tr '\n' ' '
}

# Sets `index` to the lowest index that all devices have in common; `why` says what is in the way.
resolve() {
  index='' common='' seen=''
  for device in $devices; do
    read -r state 2>/dev/null <"$ib/$device/ports/1/state" || state='not there'
    case $state in
      *ACTIVE*) ;;
      *) why="$device is not linked ($state)" && return 1 ;;
    esac
    [ "$gid" = resolve ] || continue
    own=$(indexes "$device")
    seen="$seen, $device has ${own:-none}"
    if [ -z "$common" ]; then
      common=" $own"
    else
      both=' '
      for n in $own; do case $common in *" $n "*) both="$both$n " ;; esac; done
      common=$both
    fi
    [ -n "${common# }" ] || break
  done
  [ "$gid" = resolve ] || return 0
  for index in $common; do return 0; done
  why="no index is a RoCE v2 IPv4 address of all devices${seen}"
  return 1
}

# The first IPv4 address of the socket interface.
address() {
  ip -4 -o address show dev "$socket" 2>/dev/null | sed -n 's#.* inet \([0-9.]*\)/.*#\1#p' | head -n 1
}

ready() {
  resolve || return 1
  [ -z "$socket" ] || [ -n "$(address)" ] && return 0
  why="$socket has no IPv4 address"
  return 1
}

until ready; do
  if [ "$wait" -le 0 ]; then
    rm -f "$target"
    echo "$why" >&2
    exit 1
  fi
  sleep 1
  wait=$((wait - 1))
done

# Only what has a value: a variable that is set and empty hides the same one in /etc/nccl.conf.
mkdir -p "${target%/*}"
umask 022
{
  echo "NCCL_IB_HCA==$hcas"
  [ -z "$index" ] || echo "NCCL_IB_GID_INDEX=$index"
  if [ -n "$socket" ]; then
    echo "NCCL_SOCKET_IFNAME==$socket"
    echo "GLOO_SOCKET_IFNAME=$socket"
    echo "TP_SOCKET_IFNAME=$socket"
    echo "VLLM_HOST_IP=$(address)"
  fi
} >"$target.new"
if ! cmp -s "$target.new" "$target"; then
  echo "$target: $(tr '\n' ' ' <"$target.new")"
fi
mv -f "$target.new" "$target"
