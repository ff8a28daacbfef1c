#!/bin/sh
# Clears request and completion redirect (0x4 and 0x8 of the ACS control register) on the bridges that
# /etc/qops/pcie-acs.conf lists, and no other bit on no other bridge. From qops, role pcie_p2p.
set -u
PATH=$PATH:/usr/sbin:/sbin
config=${QOPS_PCIE_ACS_CONF:-/etc/qops/pcie-acs.conf}
failed=0

# Redirect is what keeps functions of virtual machines apart. QOPS_ROOT is set on practice hosts only.
for given in "${QOPS_ROOT:-}"/sys/bus/pci/drivers/vfio-pci/*:*; do
  [ -e "$given" ] || continue
  echo "${given##*/} belongs to vfio-pci: nothing is cleared while virtual machines have functions" >&2
  exit 1
done

while read -r bridge rest; do
  case $bridge in '' | '#'*) continue ;; esac
  if ! before=$(setpci -s "$bridge" ECAP_ACS+6.w 2>/dev/null) || [ -z "$before" ]; then
    echo "$bridge: it is not there, or has no access control${rest:+ ($rest)}" >&2
    failed=1
    continue
  fi
  [ $((0x$before & 0x000c)) -eq 0 ] && continue
  # The number after the colon is the mask: all other bits stay.
  setpci -s "$bridge" ECAP_ACS+6.w=0000:000c
  after=$(setpci -s "$bridge" ECAP_ACS+6.w)
  if [ $((0x${after:-ffff} & 0x000c)) -eq 0 ]; then
    echo "$bridge: $before -> $after"
  else
    echo "$bridge: still $after, the bridge does not take it" >&2
    failed=1
  fi
done <"$config"
exit "$failed"
