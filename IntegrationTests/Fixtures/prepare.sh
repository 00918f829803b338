#!/usr/bin/env bash
#
# prepare.sh VENV_DIR REQUIREMENTS MODULE…
#
# Makes a Python virtual environment in VENV_DIR with exactly the packages
# pinned in the file REQUIREMENTS, so that each MODULE can be imported:
#
#     prepare.sh /some/venv django/requirements.txt django oauth2_provider
#
# Running it again is cheap when nothing changed, and rebuilds the environment
# when REQUIREMENTS (or this script) did. Concurrent runs for the same
# VENV_DIR wait for one another. The lock is VENV_DIR.lock, next to it. The
# folder pip, also next to it, is an environment with pip, which installs the
# packages of all others.
#
# PYTHON specifies the interpreter to use (default: python3 from PATH).

set -euo pipefail

fail() {
    printf 'prepare.sh: %s\n' "$*" >&2
    exit 1
}

if [[ $# -lt 3 || -z $1 || ! -f $2 ]]; then
    printf 'usage: prepare.sh VENV_DIR REQUIREMENTS MODULE…\n' >&2
    exit 64
fi

requirements=$2
modules=("${@:3}")
python=${PYTHON:-python3}
venv=${1%/}
[[ -n $venv ]] || fail "not using / as a virtual environment"

for tool in "$python" flock sha256sum; do
    command -v -- "$tool" >/dev/null || fail "$tool not found (Debian: apt-get install python3 python3-venv util-linux coreutils)"
done

mkdir -p -- "$(dirname -- "$venv")"
parent=$(cd -- "$(dirname -- "$venv")" && pwd)
venv=$parent/$(basename -- "$venv")

exec 9>"$venv.lock"
flock --wait 900 9 || fail "another run has held $venv.lock for 15 minutes"

stamp=$venv/.prepared
wanted=$(cat -- "$requirements" "${BASH_SOURCE[0]}" | sha256sum | cut -d ' ' -f 1)

# The interpreter is started, not just looked for: after an upgrade or removal
# of the Python it was made from, an environment can be complete and unusable.
if [[ -f $stamp && $(<"$stamp") == "$wanted" ]] && "$venv/bin/python" -I -c "import $(IFS=,; printf '%s' "${modules[*]}")" 2>/dev/null; then
    exit 0
fi

"$python" -I -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
    fail "$python is older than Python 3.10, which Django 5.2 needs; set PYTHON to another one"

printf 'prepare.sh: making %s with %s\n' "$venv" "$("$python" -I --version)" >&2
# make_venv FOLDER [OPTION]…: makes an empty virtual environment.
make_venv() {
    # venv --clear empties the directory, so only ever point it at an environment.
    if [[ -e $1 && ! -f $1/pyvenv.cfg && -n $(ls -A -- "$1") ]]; then
        fail "$1 exists and is not a virtual environment"
    fi
    rm -f -- "$1/.prepared"
    "$python" -I -m venv --clear "${@:2}" -- "$1" >&2 ||
        fail "$python could not make a virtual environment; on Debian: apt-get install python3-venv"
}
make_venv "$venv" --without-pip

# Installing pip takes longer than most requirements, so all environments use one pip.
pip=$parent/pip
exec 8>"$pip.lock"
flock --wait 900 8 || fail "another run has held $pip.lock for 15 minutes"
"$pip/bin/python" -I -m pip --version >/dev/null 2>&1 || make_venv "$pip"
exec 8>&-

# Wheels only: a source build would need a compiler and a Rust toolchain.
"$pip/bin/python" -I -m pip --python "$venv/bin/python" install \
    --quiet --no-input --disable-pip-version-check \
    --no-deps --only-binary :all: \
    --requirement "$requirements" >&2 ||
    fail "could not install $requirements"
"$pip/bin/python" -I -m pip --python "$venv/bin/python" --disable-pip-version-check check >&2 ||
    fail "the versions pinned in $requirements do not fit together"

printf '%s\n' "$wanted" >"$stamp.new"
mv -- "$stamp.new" "$stamp"
