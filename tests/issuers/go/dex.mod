module test

go 1.26

tool github.com/dexidp/dex/cmd/dex

// No release since 2.13.0 can be had by its version. Both are the state of 2026-08-06.
require (
	github.com/dexidp/dex v0.0.0-20260806151424-ab64ed778070
	github.com/dexidp/dex/api/v2 v2.4.1-0.20260806151424-ab64ed778070
)
