// A second program that tries an API: an issuer and raw requests of its own, and no code of the probe. It prints, for
// each row that it knows, the statuses of what it sent. A cell of the comparison that accuses a stack needs its word.
package main

import (
	"bufio"
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

type members map[string]any

var (
	own, stranger *rsa.PrivateKey
	issuer        string
	audience      = "https://api.example.com"
	broken        atomic.Value
	port          = flag.String("port", "", "where the API listens")
	path          = flag.String("path", "/messages", "what requires a token")
)

const kid = "own"

func encode(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }

// merge returns the good members with changes; nil removes one.
func merge(good, change members) members {
	all := members{}
	for name, value := range good {
		all[name] = value
	}
	for name, value := range change {
		if value == nil {
			delete(all, name)
		} else {
			all[name] = value
		}
	}
	return all
}

func goodClaims() members {
	now := time.Now().Unix()
	return members{"iss": issuer, "aud": audience, "sub": "someone", "client_id": "probe", "iat": now, "exp": now + 3600, "jti": rand.Text()}
}

func signed(key *rsa.PrivateKey, header, payload []byte) string {
	input := encode(header) + "." + encode(payload)
	sum := sha256.Sum256([]byte(input))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		panic(err)
	}
	return input + "." + encode(signature)
}

func token(key *rsa.PrivateKey, header, claims members) string {
	head, _ := json.Marshal(merge(members{"alg": "RS256", "typ": "at+jwt", "kid": kid}, header))
	body, _ := json.Marshal(merge(goodClaims(), claims))
	return signed(key, head, body)
}

func claims(change members) string { return token(own, nil, change) }
func header(change members) string { return token(own, change, nil) }

// raw is a token whose payload is the good one with more text at its end.
func raw(more string) string {
	head, _ := json.Marshal(members{"alg": "RS256", "typ": "at+jwt", "kid": kid})
	body, _ := json.Marshal(goodClaims())
	return signed(own, head, []byte(strings.TrimSuffix(string(body), "}")+more))
}

func unsigned(alg string) string {
	head, _ := json.Marshal(members{"alg": alg, "typ": "at+jwt", "kid": kid})
	body, _ := json.Marshal(goodClaims())
	return encode(head) + "." + encode(body) + "."
}

func hmacOf(secret []byte) string {
	head, _ := json.Marshal(members{"alg": "HS256", "typ": "at+jwt", "kid": kid})
	body, _ := json.Marshal(goodClaims())
	input := encode(head) + "." + encode(body)
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(input))
	return input + "." + encode(mac.Sum(nil))
}

// send writes one request as it is, and returns its status, 0 if there is none.
func send(lines ...string) int { return sendTo(*path, lines...) }

func sendTo(target string, lines ...string) int {
	connection, err := net.DialTimeout("tcp", "127.0.0.1:"+*port, 2*time.Second)
	if err != nil {
		return 0
	}
	defer connection.Close()
	connection.SetDeadline(time.Now().Add(10 * time.Second))
	fmt.Fprintf(connection, "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nConnection: close\r\n%s\r\n\r\n", target, *port, strings.Join(lines, "\r\n"))
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		return 0
	}
	io.Copy(io.Discard, io.LimitReader(response.Body, 1<<16))
	return response.StatusCode
}

func bearer(text string) int { return send("Authorization: Bearer " + text) }

func serve(isPlain bool) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	issuer = "http://" + listener.Addr().String() + "/"
	keys := []members{published(own, members{"kid": kid, "alg": "RS256"})}
	if !isPlain {
		keys = append(keys, besides()...)
	}
	go http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "jwks.json") {
			if text, _ := broken.Load().(string); text != "" {
				fmt.Fprint(w, text)
				return
			}
			json.NewEncoder(w).Encode(members{"keys": keys})
			return
		}
		json.NewEncoder(w).Encode(members{"issuer": issuer, "jwks_uri": issuer + ".well-known/jwks.json", "response_types_supported": []string{}, "subject_types_supported": []string{"public"}, "id_token_signing_alg_values_supported": []string{"RS256"}, "authorization_endpoint": issuer + "authorize"})
	}))
}

func main() {
	start := flag.String("start", "", "the command of the API")
	plain := flag.Bool("plain", false, "publish no keys beside the issuer's own")
	flag.Parse()
	makeKeys()
	serve(*plain)
	der, _ := x509.MarshalPKIXPublicKey(&own.PublicKey)
	file, _ := os.CreateTemp("", "confirm-*.pem")
	defer os.Remove(file.Name())
	pem.Encode(file, &pem.Block{Type: "PUBLIC KEY", Bytes: der})
	file.Close()
	command := exec.Command("/bin/sh", "-c", *start)
	command.Env = append(os.Environ(), "ISSUER="+issuer, "AUDIENCE="+audience, "JWKS_URI="+issuer+".well-known/jwks.json", "PUBLIC_KEY_FILE="+file.Name())
	command.Stdout, command.Stderr = os.Stderr, os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		panic(err)
	}
	defer syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
	for end := time.Now().Add(2 * time.Minute); bearer(claims(nil)) != 200; time.Sleep(300 * time.Millisecond) {
		if time.Now().After(end) {
			fmt.Fprintln(os.Stderr, "the API does not accept a good token")
			return
		}
	}
	json.NewEncoder(os.Stdout).Encode(tried())
}
