#!/bin/sh
# Installs powertui from this folder into a home directory. No network, no root.
#
#   sh install.sh                       into ~/.local/share/powertui, with ~/.local/bin/powertui
#   sh install.sh --prefix /opt/tools   into /opt/tools/share/powertui, with /opt/tools/bin/powertui
#   sh install.sh --python python3.12   with this Python
#   sh install.sh --modulefile          also print a modulefile for it
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=${HOME:-}/.local
python=
modulefile=
while [ $# -gt 0 ]; do
  case $1 in
    --prefix) prefix=${2:?--prefix needs a folder}; shift 2 ;;
    --python) python=${2:?--python needs a program}; shift 2 ;;
    --modulefile) modulefile=1; shift ;;
    *) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 2 ;;
  esac
done
say() { printf '%s\n' "$*"; }
fail() { printf 'install.sh: %s\n' "$*" >&2; exit 1; }
[ "$prefix" != /.local ] || fail "HOME is not set. Name a folder with --prefix."
from=$(pwd)
case $prefix in /*) ;; *) prefix=${from%/}/$prefix ;; esac
case $python in /*) ;; */*) python=${from%/}/$python ;; esac

# 1. The files are the ones that were packed.
cd "$here"
if command -v sha256sum >/dev/null 2>&1; then sha256sum --check --quiet SHA256SUMS || fail "a file differs from its checksum. Copy the bundle again."
elif command -v shasum >/dev/null 2>&1; then shasum -a 256 -c SHA256SUMS >/dev/null || fail "a file differs from its checksum. Copy the bundle again."
else say "Checksums are not checked: there is no sha256sum and no shasum here."; fi

# 2. A Python that this bundle has packages for: its versions stand in PYTHONS, its machine in MACHINE ("any" for all).
machine=$(uname -m)
[ "$(cat MACHINE)" = any ] || [ "$(cat MACHINE)" = "$machine" ] ||
  fail "this bundle is for $(cat MACHINE), and this machine is $machine. Make one with: make bundle BUNDLE=\"--machine $machine\""
fits() {
  version=$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || return 1
  grep -qx "$version" PYTHONS
}
if [ -n "$python" ]; then
  command -v "$python" >/dev/null 2>&1 || fail "there is no program named $python."
  fits "$python" || fail "$python is Python ${version:-?}; this bundle has packages for $(tr '\n' ' ' < PYTHONS | sed 's/ $//')."
else
  for one in python3 $(sed 's/^/python/' PYTHONS | sort -r -t. -k2n); do
    if command -v "$one" >/dev/null 2>&1 && fits "$one"; then python=$one; break; fi
  done
  [ -n "$python" ] || fail "no Python $(tr '\n' ' ' < PYTHONS)was found. Name one with --python, or make a bundle for yours: make bundle BUNDLE=\"--python 3.X\""
fi

# 3. An environment of its own. numpy and pandas come from the machine where the bundle has none for it (POWER).
system=
if [ -e FROM_THE_MACHINE ]; then
  system=--system-site-packages
  for name in $(cat FROM_THE_MACHINE); do
    "$python" -c "import $name" 2>/dev/null || fail "$name is not installed for $python, and PyPI has none for $machine. On Debian and Ubuntu: apt install python3-$name. Elsewhere: load your site's Python module, or conda install $name."
  done
fi
into=$prefix/share/powertui
say "Installing powertui into $into with $python ..."
mkdir -p "$prefix/share" "$prefix/bin"
rm -rf "$into.new"
"$python" -m venv --without-pip $system "$into.new"
# Debian's python3 has no ensurepip without python3-venv: pip comes with the bundle and runs from its wheel.
pip=$(ls "$here"/wheels/pip-*.whl)
PYTHONPATH=$pip "$into.new/bin/python" -m pip --disable-pip-version-check --python "$into.new/bin/python" install --quiet --no-index \
  --no-warn-script-location --find-links "$here/wheels" --only-binary :all: powertui || { rm -rf "$into.new"; fail "pip could not install it: the reason stands above."; }
# Scripts of an environment name its folder: they are written again for where it ends up.
rm -rf "$into.old"
[ ! -e "$into" ] || mv "$into" "$into.old"
mv "$into.new" "$into"
rm -rf "$into.old"
# A file is run, not `python -m`, which would import from the folder that powertui is started in.
mkdir -p "$into/libexec"
cat > "$into/libexec/powertui" <<'RUN'
from powertui.__main__ import run

run()
RUN
cat > "$into/bin/powertui" <<RUN
#!/bin/sh
exec "$into/bin/python" "$into/libexec/powertui" "\$@"
RUN
chmod 755 "$into/bin/powertui"
ln -sf "$into/bin/powertui" "$prefix/bin/powertui"
version=$("$into/bin/powertui" --version) || fail "powertui was installed and does not start."
say "$version is installed. Start it with: $prefix/bin/powertui demo"
case ":$PATH:" in *":$prefix/bin:"*) ;; *) say "$prefix/bin is not in your PATH. Add to your profile: export PATH=\"$prefix/bin:\$PATH\"" ;; esac
if [ -n "$modulefile" ]; then
  cat <<MODULE
#%Module1.0
module-whatis "powertui: where a training run's time and energy went, in a terminal"
prepend-path PATH $prefix/bin
prepend-path MANPATH $into/share/man
MODULE
fi
