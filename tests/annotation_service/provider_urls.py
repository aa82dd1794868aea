"""The addresses of a service with an identity provider; what is asked for with local accounts off is read anew then."""

from django.urls import include, path

from annotation_service.urls import handler400, handler429, handler500, urlpatterns  # noqa: F401

urlpatterns = [
    path("accounts/oidc/", include("annotation_service.identity")),
    path("accounts/", include("allauth.account.urls")),
    *(each for each in urlpatterns if str(each.pattern) != "accounts/"),
]
