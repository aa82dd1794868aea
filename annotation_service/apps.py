from django.apps import AppConfig


class AnnotationServiceConfig(AppConfig):
    name = "annotation_service"
    verbose_name = "Annotation service"
