# python-jose with the whole key set, as in the tutorial of Auth0 for Flask that it is known from.
import os

import requests
from flask import Flask, abort, request
from jose import JWTError, jwt

app = Flask(__name__)


@app.get("/messages")
def messages():
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token:
        abort(401)
    try:
        keys = requests.get(os.environ["JWKS_URI"], timeout=5).json()
        header = jwt.get_unverified_header(token)
        key = next(key for key in keys["keys"] if key["kid"] == header["kid"])
        claims = jwt.decode(
            token, key, algorithms=["RS256"], audience=os.environ["AUDIENCE"], issuer=os.environ["ISSUER"]
        )
    except (JWTError, StopIteration, KeyError):
        abort(401)
    return {"hello": claims.get("sub")}
