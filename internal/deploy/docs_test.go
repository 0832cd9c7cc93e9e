package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// block is a fenced block of a page.
type block struct {
	language, text string
	line           int
}

// blocks returns the fenced blocks of a page in order.
func blocks(page string) []block {
	var list []block
	var b *block
	for i, line := range strings.Split(page, "\n") {
		fence, language := strings.CutPrefix(line, "```")
		switch {
		case b == nil && language:
			b = &block{language: fence, line: i + 1}
		case b == nil:
		case line == "```":
			list, b = append(list, *b), nil
		default:
			b.text += line + "\n"
		}
	}
	return list
}

// TestDeployDocs runs what docs/deploy-*.md and docs/shapes.md show: a block whose first line is a comment "file: NAME" is written to NAME, and
// the shell's blocks run in order, each as one script that ends at its first error, in one folder with the files of
// examples/demo and examples/shapes, with lathe in the PATH and this repository in LATHE_SOURCE.
func TestDeployDocs(t *testing.T) {
	long(t)
	bin := t.TempDir()
	output(t, exec.Command("go", "build", "-o", filepath.Join(bin, "lathe"), root+"/cmd/lathe"))
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
			for _, b := range blocks(string(readFile(t, page))) {
				first, _, _ := strings.Cut(b.text, "\n")
				if _, name, ok := strings.Cut(first, "file: "); ok && b.language != "sh" {
					name = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(name), "*/"))
					writeFile(t, filepath.Join(dir, name), []byte(b.text))
				}
				if b.language != "sh" {
					continue
				}
				c := exec.Command("bash", "-euo", "pipefail", "-c", b.text)
				c.Dir = dir
				c.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "LATHE_SOURCE="+source)
				out, err := c.CombinedOutput()
				if err != nil {
					t.Fatalf("%s:%d: %v\n%s\n%s", page, b.line, err, b.text, out)
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
