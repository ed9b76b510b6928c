"""A client of fastmcp with client credentials. Arguments: the URL of the server, the issuer, the secret."""

import asyncio
import sys

from fastmcp import Client
from fastmcp.client.auth import ClientCredentialsOAuthProvider

url, issuer, secret = sys.argv[1:]


async def main():
    auth = ClientCredentialsOAuthProvider(client_id="reader", client_secret=secret, issuer=issuer)
    async with Client(url, auth=auth) as client:
        tools = await client.list_tools()
        result = await client.call_tool("add-note")
        print([tool.name for tool in tools], result.content[0].text)


asyncio.run(main())
