import gc
import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.urls import resolve

from annotation_service.db import limit_statements

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotation_service.settings")

application = get_wsgi_application()
limit_statements(settings.STATEMENT_SECONDS)

# The collector of cyclic garbage need not look through the code again and again: that takes tens of milliseconds.
resolve("/")  # loads all views
gc.collect()
gc.freeze()
