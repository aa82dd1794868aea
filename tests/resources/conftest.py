import pytest


@pytest.fixture(autouse=True)
def switched_on(settings):
    settings.PREANNOTATION_RESOURCES = True
