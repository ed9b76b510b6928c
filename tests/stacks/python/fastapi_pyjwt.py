# FastAPI's HTTPBearer, and PyJWT as "Retrieve RSA signing keys from a JWKS endpoint" in its documentation.
import os
from typing import Annotated

import jwt
from fastapi import Depends, FastAPI, HTTPException
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

app = FastAPI()
keys = jwt.PyJWKClient(os.environ["JWKS_URI"])


def claims_of(credentials: Annotated[HTTPAuthorizationCredentials, Depends(HTTPBearer())]):
    try:
        key = keys.get_signing_key_from_jwt(credentials.credentials)
        return jwt.decode(
            credentials.credentials,
            key,
            algorithms=["RS256"],
            audience=os.environ["AUDIENCE"],
            issuer=os.environ["ISSUER"],
        )
    except jwt.PyJWTError:
        raise HTTPException(401, "Could not validate credentials", {"WWW-Authenticate": "Bearer"})


@app.get("/messages")
def messages(claims: Annotated[dict, Depends(claims_of)]):
    return {"hello": claims.get("sub")}
