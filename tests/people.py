"""Several people at the sign-in page."""

PASSWORD = "a-long-password"


def sign_in(client, login, password=PASSWORD, **extra):
    return client.post("/accounts/login/", {"login": login, "password": password}, **extra)
