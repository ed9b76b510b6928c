// The client of golang.org/x/oauth2: gets a token with client credentials, and calls the API. Arguments: the token endpoint, the API,
// the scope.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"
	"strings"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

func main() {
	config := clientcredentials.Config{
		ClientID:     "reader",
		ClientSecret: "reader-secret",
		TokenURL:     os.Args[1],
		Scopes:       strings.Fields(os.Args[3]),
		AuthStyle:    oauth2.AuthStyleInHeader,
	}
	response, err := config.Client(context.Background()).Get(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	json.NewEncoder(os.Stdout).Encode(map[string]any{"status": response.StatusCode, "challenge": response.Header.Get("www-authenticate")})
}
