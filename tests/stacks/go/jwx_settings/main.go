// lestrrat-go/jwx with every setting that --stack jwx names.
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
	"github.com/lestrrat-go/jwx/v3/jwt"
)

func main() {
	ctx := context.Background()
	client := &http.Client{Timeout: 5 * time.Second}
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
	http.HandleFunc("/messages", func(w http.ResponseWriter, r *http.Request) {
		token, err := jwt.ParseRequest(r, jwt.WithKeySet(keys), jwt.WithIssuer(os.Getenv("ISSUER")),
			jwt.WithAudience(os.Getenv("AUDIENCE")), jwt.WithAcceptableSkew(5*time.Second), jwt.WithRequiredClaim("exp"))
		if err != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		subject, _ := token.Subject()
		json.NewEncoder(w).Encode(map[string]string{"hello": subject})
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
