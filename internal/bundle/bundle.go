// Package bundle reads and writes the package a compiled model lives in: the library mod.so, TVM's graph JSON mod.json,
// TVM's parameter blob mod.params and the manifest lathe.json, as one uncompressed tar, as the triple
// NAME.so/.json/.params (with NAME.lathe.json), as an unpacked directory, or as a library NAME.so with the other members
// inside, each a section of its name.
//
// Opening maps the files and copies no weights. Every size and count read from a file is compared with the file before
// it is used. The package does not load or run the library, and it imports neither the compiler nor the runtime.
package bundle

import "context"

// Names of the members of a package, as tvmc has them, and Lathe's manifest.
const (
	LibraryName  = "mod.so"
	GraphName    = "mod.json"
	ParamsName   = "mod.params"
	ManifestName = "lathe.json"
)

// members is the order of the members in a tar. The constants are first: they are known before the code that holds their digest.
var members = []string{ParamsName, LibraryName, GraphName, ManifestName}

// Versions that this build writes and reads.
const (
	FormatVersion         = 1 // of lathe.json
	ExternalFormatVersion = 2 // with regions of external code generators
	ABIVersion            = 2 // of the exported run function and its context
)

// Alignment in bytes of every tensor inside mod.params, so that generated code loads whole vectors from the mapping.
const Alignment = 64

// Contents is what a package is written from.
type Contents struct {
	Manifest *Manifest       // Params may be nil: the names are taken from Params below
	Graph    *GraphJSON      // mod.json
	Library  []byte          // mod.so, an ELF shared object
	Params   []Param         // constants, in the order of the pointers the library receives
	Files    []File          // what there is instead in a format that is no package, see WriteFiles
	External [][]byte        // the members of the manifest's external regions
	Complete bool            // the library holds the other members: NAME.so is written alone; objects hold the weights
	Objects  [][]byte        // of a static library, which has no Library
	Runtime  []Text          // that stand beside a static library
	Ctx      context.Context // ends the writing; nil: nothing does
	Draft    *Draft          // that holds the constants already; nil: they are written with the rest

	paramsDigest *uint32 // once it is known
}

// Text is a file of the runtime.
type Text struct {
	Name string
	Data []byte
}
