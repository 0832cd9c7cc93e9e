// Package version is the version of Lathe.
package version

import "runtime/debug"

// Number is recorded in packages.
const Number = "0.1.0"

// Text is the version with the commit it was built from, where that is known.
func Text() string {
	b, ok := debug.ReadBuildInfo()
	if !ok {
		return Number
	}
	for _, kv := range b.Settings {
		if kv.Key == "vcs.revision" && len(kv.Value) >= 12 {
			return Number + " (" + kv.Value[:12] + ")"
		}
	}
	return Number
}
