"""What is asked of the database."""

from django.db import connection
from django.test.utils import CaptureQueriesContext


def queries_of(work, *args, **fields):
    """The SQL of the statements that some work, called with these arguments, sends; a page that it asks for must be there."""
    with CaptureQueriesContext(connection) as captured:
        answer = work(*args, **fields)
    assert getattr(answer, "status_code", 200) == 200
    return [query["sql"] for query in captured]
