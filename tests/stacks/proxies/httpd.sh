# Starts Apache with what its configuration names: a folder to serve, and the name of the issuer's key.
set -e
STATE=$(mktemp -d)
KEY_ID=$(curl -s "$JWKS_URI" | grep -o '"kid":"[^"]*' | head -1 | cut -d'"' -f4)
export STATE KEY_ID
chmod 755 "$STATE"
printf '{"hello":"messages"}' > "$STATE/messages"
exec apache2 -DFOREGROUND -f "$PWD/httpd.conf"
