module lathe

go 1.26.0

require (
	github.com/ebitengine/purego v0.11.3
	golang.org/x/sys v0.49.0
	google.golang.org/protobuf v1.36.12
)
