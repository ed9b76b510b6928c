// lestrrat-go/jwx with a cache of keys, as "Parse and Verify a JWT (using key set)" in its documentation. Keys may lack
// alg, so it is inferred. With SETTINGS, it has every setting that --stack jwx names, and keys need alg.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/lestrrat-go/httprc/v3"
	"github.com/lestrrat-go/jwx/v3/jwk"
	"github.com/lestrrat-go/jwx/v3/jws"
	"github.com/lestrrat-go/jwx/v3/jwt"
)

func main() {
	ctx := context.Background()
	client := &http.Client{}
	hasSettings := os.Getenv("SETTINGS") != ""
	if hasSettings {
		client.Timeout = 5 * time.Second
	}
	cache, err := jwk.NewCache(ctx, httprc.NewClient(httprc.WithHTTPClient(client)))
	if err != nil {
		log.Fatal(err)
	}
	if err := cache.Register(ctx, os.Getenv("JWKS_URI")); err != nil {
		log.Fatal(err)
	}
	keys, err := cache.CachedSet(os.Getenv("JWKS_URI"))
	if err != nil {
		log.Fatal(err)
	}
	checks := []jwt.ParseOption{jwt.WithIssuer(os.Getenv("ISSUER")), jwt.WithAudience(os.Getenv("AUDIENCE"))}
	if hasSettings {
		checks = append(checks, jwt.WithKeySet(keys), jwt.WithAcceptableSkew(5*time.Second), jwt.WithRequiredClaim("exp"))
	} else {
		checks = append(checks, jwt.WithKeySet(keys, jws.WithInferAlgorithmFromKey(true)))
	}
	http.HandleFunc("/messages", func(w http.ResponseWriter, r *http.Request) {
		token, err := jwt.ParseRequest(r, checks...)
		if err != nil {
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		subject, _ := token.Subject()
		json.NewEncoder(w).Encode(map[string]string{"hello": subject})
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
