package main

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"strings"
	"time"
)

const other = "https://other.invalid/"

// each sends tokens, and returns the statuses.
func each(tokens ...string) []int {
	statuses := []int{}
	for _, text := range tokens {
		statuses = append(statuses, bearer(text))
	}
	return statuses
}

func values(name string, all ...any) []int {
	statuses := []int{}
	for _, value := range all {
		statuses = append(statuses, bearer(claims(members{name: value})))
	}
	return statuses
}

// expiring sends a token that was issued an hour before it expires.
func expiring(at float64) []int {
	return each(claims(members{"exp": at, "iat": int64(at) - 3600}))
}

func headers(name string, all ...any) []int {
	statuses := []int{}
	for _, value := range all {
		statuses = append(statuses, bearer(header(members{name: value})))
	}
	return statuses
}

func lines(all ...string) []int {
	statuses := []int{}
	for _, line := range all {
		statuses = append(statuses, send(line))
	}
	return statuses
}

// tried returns the statuses of each row that this program knows, by the ID of the row.
func tried() map[string][]int {
	now := time.Now().Unix()
	good := claims(nil)
	parts := strings.Split(good, ".")
	der, _ := x509.MarshalPKIXPublicKey(&own.PublicKey)
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	padded := base64.URLEncoding.EncodeToString(must(base64.RawURLEncoding.DecodeString(parts[2])))
	found := map[string][]int{
		"control":                       each(good),
		"none-empty-signature":          each(unsigned("none")),
		"hmac-pem":                      each(hmacOf(public)),
		"hmac-empty":                    each(hmacOf(nil)),
		"signature-stranger":            each(token(stranger, nil, nil)),
		"altered-two-parts":             each(parts[0] + "." + parts[1]),
		"issuer-other":                  values("iss", other, issuer+"elsewhere"),
		"issuer-missing":                each(claims(members{"iss": nil}), claims(members{"iss": ""})),
		"issuer-list":                   values("iss", []string{issuer}, []string{other, issuer}),
		"issuer-object":                 values("iss", members{issuer: true}),
		"audience-other":                values("aud", "other", other),
		"audience-other-list":           values("aud", []string{"other"}, []string{other, "x"}),
		"audience-missing":              each(claims(members{"aud": nil})),
		"audience-empty":                values("aud", "", []string{}),
		"audience-prefix":               values("aud", audience[:len(audience)-1]),
		"audience-longer":               values("aud", audience+"x", audience+"/"),
		"audience-mixed":                values("aud", []any{audience, 1}, []any{nil, audience}),
		"audience-nested":               values("aud", [][]string{{audience}}),
		"audience-object":               values("aud", members{"0": audience, "length": 1}, members{audience: true}),
		"audience-number":               values("aud", 0),
		"audience-repeated":             each(raw(`,"aud":"other"}`)),
		"issuer-repeated":               each(raw(`,"iss":"other"}`)),
		"expiry-repeated":               each(raw(`,"exp":1}`)),
		"expiry-past":                   expiring(float64(now - 3600)),
		"expiry-long-past":              values("exp", 0, 1, -1),
		"expiry-five-minutes":           expiring(float64(now - 360)),
		"expiry-fraction":               expiring(float64(now) - 3600 + 0.0001),
		"expiry-now":                    expiring(float64(time.Now().Unix())),
		"notbefore-hour":                values("nbf", now+3600),
		"notbefore-six-minutes":         values("nbf", now+360),
		"notbefore-minute":              each(claims(members{"nbf": time.Now().Unix() + 60})),
		"notbefore-never":               values("nbf", 1e308),
		"claims-exp-missing":            each(claims(members{"exp": nil})),
		"claims-exp-text":               values("exp", "", "9999999999"),
		"claims-exp-type":               append(each(raw(`,"exp":null}`)), values("exp", true, []int{9999999999}, members{})...),
		"claims-exp-infinite":           each(raw(`,"exp":1e400}`), raw(`,"exp":-1e400}`)),
		"claims-nbf-infinite":           each(raw(`,"nbf":1e400}`), raw(`,"nbf":-1e400}`)),
		"claims-nbf-text":               values("nbf", "", "0", "9999999999"),
		"claims-nbf-type":               values("nbf", false, []int{0}, members{}),
		"claims-iat-type":               values("iat", "0", []int{}, members{}),
		"claims-sub-type":               values("sub", 1, []string{"a"}, members{}),
		"claims-client-id-type":         values("client_id", 1, []string{"a"}),
		"accepts-no-iat":                each(claims(members{"iat": nil})),
		"accepts-aud-list":              values("aud", []string{audience}, []string{other, audience}),
		"accepts-exp-fraction":          values("exp", float64(now)+3600.5),
		"accepts-nbf-past":              values("nbf", 1),
		"accepts-typ-any-case":          headers("typ", "at+jwt", "AT+JWT", "application/at+jwt", "Application/AT+JWT"),
		"crit-unknown":                  each(header(members{"crit": []string{"x-policy"}, "x-policy": "mfa"})),
		"crit-b64":                      each(header(members{"crit": []string{"b64"}, "b64": false})),
		"crit-absent":                   headers("crit", []string{"absent"}),
		"crit-standard":                 headers("crit", []string{"alg"}, []string{"exp", "exp"}),
		"crit-malformed":                headers("crit", []string{}, []int{1}, "exp", members{}),
		"type-logout":                   headers("typ", "logout+jwt", "application/logout+jwt"),
		"type-id":                       headers("typ", "id+jwt"),
		"type-dpop":                     headers("typ", "dpop+jwt"),
		"type-event":                    headers("typ", "secevent+jwt"),
		"type-introspection":            headers("typ", "token-introspection+jwt"),
		"type-request":                  headers("typ", "oauth-authz-req+jwt"),
		"type-unlike":                   headers("typ", "JWS", " JWT", "", "at+jwt; charset=utf-8"),
		"kind-id-typ":                   append(values("typ", "ID"), values("token_type", "id_token")...),
		"kind-offline-token":            values("typ", "Offline"),
		"kind-refresh-token":            append(values("typ", "Refresh"), values("token_use", "refresh")...),
		"kind-id-token-use":             each(token(own, members{"typ": "JWT"}, members{"token_use": "id", "nonce": "n", "at_hash": "AAAA"})),
		"kind-logout-token":             each(token(own, members{"typ": nil}, members{"events": members{"http://schemas.openid.net/event/backchannel-logout": members{}}, "sid": "s"})),
		"bound-key":                     values("cnf", members{"jkt": "x"}),
		"bound-certificate":             values("cnf", members{"x5t#S256": "x"}),
		"bound-other":                   values("cnf", members{"jwk": members{}}, members{}),
		"kid-unknown":                   headers("kid", "never-published"),
		"kid-type":                      headers("kid", 0, true, members{}, []string{kid}),
		"encoding-padded-signature":     each(parts[0] + "." + parts[1] + "." + padded),
		"encoding-quotes":               each(`"` + good + `"`),
		"encoding-other-characters":     each(good+",", good+"!!!!", parts[0]+"."+parts[1]+"."+parts[2][:9]+"!@$%"+parts[2][9:]),
		"scheme-any-case":               lines("Authorization: bEaReR " + good),
		"scheme-spaces":                 lines("Authorization: Bearer   " + good),
		"scheme-none":                   lines("Authorization: " + good),
		"scheme-other":                  lines("Authorization: Token "+good, "Authorization: JWT "+good),
		"scheme-dpop":                   lines("Authorization: DPoP " + good),
		"scheme-beyond-ascii":           lines("Authorization: Bearer\u00a0"+good, "Authorization: Bearer\xa0"+good),
		"credentials-word-behind":       lines("Authorization: Bearer "+good+" x", "Authorization: Bearer\t"+good+"\tx"),
		"credentials-twice":             lines("Authorization: Bearer "+good+" "+good, "Authorization: Bearer "+good+","+good),
		"credentials-two-headers":       {send("Authorization: Bearer "+good, "Authorization: Bearer "+good)},
		"credentials-two-headers-bad":   {send("Authorization: Bearer "+good, "Authorization: Bearer e30.e30.e30"), send("Authorization: Bearer e30.e30.e30", "Authorization: Bearer "+good)},
		"credentials-two-headers-basic": {send("Authorization: Bearer "+good, "Authorization: Basic dTpw"), send("Authorization: Basic dTpw", "Authorization: Bearer "+good)},
		"elsewhere-query":               {sendTo(*path+"?access_token="+good, "Accept: */*")},
		"elsewhere-cookie":              lines("Cookie: access_token=" + good),
		"claims-nested":                 each(nested(good)),
		"error-json":                    each("eyJ.eyJ.AAAA", "bm8.bm8.bm8", "bnVsbA.bnVsbA.AAAA", "W10.W10.AAAA"),
		"error-garbage":                 each("x", "..", "a.b.c", "__proto__", "%00"),
		"error-algorithm":               headers("alg", []string{"RS256"}, members{}, 1, "__proto__"),
		"error-kid":                     headers("kid", "", 0, members{}, "__proto__", strings.Repeat("k", 2000)),
		"error-claims":                  {bearer(claims(members{"exp": members{}})), bearer(claims(members{"iss": []string{"x"}})), bearer(claims(members{"sub": 1})), bearer(claims(members{"sub": members{}}))},
	}
	found["text-flattened"] = each(`{"protected":"` + parts[0] + `","payload":"` + parts[1] + `","signature":"` + parts[2] + `"}`)
	found["text-general"] = each(`{"payload":"` + parts[1] + `","signatures":[{"protected":"` + parts[0] + `","signature":"` + parts[2] + `"}]}`)
	found["type-value"] = append(each(token(own, members{"typ": json.RawMessage("null")}, nil)), headers("typ", 1, []string{"JWT"})...)
	found["encoding-padded-header"] = each(signedParts(padEnd(parts[0]), parts[1]))
	found["encoding-padded-payload"] = each(signedParts(parts[0], padEnd(parts[1])))
	more(good, found)
	// Last, because a client may keep what it reads now.
	broken.Store(`{"keys":[null,{"kty":1}]}`)
	bearer(header(members{"kid": "new-" + kid}))
	found["fetch-malformed"] = each(claims(nil))
	broken.Store("")
	return found
}

func nested(good string) string {
	head := []byte(`{"alg":"RS256","typ":"at+jwt","kid":"` + kid + `"}`)
	return signed(own, head, []byte(good))
}

// padEnd adds a blank to the JSON of a part until its encoding has padding, and then the padding.
func padEnd(part string) string {
	text := string(must(base64.RawURLEncoding.DecodeString(part)))
	for len(text)%3 == 0 {
		text += " "
	}
	return base64.URLEncoding.EncodeToString([]byte(text))
}

func signedParts(header, payload string) string {
	input := header + "." + payload
	sum := sha256.Sum256([]byte(input))
	return input + "." + encode(must(rsa.SignPKCS1v15(rand.Reader, own, crypto.SHA256, sum[:])))
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return data
}
