// The client of golang.org/x/oauth2: gets a token with client credentials, and calls the API, which it repeats after a 503. With
// `dpop`, the client of AT Protocol signs the proofs. Arguments: none, bearer or dpop; the token endpoint; the API; the scope.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net/http"
	"os"
	"strings"

	"github.com/bluesky-social/indigo/atproto/atcrypto"
	atproto "github.com/bluesky-social/indigo/atproto/auth/oauth"
	"github.com/hashicorp/go-retryablehttp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// A transport that proves the possession of a key to the authorization server.
type withProof struct{ key atcrypto.PrivateKey }

func (transport withProof) RoundTrip(request *http.Request) (*http.Response, error) {
	proof, err := atproto.NewAuthDPoP(request.Method, request.URL.String(), "", transport.key)
	if err != nil {
		return nil, err
	}
	request = request.Clone(request.Context())
	request.Header.Set("DPoP", proof)
	return http.DefaultTransport.RoundTrip(request)
}

func call(how, api string, config clientcredentials.Config) (*http.Response, error) {
	retrying := retryablehttp.NewClient()
	retrying.Logger = nil
	if how == "none" {
		return retrying.StandardClient().Get(api)
	}
	if how == "bearer" {
		ctx := context.WithValue(context.Background(), oauth2.HTTPClient, retrying.StandardClient())
		return config.Client(ctx).Get(api)
	}
	key, err := atcrypto.GeneratePrivateKeyP256()
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: withProof{key}}
	token, err := config.Token(context.WithValue(context.Background(), oauth2.HTTPClient, client))
	if err != nil {
		return nil, err
	}
	session := atproto.ClientSession{
		Data:                   &atproto.ClientSessionData{AccessToken: token.AccessToken},
		DPoPPrivateKey:         key,
		PersistSessionCallback: func(context.Context, *atproto.ClientSessionData) {},
	}
	request, err := http.NewRequest("GET", api, nil)
	if err != nil {
		return nil, err
	}
	return session.DoWithAuth(http.DefaultClient, request, "")
}

func main() {
	response, err := call(os.Args[1], os.Args[3], clientcredentials.Config{
		ClientID:     "reader",
		ClientSecret: "reader-secret",
		TokenURL:     os.Args[2],
		Scopes:       strings.Fields(os.Args[4]),
		AuthStyle:    oauth2.AuthStyleInHeader,
	})
	if err != nil {
		log.Fatal(err)
	}
	parsed, err := oauthex.ParseWWWAuthenticate(response.Header["Www-Authenticate"])
	if err != nil {
		log.Fatal(err)
	}
	challenges := map[string]map[string]string{}
	for _, challenge := range parsed {
		challenges[challenge.Scheme] = challenge.Params
	}
	json.NewEncoder(os.Stdout).Encode(map[string]any{"status": response.StatusCode, "challenges": challenges})
}
