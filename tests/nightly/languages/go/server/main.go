// A server of the Go SDK: behind an endpoint that protects it, or with ISSUER, where it verifies tokens itself.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

func addNote(_ context.Context, request *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
	text := "A note"
	if extra := request.Extra; extra != nil && extra.TokenInfo != nil {
		text = "You are " + extra.TokenInfo.UserID
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
}

func main() {
	origin := "http://localhost:" + os.Getenv("PORT")
	issuer := os.Getenv("ISSUER")
	server := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "add-note", Description: "Adds a note"}, addNote)
	var handler http.Handler = mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true},
	)
	if issuer != "" {
		keys := oidc.NewRemoteKeySet(context.Background(), issuer+".well-known/jwks.json")
		verifier := oidc.NewVerifier(issuer, keys, &oidc.Config{ClientID: origin + "/mcp"})
		verify := func(ctx context.Context, text string, _ *http.Request) (*auth.TokenInfo, error) {
			token, err := verifier.Verify(ctx, text)
			if err != nil {
				return nil, fmt.Errorf("%w: %v", auth.ErrInvalidToken, err)
			}
			var claims struct{ Scope string }
			if err := token.Claims(&claims); err != nil {
				return nil, fmt.Errorf("%w: %v", auth.ErrInvalidToken, err)
			}
			return &auth.TokenInfo{
				Scopes: strings.Fields(claims.Scope), Expiration: token.Expiry, UserID: token.Subject,
			}, nil
		}
		metadata := origin + "/.well-known/oauth-protected-resource/mcp"
		http.Handle("/.well-known/oauth-protected-resource/mcp", auth.ProtectedResourceMetadataHandler(
			&oauthex.ProtectedResourceMetadata{Resource: origin + "/mcp", AuthorizationServers: []string{issuer}},
		))
		handler = auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{
			Scopes: []string{"notes:read"}, ResourceMetadataURL: metadata,
		})(handler)
	}
	http.Handle("/mcp", handler)
	log.Fatal(http.ListenAndServe("localhost:"+os.Getenv("PORT"), nil))
}
