# Sourced by the scripts beside it: a clean copy of HEAD to work in, and the README's own lines.

# What an active environment or a developer's shell would leak into the run.
unset PYTHONPATH PYTHONHOME PYTHONSTARTUP PYTHONOPTIMIZE PYTHONWARNINGS PYTEST_ADDOPTS
unset PYTHONDONTWRITEBYTECODE
unset REVIEWER_PASSPHRASE REVIEWER_DEBUG NO_COLOR FORCE_COLOR TEXTUAL_THEME
if [ -n "${VIRTUAL_ENV:-}" ]; then
  PATH=$(printf '%s' "$PATH" | tr ':' '\n' | grep -Fxv "$VIRTUAL_ENV/bin" | paste -s -d: -)
  unset VIRTUAL_ENV
fi
export PATH CI=true PIP_NO_INPUT=1 PIP_DISABLE_PIP_VERSION_CHECK=1
exec </dev/null

say() { printf '\n== %s\n' "$*"; }

# Go to a new folder that holds what HEAD holds, and nothing of the working tree.
clean_copy() {
  root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
  place=$(mktemp -d "${TMPDIR:-/tmp}/reviewer-ci.XXXXXX")
  trap 'rm -rf "$place"' EXIT
  chmod 755 "$place"  # tests that give up a superuser's rights must still reach it
  git -C "$root" archive --format=tar HEAD | tar -x -C "$place"
  cd "$place"
  say "HEAD $(git -C "$root" rev-parse --short HEAD) in $place, $(python3 --version)"
}

# The line in the code block under <!-- $1 --> in README.md, as it stands.
readme_line() {
  local line
  line=$(awk -v mark="<!-- $1 -->" '
    $0 == mark { found = 1; next }
    found && /^```/ { if (inside) exit; inside = 1; next }
    found && inside' README.md)
  if [ "$(printf '%s\n' "$line" | wc -l)" -ne 1 ] || [ -z "$line" ]; then
    echo "README.md: no single line under <!-- $1 -->" >&2
    return 1
  fi
  printf '%s\n' "$line"
}
