from django.apps import AppConfig


class OntologiesConfig(AppConfig):
    name = "ontologies"
