// A client of the Go SDK with client credentials. Arguments: the URL of the server, the issuer, the secret.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/modelcontextprotocol/go-sdk/auth/extauth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

func main() {
	ctx := context.Background()
	handler, err := extauth.NewClientCredentialsHandler(&extauth.ClientCredentialsHandlerConfig{
		Credentials: &oauthex.ClientCredentials{
			ClientID:         "reader",
			ClientSecretAuth: &oauthex.ClientSecretAuth{ClientSecret: os.Args[3]},
		},
	})
	check(err)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1.0.0"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: os.Args[1], OAuthHandler: handler}, nil)
	check(err)
	defer session.Close()
	tools, err := session.ListTools(ctx, nil)
	check(err)
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "add-note"})
	check(err)
	fmt.Println(len(tools.Tools), result.Content[0].(*mcp.TextContent).Text)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
