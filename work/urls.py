from django.urls import path

from . import views

app_name = "work"
urlpatterns = [
    path("", views.learn, name="learn"),
    path("check/", views.check, name="check_lesson"),
    path("examples/", views.examples, name="lesson_examples"),
]
