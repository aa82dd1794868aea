# Shared by the scripts in this folder: makes the virtual environment and the secret key of this checkout.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=.venv/bin/python
var=${VAR_DIR:-var} # what is made at run time
export PYTHONUNBUFFERED=1 PIP_DISABLE_PIP_VERSION_CHECK=1

die() {
    echo "$*" >&2
    exit 1
}

find_python() {
    local candidate
    for candidate in python3.13 python3.12 python3.11 python3; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    die "Python 3.11 or later is needed. On Debian and Ubuntu: sudo apt-get install python3 python3-venv"
}

# make_environment LOCK [FOLDER]: the virtual environment with the packages of a lock file; nothing to do if it has them already.
make_environment() {
    local lock=$1 folder=${2:-.venv} stamp=${2:-.venv}/installed-$1
    cmp -s "$lock" "$stamp" && return
    if [ ! -x "$folder/bin/python" ]; then
        echo "Making the virtual environment in $folder"
        local system_python
        system_python=$(find_python)
        "$system_python" -c 'import ensurepip' 2>/dev/null ||
            die "Python's venv module is incomplete. On Debian and Ubuntu: sudo apt-get install python3-venv"
        "$system_python" -m venv "$folder"
    fi
    echo "Installing the packages of $lock"
    "$folder/bin/python" -m pip install --quiet --require-hashes -r "$lock" ||
        die "The packages could not be installed. Is the package index within reach?"
    cp "$lock" "$stamp"
}

# make_key: the secret key of local mode, readable by its owner only.
make_key() {
    mkdir -p "$var"
    chmod 700 "$var" # the database and the uploads are nobody else's
    [ -s "$var/secret_key" ] || (umask 077 && "$python" -c 'import secrets; print(secrets.token_urlsafe(50))' >"$var/secret_key")
}
