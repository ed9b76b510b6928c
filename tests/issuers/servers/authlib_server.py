# Authlib's authorization server in Flask, as its documentation shows it, with the token generator of RFC 9068.
# Arguments: the API identifier. Prints one line of JSON once it listens.
import json
import sys
import threading
from types import SimpleNamespace
from wsgiref.simple_server import WSGIRequestHandler, make_server

from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749 import grants
from authlib.oauth2.rfc6749.models import ClientMixin
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oauth2.rfc9068 import JWTBearerTokenGenerator
from authlib.oidc.core.grants import OpenIDCode
from authlib.jose import JsonWebKey
from flask import Flask, request

import os

os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"
audience = sys.argv[1]
key = JsonWebKey.generate_key("RSA", 2048, {"kid": "authlib", "use": "sig", "alg": "RS256"}, is_private=True)
codes = {}


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
}
app = Flask(__name__)
server = AuthorizationServer(app, query_client=clients.get, save_token=lambda token, request: None)
listener = make_server("127.0.0.1", 0, app, handler_class=type("Quiet", (WSGIRequestHandler,), {"log_message": lambda *_: None}))
issuer = f"http://127.0.0.1:{listener.server_port}"


class Tokens(JWTBearerTokenGenerator):
    def get_jwks(self):
        return {"keys": [key.as_dict(is_private=True, kid="authlib")]}

    def get_audiences(self, client, user, scope):
        return audience if client.client_id == "reader" else "https://other.example.test"


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
        return SimpleNamespace(get_user_id=lambda: "ada")


class IdTokens(OpenIDCode):
    def exists_nonce(self, nonce, request):
        return False

    def get_jwt_config(self, grant):
        return {"key": key.as_dict(is_private=True), "alg": "RS256", "iss": issuer, "exp": 3600}

    def generate_user_info(self, user, scope):
        return {"sub": "ada"}


server.register_token_generator("default", Tokens(issuer))
server.register_grant(grants.ClientCredentialsGrant)
server.register_grant(Code, [CodeChallenge(required=True), IdTokens(require_nonce=True)])


@app.post("/token")
def token():
    return server.create_token_response()


@app.get("/authorize")
def authorize():
    return server.create_authorization_response(grant_user=SimpleNamespace(get_user_id=lambda: "ada"))


@app.get("/keys")
def keys():
    return {"keys": [key.as_dict(is_private=False, kid="authlib", use="sig", alg="RS256")]}


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
