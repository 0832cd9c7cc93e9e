package host

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"lathe/internal/bundle"
)

// AvailableMemory returns how many bytes this process can take, and who says so: what the kernel has left or can free, or what
// a control group leaves where that is less. Without /proc it is all of the machine's memory.
func AvailableMemory() (bytes int64, source string) { return availableMemory(os.DirFS("/")) }

func availableMemory(root fs.FS) (bytes int64, source string) {
	bytes, source = math.MaxInt64, "unlimited"
	if n, ok := fieldOf(root, "proc/meminfo", "MemAvailable:"); ok && n <= math.MaxInt64/1024 {
		bytes, source = n*1024, "MemAvailable of /proc/meminfo"
	} else if info := (unix.Sysinfo_t{}); unix.Sysinfo(&info) == nil {
		bytes, source = int64(info.Totalram)*int64(info.Unit), "the machine's memory"
	}
	controlGroups(root, "memory", func(dir string, v2 bool) {
		files := groupFilesV1
		if v2 {
			files = groupFilesV2
		}
		limit, ok1 := numberIn(root, dir+"/"+files.limit)
		used, ok2 := numberIn(root, dir+"/"+files.used)
		if !ok1 || !ok2 {
			return
		}
		cached, _ := fieldOf(root, dir+"/memory.stat", files.cached) // it is taken back before anything is killed
		if left := max(limit-max(used-cached, 0), 0); left < bytes {
			bytes, source = left, "/"+dir+"/"+files.limit
		}
	})
	return bytes, source
}

// groupFiles are the names by which a control group tells its limit, what it uses, and the files that it could forget.
type groupFiles struct{ limit, used, cached string }

var (
	groupFilesV1 = groupFiles{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"}
	groupFilesV2 = groupFiles{"memory.max", "memory.current", "inactive_file"}
)

// numberIn reads a file that holds one number; without a limit it holds the word max, or a number beyond any memory.
func numberIn(root fs.FS, name string) (int64, bool) {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return n, err == nil && n >= 0
}

// fieldOf reads the number behind a word at the beginning of a line.
func fieldOf(root fs.FS, name, word string) (int64, bool) {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == word {
			n, err := strconv.ParseInt(f[1], 10, 64)
			return n, err == nil && n >= 0
		}
	}
	return 0, false
}

// CheckMemory is an error when this machine does not have the memory that something takes, which detail divides. Memory that is
// only asked for is given by the kernel all the same, and the process ends without a word once it is touched.
func CheckMemory(what string, bytes int64, detail string) error {
	available, source := AvailableMemory()
	if bytes <= available {
		return nil
	}
	return fmt.Errorf("%s needs %s of memory (%s), and %s are available (%s): give the model smaller shapes or a smaller batch, or take a machine with more",
		what, bundle.SizeText(bytes), detail, bundle.SizeText(available), source)
}
