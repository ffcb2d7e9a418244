#!/bin/sh
# The suite on an emulated POWER machine (ppc64le, Debian 12, its numpy and pandas), from this checkout.
#
#   scripts/power_test.sh                        the unit tests, as `make power-test` runs them
#   scripts/power_test.sh tests/unit/wire        some of them
#   PAGES=65536 CPU=power10 scripts/power_test.sh
#
# Pages of 64 KiB, as most POWER distributions have: QEMU 7.2 can (11 has no option for them), but cannot load Debian's compiled
# protobuf with them, so there the one in Python is used.
#
# Needs root, and on Debian and Ubuntu the packages qemu-user-static and mmdebstrap. Says so and does nothing where they are missing.
# The tree is made once (some minutes, 700 MB) in ~/.cache/powertui-power and used again; an hour or more for all tests.
set -eu

root=${POWER_ROOT:-${XDG_CACHE_HOME:-$HOME/.cache}/powertui-power/root}
suite=${SUITE:-bookworm}
skip() { echo "skipped: $*"; exit 0; }

[ "$(id -u)" = 0 ] || skip "an emulated tree needs root."
[ "$(uname -m)" != ppc64le ] || skip "this is a POWER machine: run make test."
command -v qemu-ppc64le-static >/dev/null || skip "there is no qemu-ppc64le-static (apt install qemu-user-static)."
[ -d "$root/usr" ] || command -v mmdebstrap >/dev/null || skip "there is no mmdebstrap (apt install mmdebstrap)."

# The kernel must know what runs such programs. F: it holds the interpreter open, so the tree needs no copy of it.
formats=/proc/sys/fs/binfmt_misc
[ -e $formats/register ] || mount -t binfmt_misc none $formats 2>/dev/null || skip "this kernel has no binfmt_misc."
if [ ! -e $formats/qemu-ppc64le ]; then
  magic='\x7f\x45\x4c\x46\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x15\x00'
  mask='\xff\xff\xff\xff\xff\xff\xff\xfc\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\x00'
  printf '%s' ":qemu-ppc64le:M::$magic:$mask:$(command -v qemu-ppc64le-static):OF" > $formats/register || skip "binfmt_misc refuses."
fi

if [ ! -d "$root/usr" ]; then
  echo "Making the tree in $root ..."
  mkdir -p "$(dirname "$root")"
  packages=python3,python3-venv,python3-pip,python3-dev,python3-numpy,python3-pandas,python3-protobuf,gcc,libc6-dev,make,git
  mmdebstrap --quiet --arch=ppc64el --variant=minbase --include=$packages,ca-certificates,ncurses-base,ncurses-term "$suite" "$root.new"
  mv "$root.new" "$root"
fi
cp /etc/resolv.conf "$root/etc/"
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
rm -rf "$root/src"
mkdir -p "$root/src"
git -C "$(dirname "$0")/.." ls-files -z | (cd "$(dirname "$0")/.." && tar -c --null -T -) | tar -x -C "$root/src"

[ $# -gt 0 ] || set -- tests/unit tests/adversarial tests/fuzz
[ -z "${PAGES:-}" ] || qemu-ppc64le-static -help | grep -q QEMU_PAGESIZE || skip "this QEMU has only one size of pages."
# A mount namespace of its own: nothing stays mounted.
export root
exec unshare -m sh -eu -c '
  mount -t proc proc "$root/proc"; mount --rbind /dev "$root/dev"
  exec env -i PATH=/usr/bin:/bin:/usr/sbin:/sbin HOME=/root LANG=C.UTF-8 TERM=xterm-256color ${PAGES:+QEMU_PAGESIZE=$PAGES PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION=python} ${CPU:+QEMU_CPU=$CPU} \
    ${JOBS:+JOBS=$JOBS} chroot "$root" sh -eu -c "
      cd /src; uname -m; python3 -c \"import mmap, platform; print(platform.python_version(), mmap.PAGESIZE)\"
      # With pages of 64 KiB QEMU looks up no names, and pip may need some.
      env -u QEMU_PAGESIZE make VENV=/opt/powertui /opt/powertui/.tests
      exec /opt/powertui/bin/python -m pytest -q -n \${JOBS:-2} --dist loadfile \"\$@\"" tests "$@"
' power "$@"
