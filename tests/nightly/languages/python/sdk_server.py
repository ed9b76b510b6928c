"""A server of the Python SDK: behind an endpoint that protects it, or with ISSUER, where it verifies tokens itself."""

import os

import jwt
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import MCPServer

port = int(os.environ["PORT"])
issuer = os.environ.get("ISSUER")
resource = f"http://localhost:{port}/mcp"


class Verifier:
    def __init__(self):
        self.keys = jwt.PyJWKClient(f"{issuer}.well-known/jwks.json")

    async def verify_token(self, token: str) -> AccessToken | None:
        try:
            key = self.keys.get_signing_key_from_jwt(token)
            claims = jwt.decode(token, key, algorithms=["RS256"], audience=resource, issuer=issuer)
        except jwt.PyJWTError:
            return None
        return AccessToken(
            token=token,
            client_id=claims["client_id"],
            scopes=claims["scope"].split(),
            expires_at=claims["exp"],
            resource=resource,
            subject=claims["sub"],
        )


own = {}
if issuer:
    settings = AuthSettings(
        issuer_url=issuer, resource_server_url=resource, required_scopes=["notes:read"], validate_token_resource=True
    )
    own = {"token_verifier": Verifier(), "auth": settings}
server = MCPServer("notes", **own)


@server.tool(name="add-note")
def add_note() -> str:
    token = get_access_token()
    return f"You are {token.subject}" if token else "A note"


server.run("streamable-http", port=port, stateless_http=True, json_response=True)
