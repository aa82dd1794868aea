import pytest

from tests import factories
from tests.e2e.editing import Editor


@pytest.fixture
def moving(settings):
    settings.ONTOLOGY_MOVE_ITEMS = True


@pytest.fixture
def editor(page, sign_in, alice) -> Editor:
    sign_in(page, alice)
    return Editor(page, factories.ontology(owner=alice, name="Maintenance")).open()
