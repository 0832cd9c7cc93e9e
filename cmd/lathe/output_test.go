package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lathe"
	"lathe/internal/tool/cli"
)

// unwritable returns files with an extension that cannot be written, each for another reason.
func unwritable(t *testing.T, ext string) []string {
	dir := t.TempDir()
	file, folder := filepath.Join(dir, "file"), filepath.Join(dir, "folder"+ext)
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	return []string{filepath.Join(dir, "absent", "x"+ext), filepath.Join(file, "x"+ext), folder, "/proc/x" + ext}
}

// refusedFirst runs a command on a file that does not exist, and wants an error about the output, which comes first.
func refusedFirst(t *testing.T, output string, args ...string) {
	t.Helper()
	_, errs, code := latheCommand(t, args...)
	if code != cli.ExitFailed || !strings.Contains(errs, "writing "+output+": ") || strings.Count(errs, "\n") != 1 {
		t.Errorf("%q: exit code %d, %s", args, code, errs)
	}
}

// Every flag that names a file to write is refused before the command reads anything when the file cannot be written.
func TestUnwritableOutputs(t *testing.T) {
	tried := 0
	for _, cmd := range (&app{&cli.App{}}).root().Commands() {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			_, extensions, ok := cli.Written(f)
			if strings.Contains(f.Usage, "`file`") && strings.Contains(f.Usage, "writ") && !ok {
				t.Errorf("%s --%s writes a file that nothing looks at before", cmd.Name(), f.Name)
			}
			if !ok {
				return
			}
			if extensions == nil {
				extensions = formatEndings()
			}
			for _, ext := range extensions {
				for _, path := range unwritable(t, ext) {
					refusedFirst(t, path, cmd.Name(), "--"+f.Name+"="+path, "absent"+inputOf(cmd))
					tried++
				}
			}
		})
	}
	if tried < 50 {
		t.Errorf("%d files", tried)
	}
}

func formatEndings() []string {
	var endings []string
	for _, f := range lathe.Formats() {
		endings = append(endings, filepath.Ext(f.Output))
	}
	return append(endings, ".so", "")
}

// inputOf is the extension of what a command reads.
func inputOf(cmd *cobra.Command) string {
	if cmd.Name() == "run" || cmd.Name() == "inspect" {
		return ".tar"
	}
	return ".onnx"
}

// So is every file that compile writes beside the one that is named, and the one that it writes when none is.
func TestUnwritableBeside(t *testing.T) {
	for _, ext := range formatEndings() {
		f := &compileFlags{output: "x" + ext, dumpCode: "relay,tir"}
		for _, file := range append(f.written(), f.dumps()...) {
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, file), 0o777); err != nil {
				t.Fatal(err)
			}
			refusedFirst(t, filepath.Join(dir, file), "compile", "-o", filepath.Join(dir, f.output), "--dump-code", f.dumpCode, "absent.onnx")
		}
	}
	t.Chdir("/proc")
	for _, f := range lathe.Formats() {
		refusedFirst(t, f.Output, "compile", "-f", f.Name, "absent.onnx")
	}
}
