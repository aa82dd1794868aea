"""Several people at the sign-in page."""

from concurrent.futures import ThreadPoolExecutor

from django.db import connection

PASSWORD = "a-long-password"


def in_threads(function, values):
    """What a function gives for each value, all at the same time."""

    def call(value):
        try:
            return function(value)
        finally:
            connection.close()

    with ThreadPoolExecutor(len(values)) as threads:
        return list(threads.map(call, values))


def sign_in(client, login, password=PASSWORD, **extra):
    return client.post("/accounts/login/", {"login": login, "password": password}, **extra)
