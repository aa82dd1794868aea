from collections.abc import Callable

import pytest

from tests import factories
from tests.e2e.editing import Editor


@pytest.fixture
def moving(settings):
    settings.ONTOLOGY_MOVE_ITEMS = True


@pytest.fixture
def edit(page, sign_in, alice) -> Callable[..., Editor]:
    """``edit(items)`` opens the editor with these items, as alice."""
    sign_in(page, alice)
    return lambda items=None: Editor(page, factories.ontology(owner=alice, name="Maintenance", items=items)).open()


@pytest.fixture
def editor(edit) -> Editor:
    return edit()
