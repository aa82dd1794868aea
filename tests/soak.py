"""How much a test does: little in bin/test, much in bin/soak."""

import os

from hypothesis import HealthCheck, settings

SOAK = bool(os.environ.get("SOAK"))


def amount(short: int, long: int) -> int:
    return long if SOAK else short


def machine_settings(examples: int, steps: int) -> settings:
    """How long a state machine of hypothesis runs, whatever its steps cost."""
    return settings(
        max_examples=examples, stateful_step_count=steps, deadline=None, suppress_health_check=list(HealthCheck)
    )
