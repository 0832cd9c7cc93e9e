package main

import (
	"bytes"
	"strings"
	"testing"

	"lathe/internal/testkit/golden"
	"lathe/internal/tool/cli"
	"lathe/internal/tool/version"
)

func typed(t *testing.T, line string) (out, errs string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	code = execute(t.Context(), &cli.App{Name: name, Out: &o, Err: &e}, strings.Fields(line))
	return o.String(), e.String(), code
}

func TestHelp(t *testing.T) {
	out, errs, code := typed(t, "--help")
	if code != cli.ExitOK || errs != "" {
		t.Fatalf("exit code %d, %s", code, errs)
	}
	golden.Check(t, "help", []byte(out))
}

func TestVersion(t *testing.T) {
	out, errs, code := typed(t, "--version")
	if code != cli.ExitOK || errs != "" || !strings.HasPrefix(out, "lathe-run "+version.Number) {
		t.Errorf("exit code %d, printed %q and %q", code, out, errs)
	}
}

// Flags and errors are those of 'lathe run', with the name of this program.
func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		line string
		code int
		want string
	}{
		{"", cli.ExitUsage, "lathe-run: the package is missing\nlathe-run: 'lathe-run --help' lists the flags\n"},
		{"--version a.tar", cli.ExitUsage, "takes no arguments"},
		{"a.tar b.tar", cli.ExitUsage, "one package is wanted, there are 2"},
		{"--fill noise a.tar", cli.ExitUsage, "choose from zeros, ones, random"},
		{"--inputz x a.tar", cli.ExitUsage, "unknown flag --inputz; did you mean --inputs?"},
		{"--rpc-key k a.tar", cli.ExitFailed, "lathe-run: flag --rpc-key is not supported yet\n"},
		{"--prin --rep 3 absent.tar", cli.ExitUsage, "ambiguous flag --prin"},
		{"--print-ti --rep 3 absent.tar", cli.ExitFailed, "lathe-run: package absent.tar: no such file\n"},
	} {
		out, errs, code := typed(t, c.line)
		if code != c.code || out != "" || !strings.Contains(errs, c.want) {
			t.Errorf("%s: exit code %d, printed %q and %q; want %d and %q", c.line, code, out, errs, c.code, c.want)
		}
	}
}
