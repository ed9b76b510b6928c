// coreos/go-oidc with a RemoteKeySet, as the documentation of NewVerifier.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net/http"
	"os"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
)

func main() {
	keys := oidc.NewRemoteKeySet(context.Background(), os.Getenv("JWKS_URI"))
	verifier := oidc.NewVerifier(os.Getenv("ISSUER"), keys, &oidc.Config{ClientID: os.Getenv("AUDIENCE")})
	http.HandleFunc("/messages", func(w http.ResponseWriter, r *http.Request) {
		text, isBearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		token, err := verifier.Verify(r.Context(), text)
		if !isBearer || err != nil {
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		json.NewEncoder(w).Encode(map[string]string{"hello": token.Subject})
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
