package host

import (
	"io/fs"
	"os"
	"strings"
)

// HugePages reports whether the system gives memory in huge pages to those who ask for them.
func HugePages() bool { return hugePages(os.DirFS("/")) }

func hugePages(root fs.FS) bool {
	b, err := fs.ReadFile(root, "sys/kernel/mm/transparent_hugepage/enabled")
	return err == nil && !strings.Contains(string(b), "[never]")
}
