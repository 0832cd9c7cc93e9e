module lathe/bench

go 1.26.0

replace lathe => ../

require (
	github.com/yalue/onnxruntime_go v1.27.0
	google.golang.org/protobuf v1.36.12
	lathe v0.0.0-00010101000000-000000000000
)

require (
	github.com/ebitengine/purego v0.11.3 // indirect
	golang.org/x/image v0.47.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)
