#!/bin/sh
# Runs the compiled scanner under AddressSanitizer and UndefinedBehaviorSanitizer on mangled profiles.
#   scripts/fuzz_scan.sh [SECONDS] [SEED]        default: 60 seconds, a seed from the clock
# PYTHON names the interpreter (default: python3, which needs numpy and its own headers), CC the compiler (gcc).
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-python3}
cc=${CC:-gcc}
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT

# The wire package is copied beside a scanner built for this run, so the build in the tree is left alone.
mkdir -p "$build/powertui/data/wire"
touch "$build/powertui/__init__.py" "$build/powertui/data/__init__.py"
cp "$here"/powertui/data/wire/*.py "$build/powertui/data/wire/"
include=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["include"])')
"$cc" -std=c99 -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all -Wall -Wextra -Werror \
  -fPIC -shared -I"$include" "$here/powertui/data/wire/scan.c" -o "$build/powertui/data/wire/_scan.so"

# PYTHONMALLOC: every buffer gets its own red zones. Leaks at exit are the interpreter's own.
cd "$build"
LD_PRELOAD=$("$cc" -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc POWERTUI_PURE= \
  "$python" "$here/scripts/fuzz_scan.py" "${1:-60}" "${2:-}"
