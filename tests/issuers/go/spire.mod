module test

go 1.26

tool (
	github.com/spiffe/spire/cmd/spire-agent
	github.com/spiffe/spire/cmd/spire-server
	github.com/spiffe/spire/support/oidc-discovery-provider
)

require github.com/spiffe/spire v1.13.3
