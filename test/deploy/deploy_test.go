// Package deploy tests the ways to deploy a compiled model: each with the tools of its users, which need not be installed
// where Lathe is built.
package deploy

import (
	"os"
	"os/exec"
	"testing"
)

// root is the folder of the repository.
const root = "../.."

// tool returns the path of a program. Where it is not installed the test is skipped, unless LATHE_DEPLOY says that
// everything is there.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
	case os.Getenv("LATHE_DEPLOY") != "":
		t.Fatalf("%s is not installed (scripts/install-test-deps.sh installs what these tests need)", name)
	default:
		t.Skipf("%s is not installed", name)
	}
	return path
}

// long skips a test that takes minutes, except in 'make deploytest'.
func long(t *testing.T) {
	t.Helper()
	if os.Getenv("LATHE_DEPLOY") == "" {
		t.Skip("takes minutes: 'make deploytest' runs it")
	}
}

// output runs a program and returns what it printed. It fails the test where the program fails.
func output(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	b, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", c, err, b)
	}
	return string(b)
}
