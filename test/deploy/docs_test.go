package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lathe/internal/tool/markdown"
)

// TestDeployDocs runs what docs/deploy-*.md and docs/shapes.md show: a block whose first line is a comment "file: NAME" is written to NAME, and
// the shell's blocks run in order, each as one script that ends at its first error, in one folder with the files of
// examples/demo and examples/shapes, with lathe in the PATH and this repository in LATHE_SOURCE.
func TestDeployDocs(t *testing.T) {
	long(t)
	bin := buildLathe(t)
	source, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(root + "/docs/deploy-*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	pages = append(pages, root+"/docs/shapes.md")
	for _, page := range pages {
		t.Run(filepath.Base(page), func(t *testing.T) {
			dir := t.TempDir()
			for _, from := range []string{"/examples/demo", "/examples/shapes"} {
				if err := os.CopyFS(dir, os.DirFS(root+from)); err != nil {
					t.Fatal(err)
				}
			}
			ran := 0
			for _, b := range markdown.Blocks(string(readFile(t, page))) {
				first, _, _ := strings.Cut(b.Text, "\n")
				if _, name, ok := strings.Cut(first, "file: "); ok && b.Language != "sh" {
					name = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(name), "*/"))
					writeFile(t, filepath.Join(dir, name), []byte(b.Text))
				}
				if b.Language != "sh" {
					continue
				}
				c := exec.Command("bash", "-euo", "pipefail", "-c", b.Text)
				c.Dir = dir
				c.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "LATHE_SOURCE="+source)
				out, err := c.CombinedOutput()
				if err != nil {
					t.Fatalf("%s:%d: %v\n%s\n%s", page, b.Line, err, b.Text, out)
				}
				t.Logf("%s", out)
				ran++
			}
			if ran == 0 {
				t.Error("the page has no commands")
			}
		})
	}
}

// buildLathe returns a folder with lathe.
func buildLathe(t *testing.T) string {
	t.Helper()
	bin := t.TempDir()
	output(t, exec.Command("go", "build", "-o", filepath.Join(bin, "lathe"), root+"/cmd/lathe"))
	return bin
}

// TestDeployCppPage runs examples/cpp/README.md as it is typed, in a copy of this repository's folders, and compares what it
// shows of the output. A network for ImageNet is not fetched: the demo network stands in for it, with its picture and labels.
func TestDeployCppPage(t *testing.T) {
	long(t)
	tool(t, "cmake")
	bin, copied := buildLathe(t), t.TempDir()
	for _, folder := range []string{"include", "src", "examples/cpp", "examples/demo"} {
		if err := os.CopyFS(filepath.Join(copied, folder), os.DirFS(filepath.Join(root, folder))); err != nil {
			t.Fatal(err)
		}
	}
	dir, demo := filepath.Join(copied, "examples/cpp"), root+"/examples/demo/"
	for name, from := range map[string]string{"squeezenet1.1-7.onnx": "digits.onnx", "cat.png": "sample.png", "synset.txt": "labels.txt"} {
		writeFile(t, filepath.Join(dir, name), readFile(t, demo+from))
	}
	printed, compared := "", 0
	for _, b := range markdown.Blocks(string(readFile(t, root+"/examples/cpp/README.md"))) {
		if strings.HasPrefix(b.Text, "Original image") {
			sameReport(t, strings.ReplaceAll(printed, " \n", "\n"), b.Text)
			compared++
			continue
		}
		for _, command := range b.Commands() {
			if strings.HasPrefix(command, "apt-get") || strings.HasPrefix(command, "curl") {
				continue
			}
			c := exec.Command("bash", "-euo", "pipefail", "-c", command)
			c.Dir = dir
			c.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
			printed = output(t, c)
		}
	}
	if compared == 0 {
		t.Error("no output was compared")
	}
}
