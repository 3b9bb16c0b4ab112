# What .ci/run and .ci/nightly share: steps, lanes, the programs that tests start, the installation.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
touch "$work/steps" "$work/failures"
declare -A lanes=()

# Steps of several lanes end here, so they are counted in files.
step() {
  local what=$1
  shift
  echo "$what" >> "$work/steps"
  echo
  echo "=== $what: $*"
  local started=$SECONDS
  if "$@"; then
    echo "=== passed after $((SECONDS - started)) s: $what"
  else
    echo "=== FAILED after $((SECONDS - started)) s: $what ($*)"
    echo "$what: $*" >> "$work/failures"
  fi
}

# Runs a function with steps beside what follows: most steps wait, for a process or on one core.
lane() {
  "$1" > "$work/lane-$1" 2>&1 &
  lanes[$1]=$!
}

# Waits for these lanes, and shows what each has printed. A step that fails does not end its lane.
join_lanes() {
  local one
  for one in "$@"; do
    wait "${lanes[$one]}" || echo "the lane $one was cut off" >> "$work/failures"
    cat "$work/lane-$one"
  done
}

# Lists the checks that failed.
report() {
  [[ -s $work/failures ]] || return 0
  echo "=== $(wc -l < "$work/failures") of $(wc -l < "$work/steps") checks failed:"
  sed 's/^/      /' "$work/failures"
}

# Debian's packages with programs that tests start; a slim image has none of them. Without a browser, Redis, Postgres or a load balancer their
# tests are skipped and counted; without git or ps the tests that start them fail and name what is missing.
programs() {
  local package packages=()
  command -v git > /dev/null || packages+=(git)
  command -v ps > /dev/null || packages+=(procps)
  # A page costs it less than half of the processor time that it costs the browser with windows.
  [[ -n ${CHROMIUM:-} ]] || command -v chromium-headless-shell || packages+=(chromium-headless-shell)
  [[ -n ${REDIS_SERVER:-} ]] || command -v redis-server || packages+=(redis-server)
  command -v nginx || packages+=(nginx)
  command -v haproxy || packages+=(haproxy)
  [[ -n ${POSTGRES_BIN:-} ]] || command -v initdb || compgen -G '/usr/lib/postgresql/*/bin/initdb' || packages+=(postgresql)
  ((${#packages[@]} > 0)) || return 0
  if ! command -v apt-get > /dev/null || ((EUID != 0)); then
    echo "Missing, and no apt-get with root rights to install them: ${packages[*]}"
    return
  fi
  export DEBIAN_FRONTEND=noninteractive
  timeout 60 apt-get update -qq || echo 'The lists of packages could not be renewed'
  for package in "${packages[@]}"; do
    if timeout 300 apt-get install -y -qq --no-install-recommends "$package" > /dev/null; then
      echo "Installed: $package"
    else
      echo "Could not be installed: $package"
    fi
  done
}

# Debian 12 has it among its backports only.
valkey() {
  command -v valkey-server && return
  command -v apt-get > /dev/null && ((EUID == 0)) || return 0
  local sources=/etc/apt/sources.list.d/debian.sources backports=/etc/apt/sources.list.d/backports.sources
  if [[ -f $sources && ! -f $backports ]] && grep -q '^Suites: bookworm ' "$sources"; then
    sed -n '1,/^$/p' "$sources" | sed 's/^Suites:.*/Suites: bookworm-backports/' > "$backports"
    timeout 60 apt-get update -qq || echo 'The lists of packages could not be renewed'
  fi
  DEBIAN_FRONTEND=noninteractive timeout 300 apt-get install -y -qq --no-install-recommends valkey-server > /dev/null ||
    echo 'Could not be installed: valkey-server'
}

# Installs and builds, as the README's command line does: `npm ci && npm test`.
install() {
  echo "=== install: npm ci"
  npm ci || { echo "=== FAILED: npm ci; nothing else can run"; exit 1; }
}
