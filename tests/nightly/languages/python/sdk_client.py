"""A client of the Python SDK with client credentials. Arguments: the URL of the server, the issuer, the secret."""

import asyncio
import sys

import httpx2
from mcp import Client
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.streamable_http import streamable_http_client

url, issuer, secret = sys.argv[1:]


class Storage:
    tokens = None
    client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client_info):
        self.client = client_info


async def main():
    auth = ClientCredentialsOAuthProvider(
        server_url=url, storage=Storage(), client_id="reader", client_secret=secret, issuer=issuer
    )
    async with httpx2.AsyncClient(auth=auth) as http_client:
        async with Client(streamable_http_client(url, http_client=http_client)) as client:
            tools = await client.list_tools()
            result = await client.call_tool("add-note", {})
            print([tool.name for tool in tools.tools], result.content[0].text)


asyncio.run(main())
