# django-oauth-toolkit as its documentation sets it up: opaque access tokens, and ID tokens. Its database and its
# key are in DATA. Prints one line of JSON once it listens.
import json
import os
import threading
from wsgiref.simple_server import WSGIRequestHandler, make_server

import django
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from django.conf import settings
from django.core.management import call_command
from django.core.wsgi import get_wsgi_application

key_file = os.path.join(os.environ["DATA"], "key.pem")
is_new = not os.path.exists(key_file)
if is_new:
    private = rsa.generate_private_key(65537, 2048)
    with open(key_file, "wb") as file:
        file.write(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
with open(key_file) as file:
    key = file.read()
form = '<form method="post">{% csrf_token %}{{ form }}<input type="hidden" name="next" value="{{ next }}"></form>'
settings.configure(
    SECRET_KEY="not a secret",
    ROOT_URLCONF=__name__,
    ALLOWED_HOSTS=["127.0.0.1"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": os.path.join(os.environ["DATA"], "database")}},
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions", "oauth2_provider"],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
    ],
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "OPTIONS": {"loaders": [("django.template.loaders.locmem.Loader", {"registration/login.html": form})]},
        }
    ],
    LOGIN_URL="/login/",
    USE_TZ=True,
    # Each introspection checks a secret.
    PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
    OAUTH2_PROVIDER={
        "OIDC_ENABLED": True,
        "OIDC_RSA_PRIVATE_KEY": key,
        "SCOPES": {"openid": "OpenID", "read:messages": "Read", "write:messages": "Write"},
    },
)
django.setup()

from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView
from django.urls import include, path
from oauth2_provider.models import Application

urlpatterns = [path("o/", include("oauth2_provider.urls")), path("login/", LoginView.as_view())]


def register(client_id, grant):
    Application.objects.create(
        client_id=client_id,
        client_secret=client_id + "-secret",
        client_type="confidential",
        authorization_grant_type=grant,
        redirect_uris="https://app.example.test/callback",
        algorithm="RS256",
        skip_authorization=True,
    )


if is_new:
    call_command("migrate", verbosity=0)
    User.objects.create_user("ada", password="password")
    register("reader", "authorization-code")
    register("service", "client-credentials")
    register("visitor", "client-credentials")
quiet = type("Quiet", (WSGIRequestHandler,), {"log_message": lambda *_: None})
listener = make_server("127.0.0.1", int(os.environ["PORT"]), get_wsgi_application(), handler_class=quiet)
threading.Thread(target=listener.serve_forever).start()
print(json.dumps({"issuer": f"http://127.0.0.1:{listener.server_port}/o"}), flush=True)
