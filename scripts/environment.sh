# Sourced by the other scripts: one private virtual environment per purpose, at the root of the
# checkout, made again only when the packaging files or the Python version change.

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"

# Print a Python that is new enough: $PYTHON when set, else the first that runs and fits.
find_python() {
    local candidate
    for candidate in "${PYTHON:-}" python3 python3.15 python3.14 python3.13 python3.12 python3.11 python; do
        [ -n "$candidate" ] || continue
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return 0
        fi
    done
    echo "lazyfuse needs Python 3.11 or newer; set PYTHON to one." >&2
    return 1
}

# ensure_environment <folder> <extras>: make or reuse <root>/<folder> with the package installed
# in place (editable) and the given extras.
ensure_environment() {
    local folder="$root/$1" extras="$2" base stamp
    base="$(find_python)" || return 1
    stamp="$extras $("$base" --version) $root $(cat "$root/setup.cfg" "$root/pyproject.toml" | cksum)"
    if [ -x "$folder/bin/python" ] && [ "$(cat "$folder/stamp" 2>/dev/null)" = "$stamp" ]; then
        return 0
    fi
    echo "making $1 with lazyfuse[$extras] ..." >&2
    "$base" -m venv --clear "$folder" || return 1
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check \
        --editable "$root[$extras]" >&2 || return 1
    echo "$stamp" >"$folder/stamp"
}

# Print the CUDA extra that fits the driver of this machine, or nothing when there is no GPU.
cuda_extra() {
    local driver
    driver="$(nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | head -n 1)"
    case "$driver" in
        [0-9]*) if [ "${driver%%.*}" -ge 580 ]; then echo cuda13; else echo cuda12; fi ;;
    esac
}
