package deploy

import (
	"os/exec"
	"testing"
)

// TestC uses the whole interface of the C runtime.
func TestC(t *testing.T) {
	output(t, exec.Command(buildRuntime(t, "api.c"), fixtureFolder(t)))
}

// TestDeployC does so with condition variables in place of futexes, and under tools that see wrong uses of memory, undefined
// behaviour and races. Some of these do not follow a fork.
func TestDeployC(t *testing.T) {
	long(t)
	dir := fixtureFolder(t)
	for name, flags := range map[string][]string{
		"condvar": {"-DLATHE_NO_FUTEX"},
		"address": {"-fsanitize=address,undefined", "-fno-sanitize-recover=all"},
		"thread":  {"-fsanitize=thread"},
		"both":    {"-fsanitize=thread", "-DLATHE_NO_FUTEX"},
	} {
		t.Run(name, func(t *testing.T) {
			output(t, exec.Command(buildRuntime(t, "api.c", flags...), dir, "no fork"))
		})
	}
	t.Run("valgrind", func(t *testing.T) {
		output(t, exec.Command(tool(t, "valgrind"), "-q", "--error-exitcode=9", "--leak-check=full", buildRuntime(t, "api.c"), dir, "no fork"))
	})
}
