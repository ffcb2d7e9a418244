"""What the other machine is told to do, for a POSIX shell: `n` is the question's number, `p` a
path, `a` a byte counted from 1.

Nothing has to be installed there but what POSIX has; with GNU's find a walk is one process, and
knows of every name.
"""

from __future__ import annotations

from powertui.data.limits import FOLDERS_WITHOUT_LOGS, MAX_DEPTH

# `st FILE` prints size and time; the walk prints "kind size time path" for each, with \0 behind it.
COMMON = r"""
LC_ALL=C; export LC_ALL
w() { printf '%s %s\n' "$n" "$1"; }
if find / -maxdepth 0 -printf '' 2>/dev/null; then g=1; else g=; fi
st() {
  if [ "$g" ]; then find -L "$1" -maxdepth 0 -printf '%s %T@' 2>/dev/null
  else stat -L -c '%s %Y' "$1" 2>/dev/null || stat -L -f '%z %m' "$1" 2>/dev/null || printf '%s 0' "$(wc -c < "$1")"; fi
}
"""

LIST = r"""
why() {
  case "$(ls -d "$1" 2>&1 >/dev/null)" in
    *[Pp]ermission*) w denied;;
    *) w missing;;
  esac
}
pack() { if command -v gzip >/dev/null 2>&1; then w 'ok z'; gzip -1 -c; else w 'ok -'; cat; fi; }
many() {  # folder, depth, then what find is to look for
  f=$1; d=$2; shift 2
  if [ "$g" ]; then
    find -L "$f" -mindepth 1 -maxdepth "$d" \( -type d \( SKIP \) -prune \) -o \
      \( -type d \( ! -readable -o ! -executable \) -printf 'u 0 0 %p\0' -prune \) -o \
      \( "$@" \) -printf '%y %s %T@ %p\0' 2>/dev/null
  else
    nl='*
*'
    find -L "$f" -maxdepth "$d" \( -type d \( SKIP \) -prune \) -o -type f ! -path "$nl" \( "$@" \) \
      -exec sh -c 'stat -L -c "f %s %Y %n" "$@" 2>/dev/null || stat -L -f "f %z %m %N" "$@"' sh {} + 2>/dev/null | tr '\n' '\0'
    find -L "$f" -maxdepth "$d" \( -type d \( SKIP \) -prune \) -o \
      \( \( -type p -o -type s -o -type b -o -type c \) ! -path "$nl" \) \
      -exec sh -c 'for x; do printf "p 0 0 %s\0" "$x"; done' sh {} + 2>/dev/null
    find -L "$f" -maxdepth "$d" \( -type d \( SKIP \) -prune \) -o \( -type d ! -path "$nl" \) \
      -exec sh -c 'for x; do k=u; [ -r "$x" ] && [ -x "$x" ] && k=d; printf "%s 0 0 %s\0" $k "$x"; done' sh {} + 2>/dev/null
  fi
}
near() {  # what belongs to a run but lies above it: its scalars
  case "$1" in
    */plugins/profile/*|*/plugins/profile|*/plugins)
      h=${1%/plugins*}; many "${h:-/}" 2 -type f -name '*tfevents*';;
  esac
}
if [ ! -e "$p" ]; then why "$p"
elif [ -d "$p" ]; then
  if r=$(cd "$p" 2>/dev/null && pwd) && [ -r "$p" ]; then
    { printf '@root 0 0 %s\0' "$r"; many "$r" DEPTH -name '*'; near "$r"; printf '@end 0 0 .\0'; } | pack
  else w denied; fi
elif [ -f "$p" ]; then
  if [ ! -r "$p" ]; then w denied
  elif r=$(cd "${p%/*}/" 2>/dev/null && pwd); then
    b=${p##*/}; r=${r%/}
    { printf '@file 0 0 %s\0' "$r/$b"; printf '@root 0 0 %s\0' "${r:-/}"
      many "${r:-/}" 1 -name '*'; near "$r"; printf '@end 0 0 .\0'; } | pack
  else w denied; fi
else w special; fi
""".replace("SKIP", " -o ".join(f"-name {name}" for name in FOLDERS_WITHOUT_LOGS)).replace(
    "DEPTH", str(MAX_DEPTH)
)

READ = r"""
if [ ! -e "$p" ]; then w missing
elif [ ! -f "$p" ]; then w special
elif [ ! -r "$p" ]; then w denied
else w "ok $(st "$p")"; tail -c +"$a" "$p"; fi
"""
