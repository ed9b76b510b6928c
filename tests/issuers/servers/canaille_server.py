# Canaille with users of its own: opaque access tokens, and ID tokens. DATA is where it keeps its data, PORT its port.
# Prints one line of JSON once it listens.
import datetime
import json
import os
import threading
from wsgiref.simple_server import WSGIRequestHandler, make_server

from joserfc.jwk import RSAKey

data, port = os.environ.get("DATA", os.getcwd()), int(os.environ.get("PORT", "0"))
kept = os.path.join(data, "key.json")
if not os.path.exists(kept):
    with open(kept, "w") as file:
        json.dump(RSAKey.generate_key(2048, auto_kid=True).as_dict(private=True), file)
with open(kept) as file:
    key = json.load(file)

quiet = type("Quiet", (WSGIRequestHandler,), {"log_message": lambda *_: None})
listener = make_server("127.0.0.1", port, None, handler_class=quiet)
host = f"127.0.0.1:{listener.server_port}"

from canaille import create_app
from canaille.app import models
from canaille.backends import Backend

config = {
    "SECRET_KEY": "not a secret",
    "SERVER_NAME": host,
    "PREFERRED_URL_SCHEME": "http",
    "CANAILLE": {"DATABASE": "sql", "LOGGING": {"version": 1, "disable_existing_loggers": True}},
    "CANAILLE_SQL": {"DATABASE_URI": "sqlite:///" + os.path.join(data, "database")},
    "CANAILLE_OIDC": {"ACTIVE_JWKS": [key]},
}
app = create_app(config, init_backend=True)


def register(client_id):
    client = models.Client(
        client_id=client_id,
        client_secret=client_id + "-secret",
        client_name=client_id,
        client_id_issued_at=datetime.datetime.now(datetime.timezone.utc),
        # Its own clients need no consent.
        client_uri="http://127.0.0.1",
        redirect_uris=["https://app.example.test/callback"],
        grant_types=["authorization_code", "refresh_token", "client_credentials"],
        response_types=["code"],
        token_endpoint_auth_method="client_secret_basic",
        scope=["openid", "profile", "read:messages", "write:messages"],
    )
    # As its page for clients does. Its ID tokens have the same audience.
    client.audience = [client]
    Backend.instance.save(client)


with app.app_context(), Backend.instance.session():
    if not Backend.instance.get(models.Client, client_id="reader"):
        register("reader")
        register("visitor")
        ada = models.User(user_name="ada", formatted_name="Ada", family_name="Test", password="password")
        Backend.instance.save(ada)

listener.set_app(app.wsgi_app)
threading.Thread(target=listener.serve_forever).start()
print(json.dumps({"issuer": f"http://{host}"}), flush=True)
