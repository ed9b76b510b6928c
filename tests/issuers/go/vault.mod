module test

go 1.26

tool github.com/hashicorp/vault

require github.com/hashicorp/vault v1.21.4

// As its own go.mod has them, which does not count here.
replace (
	github.com/99designs/keyring => github.com/Jeffail/keyring v1.2.3
	github.com/ma314smith/signedxml v1.1.1 => github.com/moov-io/signedxml v1.1.1
)
