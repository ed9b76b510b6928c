"""A server of fastmcp: behind an endpoint that protects it, or with ISSUER, where it verifies tokens itself."""

import os

from fastmcp import FastMCP
from fastmcp.server.auth import RemoteAuthProvider
from fastmcp.server.auth.providers.jwt import JWTVerifier
from fastmcp.server.dependencies import get_access_token

port = int(os.environ["PORT"])
issuer = os.environ.get("ISSUER")
origin = f"http://localhost:{port}"

auth = None
if issuer:
    verifier = JWTVerifier(
        jwks_uri=f"{issuer}.well-known/jwks.json",
        issuer=issuer,
        audience=f"{origin}/mcp",
        required_scopes=["notes:read"],
    )
    auth = RemoteAuthProvider(token_verifier=verifier, authorization_servers=[issuer], base_url=origin)
server = FastMCP("notes", auth=auth)


@server.tool(name="add-note")
def add_note() -> str:
    token = get_access_token()
    return f"You are {token.claims['sub']}" if token else "A note"


server.run("http", port=port, stateless_http=True, show_banner=False)
