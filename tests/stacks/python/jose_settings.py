# python-jose with every setting that --stack python-jose names.
import os

import requests
from flask import Flask, abort, request
from jose import JWTError, jwt

app = Flask(__name__)
keys = {key["kid"]: key for key in requests.get(os.environ["JWKS_URI"], timeout=5).json()["keys"]}


@app.get("/messages")
def messages():
    _, _, token = request.headers.get("Authorization", "").partition("Bearer ")
    try:
        claims = jwt.decode(
            token,
            keys[jwt.get_unverified_header(token)["kid"]],
            algorithms=["RS256"],
            audience=os.environ["AUDIENCE"],
            issuer=os.environ["ISSUER"],
            options={"require_iss": True, "require_aud": True, "require_exp": True, "leeway": 5},
        )
    except (JWTError, KeyError, TypeError):
        abort(401)
    return {"hello": claims.get("sub")}
