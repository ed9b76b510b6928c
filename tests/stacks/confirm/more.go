package main

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	_ "crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"strings"
)

// Keys that the issuer publishes beside its own, and that verify no access token.
var weak, beside *rsa.PrivateKey

func makeKeys() {
	own, _ = rsa.GenerateKey(rand.Reader, 2048)
	stranger, _ = rsa.GenerateKey(rand.Reader, 2048)
	beside, _ = rsa.GenerateKey(rand.Reader, 2048)
	// crypto/rsa makes no key below 1,024 bits, which is weak enough (RFC 7518 §3.3).
	weak, _ = rsa.GenerateKey(rand.Reader, 1024)
}

func published(key *rsa.PrivateKey, more members) members {
	return merge(members{"kty": "RSA", "use": "sig", "n": encode(key.N.Bytes()), "e": encode(big.NewInt(int64(key.E)).Bytes())}, more)
}

func besides() []members {
	return []members{
		published(weak, members{"kid": "weak"}),
		published(beside, members{"kid": "encrypting", "use": "enc"}),
		published(beside, members{"kid": "wrapping", "use": nil, "key_ops": []string{"wrapKey"}}),
		published(beside, members{"kid": "for-ps256", "alg": "PS256"}),
	}
}

// signedAs is a good token whose header and signature have another algorithm.
func signedAs(alg string, hash crypto.Hash) string {
	head, _ := json.Marshal(members{"alg": alg, "typ": "at+jwt", "kid": kid})
	body, _ := json.Marshal(goodClaims())
	input := encode(head) + "." + encode(body)
	sum := hash.New()
	sum.Write([]byte(input))
	if strings.HasPrefix(alg, "PS") {
		return input + "." + encode(must(rsa.SignPSS(rand.Reader, own, hash, sum.Sum(nil), &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash})))
	}
	return input + "." + encode(must(rsa.SignPKCS1v15(rand.Reader, own, hash, sum.Sum(nil))))
}

// texts is a good token with these changes to the text of its header and of its claims.
func texts(ofHeader, ofClaims func(string) string) string {
	head, _ := json.Marshal(members{"alg": "RS256", "typ": "at+jwt", "kid": kid})
	body, _ := json.Marshal(goodClaims())
	return signed(own, []byte(ofHeader(string(head))), []byte(ofClaims(string(body))))
}

func same(text string) string { return text }

func with(more string) func(string) string {
	return func(text string) string { return strings.TrimSuffix(text, "}") + "," + more + "}" }
}

func always(text string) func(string) string { return func(string) string { return text } }

// spare sets a bit of the last letter of a part that stands for no byte (RFC 4648 §3.5).
func spare(part string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := len(part) - 1
	return part[:last] + string(alphabet[strings.IndexByte(alphabet, part[last])^1])
}

// unaligned adds blanks to the JSON of a part until its encoding has spare bits.
func unaligned(part string) string {
	text := string(must(base64.RawURLEncoding.DecodeString(part)))
	for len(text)%3 == 0 {
		text += " "
	}
	return encode([]byte(text))
}

// more are the statuses of further rows.
func more(good string, found map[string][]int) {
	parts := strings.Split(good, ".")
	bom := "\xef\xbb\xbf"
	for id, statuses := range map[string][]int{
		"alg-ps256":                     each(signedAs("PS256", crypto.SHA256)),
		"alg-ps512":                     each(signedAs("PS512", crypto.SHA512)),
		"alg-rs384":                     each(signedAs("RS384", crypto.SHA384)),
		"alg-rs512":                     each(signedAs("RS512", crypto.SHA512)),
		"key-weak":                      each(token(weak, members{"kid": "weak"}, nil)),
		"key-encrypting":                each(token(beside, members{"kid": "encrypting"}, nil)),
		"key-wrapping":                  each(token(beside, members{"kid": "wrapping"}, nil)),
		"key-other-alg":                 each(token(beside, members{"kid": "for-ps256"}, nil)),
		"audience-null":                 values("aud", json.RawMessage("null")),
		"issuer-type":                   values("iss", 0, true),
		"issuer-case":                   values("iss", strings.ToUpper(issuer)),
		"crit-escaped":                  each(texts(with(`"\u0063rit":["x-y"]`), same)),
		"accepts-unknown-header":        headers("x-note", members{"deep": []int{1}}),
		"header-not-utf8":               each(texts(with("\"x\":\"\xff\""), same)),
		"header-byte-order-mark":        each(texts(func(text string) string { return bom + text }, same)),
		"header-json":                   each(texts(always(`{"alg":"RS256"`), same), texts(always(`"RS256"`), same)),
		"header-repeated-kid":           each(texts(with(`"kid":"other"`), same)),
		"header-repeated-typ":           each(texts(with(`"typ":"other"`), same)),
		"claims-not-utf8":               each(texts(same, with("\"sub\":\"\xff\""))),
		"claims-byte-order-mark":        each(texts(same, func(text string) string { return bom + text })),
		"claims-more-behind":            each(texts(same, func(text string) string { return text + "{}" })),
		"encoding-spare-bits-header":    each(signedParts(spare(unaligned(parts[0])), parts[1])),
		"encoding-spare-bits-payload":   each(signedParts(parts[0], spare(unaligned(parts[1])))),
		"encoding-spare-bits-signature": each(parts[0] + "." + parts[1] + "." + spare(parts[2])),
		"credentials-second-token":      lines("Authorization: Bearer "+good+","+token(stranger, nil, nil), "Authorization: Bearer "+token(stranger, nil, nil)+","+good),
		"challenge-status-no-token":     {send("Accept: */*")},
		"challenge-status-bad-token":    each("e30.e30.e30"),
		"challenge-status-expired":      each(claims(members{"exp": 1})),
		"challenge-invalid-request":     each("a b"),
		"text-opaque":                   each("opaque.too", ".", "a", "null"),
		"text-dots":                     each("..", strings.Repeat(".", 4000), "eyJ", "a.b.c"),
		"scheme-basic":                  lines("Authorization: Basic "+good, "Authorization: Basic "+base64.StdEncoding.EncodeToString([]byte("user:"+good))),
	} {
		found[id] = statuses
	}
}
