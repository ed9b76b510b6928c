# Authlib's ResourceProtector with a JWTBearerTokenValidator, as "Resource Server" in its documentation for Flask.
import os

import requests
from authlib.integrations.flask_oauth2 import ResourceProtector, current_token
from authlib.oauth2.rfc7523 import JWTBearerTokenValidator
from flask import Flask
from joserfc.jwk import KeySet


class Validator(JWTBearerTokenValidator):
    def __init__(self):
        keys = KeySet.import_key_set(requests.get(os.environ["JWKS_URI"], timeout=5).json())
        super().__init__(keys)
        self.claims_options = {
            "exp": {"essential": True},
            "aud": {"essential": True, "value": os.environ["AUDIENCE"]},
            "iss": {"essential": True, "value": os.environ["ISSUER"]},
        }


app = Flask(__name__)
require_oauth = ResourceProtector()
require_oauth.register_token_validator(Validator())


@app.get("/messages")
@require_oauth()
def messages():
    return {"hello": current_token.get("sub")}
