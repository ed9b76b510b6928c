# Authlib's client: gets a token with client credentials, and calls the API. Arguments: the token endpoint, the API, the scope.
import json
import sys

from authlib.integrations.requests_client import OAuth2Session

endpoint, api, scope = sys.argv[1:]
session = OAuth2Session("reader", "reader-secret", scope=scope or None, token_endpoint_auth_method="client_secret_basic")
session.fetch_token(endpoint, grant_type="client_credentials")
response = session.get(api)
print(json.dumps({"status": response.status_code, "challenge": response.headers.get("www-authenticate")}))
