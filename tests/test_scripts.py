"""The scripts in bin/, as far as they can be tested without starting the service."""

import os
import subprocess
from pathlib import Path

import pytest

BIN = Path(__file__).parents[1] / "bin"


def run(*command, **environment):
    clean = {key: value for key, value in os.environ.items() if key not in ("ALLOWED_HOSTS", "VAR_DIR")}
    return subprocess.run(command, env={**clean, **environment}, capture_output=True, text=True, timeout=10)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "[::]"])
def test_a_service_for_everybody_wants_to_know_its_names(host, tmp_path):
    done = run(BIN / "run", "--host", host, "--port", "1", VAR_DIR=str(tmp_path))
    assert done.returncode == 1 and "set ALLOWED_HOSTS to the names" in done.stderr
    assert not list(tmp_path.iterdir())


def test_what_is_made_at_run_time_is_made_where_the_environment_says(tmp_path):
    done = run("bash", "-c", f". {BIN}/lib.sh && make_key && echo $var", VAR_DIR=str(tmp_path / "elsewhere"))
    assert done.stdout.strip() == str(tmp_path / "elsewhere")
    assert (tmp_path / "elsewhere" / "secret_key").stat().st_mode & 0o777 == 0o600
