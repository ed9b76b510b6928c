# Authlib's client: gets a token with client credentials, and calls the API, which urllib3 repeats after a 503. With `dpop`,
# requests-oauth2client gets the token and signs the proofs. Arguments: none, bearer or dpop; the token endpoint; the API; the scope.
import json
import sys

import requests
import www_authenticate
from authlib.integrations.requests_client import OAuth2Session
from requests.adapters import HTTPAdapter
from requests_oauth2client import ClientSecretBasic, OAuth2Client
from urllib3.util import Retry

how, endpoint, api, scope = sys.argv[1:]
session = requests.Session()
if how == "bearer":
    session = OAuth2Session("reader", "reader-secret", scope=scope or None, token_endpoint_auth_method="client_secret_basic")
    session.fetch_token(endpoint, grant_type="client_credentials")
if how == "dpop":
    client = OAuth2Client(endpoint, ClientSecretBasic("reader", "reader-secret"), testing=True)
    session.auth = client.client_credentials(scope=scope or None, dpop=True)
session.mount(api, HTTPAdapter(max_retries=Retry(1)))
response = session.get(api)
challenges = www_authenticate.parse(response.headers.get("www-authenticate", ""))
print(json.dumps({"status": response.status_code, "challenges": challenges}))
