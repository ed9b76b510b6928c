// auth0/go-jwt-middleware with a caching provider, as its README.
package main

import (
	"encoding/json"
	"log"
	"net/http"
	"net/url"
	"os"
	"time"

	jwtmiddleware "github.com/auth0/go-jwt-middleware/v2"
	"github.com/auth0/go-jwt-middleware/v2/jwks"
	"github.com/auth0/go-jwt-middleware/v2/validator"
)

func main() {
	issuer, err := url.Parse(os.Getenv("ISSUER"))
	if err != nil {
		log.Fatal(err)
	}
	provider := jwks.NewCachingProvider(issuer, 5*time.Minute)
	tokens, err := validator.New(provider.KeyFunc, validator.RS256, issuer.String(), []string{os.Getenv("AUDIENCE")})
	if err != nil {
		log.Fatal(err)
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		claims := r.Context().Value(jwtmiddleware.ContextKey{}).(*validator.ValidatedClaims)
		json.NewEncoder(w).Encode(map[string]string{"hello": claims.RegisteredClaims.Subject})
	})
	http.Handle("/messages", jwtmiddleware.New(tokens.ValidateToken).CheckJWT(handler))
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
