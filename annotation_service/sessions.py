"""Sessions in the database, as Django keeps them; every request reads one."""

from django.contrib.sessions.backends import db
from django.contrib.sessions.models import Session
from django.utils import timezone

from .db import first

_SESSION = "SELECT * FROM django_session WHERE session_key = %(key)s"


class SessionStore(db.SessionStore):
    def _get_session_from_db(self) -> Session | None:
        session = first(Session, _SESSION, {"key": self.session_key})
        if session and session.expire_date > timezone.now():
            return session
        self._session_key = None  # as Django does: the key of an ended session is not used again
        return None
