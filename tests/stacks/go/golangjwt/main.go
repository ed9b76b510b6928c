// golang-jwt with keyfunc, as the README of keyfunc. With SETTINGS, it has every setting that --stack golang-jwt names.
package main

import (
	"encoding/json"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
)

func main() {
	keys, err := keyfunc.NewDefault([]string{os.Getenv("JWKS_URI")})
	if err != nil {
		log.Fatal(err)
	}
	checks := []jwt.ParserOption{jwt.WithValidMethods([]string{"RS256"}), jwt.WithIssuer(os.Getenv("ISSUER")),
		jwt.WithAudience(os.Getenv("AUDIENCE")), jwt.WithExpirationRequired()}
	if os.Getenv("SETTINGS") != "" {
		checks = append(checks, jwt.WithLeeway(5*time.Second))
	}
	http.HandleFunc("/messages", func(w http.ResponseWriter, r *http.Request) {
		text, isBearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		var claims struct{ jwt.RegisteredClaims }
		_, err := jwt.ParseWithClaims(text, &claims, keys.Keyfunc, checks...)
		if !isBearer || err != nil {
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		json.NewEncoder(w).Encode(map[string]string{"hello": claims.Subject})
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
