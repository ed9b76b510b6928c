# PyJWT with every setting that --stack pyjwt names.
import os

import jwt
from flask import Flask, abort, request

app = Flask(__name__)
keys = jwt.PyJWKClient(os.environ["JWKS_URI"], cache_jwk_set=True, timeout=5)


@app.get("/messages")
def messages():
    _, _, token = request.headers.get("Authorization", "").partition("Bearer ")
    try:
        claims = jwt.decode(
            token,
            keys.get_signing_key_from_jwt(token),
            algorithms=["RS256"],
            audience=os.environ["AUDIENCE"],
            issuer=os.environ["ISSUER"],
            leeway=5,
            options={"require": ["exp", "aud", "iss"]},
        )
    except jwt.PyJWTError:
        abort(401)
    return {"hello": claims.get("sub")}
