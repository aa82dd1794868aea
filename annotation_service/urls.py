from django.conf import settings
from django.contrib import admin
from django.urls import include, path

from projects.views import home

from . import attempts, views

job_urls = [
    path("", views.show_job, name="job"),
    path("progress/", views.job_progress, name="job_progress"),
    path("cancel/", views.cancel_job, name="cancel_job"),
    path("file/", views.job_file, name="job_file"),
]

handler400 = "annotation_service.views.bad_request"
handler500 = "annotation_service.views.server_error"

urlpatterns = [
    path("", home, name="home"),
    path("find/", views.find, name="find"),
    path("help/", views.help_page, name="help"),
    path("jobs/<int:pk>/", include(job_urls)),
    path("ontologies/", include("ontologies.urls")),
    path("", include("resources.urls")),
    path("datasets/learn/<int:pk>/", include("work.urls")),
    path("datasets/", include("datasets.urls")),
    path("", include("api.urls")),
    path("", include("annotations.urls")),
    path("", include("quality.urls")),
    path("", include("graph.urls")),
    path("projects/", include("projects.urls")),
    path("accounts/", include("allauth.account.urls")),
    path("admin/", admin.site.urls),
]
if settings.OIDC_ISSUER:
    urlpatterns.append(path("accounts/oidc/", include("annotation_service.identity")))

handler429 = attempts.too_many
