# Authlib's authorization server in Flask, as its documentation shows it, with the token generator of RFC 9068.
# Arguments: the API identifier. KEYS names its keys, which it keeps in DATA: the first signs, all are published.
# Prints one line of JSON once it listens.
import json
import os
import sys
import threading
import time
from types import SimpleNamespace
from wsgiref.simple_server import WSGIRequestHandler, make_server

from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749 import grants
from authlib.oauth2.rfc6749.models import ClientMixin
from authlib.oauth2.rfc6750 import BearerTokenGenerator
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oauth2.rfc7662 import IntrospectionEndpoint
from authlib.oauth2.rfc9068 import JWTBearerTokenGenerator
from authlib.oidc.core.grants import OpenIDCode
from authlib.jose import JsonWebKey
from flask import Flask, request

os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"
audience = sys.argv[1]
codes = {}
opaque_tokens = {}


def keys_named(name):
    """A key of this name for each algorithm, made on first use."""
    path = os.path.join(os.environ["DATA"], name)
    if not os.path.exists(path):
        made = [
            JsonWebKey.generate_key(kind, size, is_private=True).as_dict(is_private=True, kid=f"{name}-{alg}", use="sig", alg=alg)
            for alg, kind, size in [("RS256", "RSA", 2048), ("ES256", "EC", "P-256")]
        ]
        with open(path, "w") as file:
            json.dump(made, file)
    with open(path) as file:
        return json.load(file)


private_keys = [key for name in os.environ.get("KEYS", "issuer").split() for key in keys_named(name)]


class Client(ClientMixin):
    def __init__(self, client_id, scope):
        self.client_id, self.secret, self.scope = client_id, client_id + "-secret", scope

    def get_client_id(self):
        return self.client_id

    def get_default_redirect_uri(self):
        return "https://app.example.test/callback"

    def get_allowed_scope(self, scope):
        return " ".join(each for each in (scope or "").split() if each in self.scope.split())

    def check_redirect_uri(self, redirect_uri):
        return redirect_uri == self.get_default_redirect_uri()

    def check_client_secret(self, client_secret):
        return client_secret == self.secret

    def check_endpoint_auth_method(self, method, endpoint):
        return method == "client_secret_basic"

    def check_response_type(self, response_type):
        return response_type == "code"

    def check_grant_type(self, grant_type):
        return True


clients = {
    "reader": Client("reader", "openid read:messages"),
    "visitor": Client("visitor", "openid write:messages"),
    # One for each form of its tokens.
    **{name: Client(name, "read:messages") for name in ["ES256", "opaque"]},
}
app = Flask(__name__)
server = AuthorizationServer(app, query_client=clients.get, save_token=lambda token, request: None)
listener = make_server("127.0.0.1", int(os.environ["PORT"]), app, handler_class=type("Quiet", (WSGIRequestHandler,), {"log_message": lambda *_: None}))
issuer = f"http://127.0.0.1:{listener.server_port}"


class Tokens(JWTBearerTokenGenerator):
    def get_jwks(self):
        return {"keys": [next(key for key in private_keys if key["alg"] == self.alg)]}

    def get_audiences(self, client, user, scope):
        return "https://other.example.test" if client.client_id == "visitor" else audience

    def get_extra_claims(self, client, grant_type, user, scope):
        return {"roles": ["read:messages"] if user and user.get_user_id() == "ada" else []}


class Introspection(IntrospectionEndpoint):
    def check_permission(self, token, client, request):
        return True

    def query_token(self, token_string, token_type_hint):
        return opaque_tokens.get(token_string)

    def introspect_token(self, token):
        said = {"iss": issuer, "aud": audience, "client_id": token.client_id, "exp": token.expires_at}
        return {**said, "scope": token.scope, "token_type": "Bearer"}


def give_token(grant_type, client, **others):
    if client.client_id != "opaque":
        alg = "ES256" if client.client_id == "ES256" else "RS256"
        return Tokens(issuer, alg)(grant_type, client, **others)
    token = BearerTokenGenerator(lambda **_: "opaque-" + os.urandom(16).hex())(grant_type, client, **others)
    opaque_tokens[token["access_token"]] = SimpleNamespace(
        client_id=client.client_id,
        scope=token["scope"],
        expires_at=int(time.time()) + token["expires_in"],
        is_expired=lambda: False,
        is_revoked=lambda: False,
    )
    return token


class Code(grants.AuthorizationCodeGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = ["client_secret_basic"]

    def save_authorization_code(self, code, request):
        # The payload is that of the current request.
        uri, scope, data = request.payload.redirect_uri, request.payload.scope, dict(request.payload.data)
        codes[code] = SimpleNamespace(
            code=code,
            client_id=request.client.client_id,
            redirect_uri=uri,
            scope=scope,
            user=request.user.get_user_id(),
            code_challenge=data.get("code_challenge"),
            code_challenge_method=data.get("code_challenge_method"),
            get_redirect_uri=lambda: uri,
            get_scope=lambda: scope,
            get_nonce=lambda: data.get("nonce"),
            get_auth_time=lambda: None,
            get_acr=lambda: None,
            get_amr=lambda: None,
        )

    def query_authorization_code(self, code, client):
        return codes.get(code)

    def delete_authorization_code(self, authorization_code):
        codes.pop(authorization_code.code)

    def authenticate_user(self, authorization_code):
        return SimpleNamespace(get_user_id=lambda: authorization_code.user)


class IdTokens(OpenIDCode):
    def exists_nonce(self, nonce, request):
        return False

    def get_jwt_config(self, grant):
        return {"key": private_keys[0], "alg": "RS256", "iss": issuer, "exp": 3600}

    def generate_user_info(self, user, scope):
        return {"sub": user.get_user_id()}


server.register_token_generator("default", give_token)
server.register_endpoint(Introspection)
server.register_grant(grants.ClientCredentialsGrant)
server.register_grant(Code, [CodeChallenge(required=True), IdTokens(require_nonce=True)])


@app.post("/token")
def token():
    return server.create_token_response()


@app.post("/introspect")
def introspect():
    return server.create_endpoint_response("introspection")


@app.get("/authorize")
def authorize():
    user = request.args.get("login_hint", "ada")
    return server.create_authorization_response(grant_user=SimpleNamespace(get_user_id=lambda: user))


@app.get("/keys")
def keys():
    public = ["kty", "kid", "use", "alg", "n", "e", "crv", "x", "y"]
    return {"keys": [{name: key[name] for name in public if name in key} for key in private_keys]}


@app.get("/.well-known/openid-configuration")
def metadata():
    return {
        "issuer": issuer,
        "jwks_uri": issuer + "/keys",
        "token_endpoint": issuer + "/token",
        "authorization_endpoint": issuer + "/authorize",
        "response_types_supported": ["code"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"],
    }


threading.Thread(target=listener.serve_forever).start()
print(json.dumps({"issuer": issuer}), flush=True)
