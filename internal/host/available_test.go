package host

import (
	"math"
	"strings"
	"testing"
	"testing/fstest"
)

func TestAvailableMemory(t *testing.T) {
	const meminfo = "MemTotal:       24000 kB\nMemFree:         1000 kB\nMemAvailable:   20000 kB\n"
	for _, c := range []struct {
		name   string
		files  map[string]string
		bytes  int64
		source string
	}{
		{"no group", map[string]string{"proc/meminfo": meminfo}, 20000 << 10, "MemAvailable of /proc/meminfo"},
		{"v2 unlimited", map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n", "sys/fs/cgroup/memory.current": "5\n"},
			20000 << 10, "MemAvailable of /proc/meminfo"},
		{"v2", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n",
			"sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/b/memory.current": "1\n",
			"sys/fs/cgroup/a/memory.max": "1000000\n", "sys/fs/cgroup/a/memory.current": "700000\n",
			"sys/fs/cgroup/a/memory.stat": "anon 1\ninactive_file 100000\nactive_file 7\n",
		}, 400000, "/sys/fs/cgroup/a/memory.max"},
		{"v2 full", map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "10\n", "sys/fs/cgroup/memory.current": "11\n"},
			0, "/sys/fs/cgroup/memory.max"},
		{"v2 wide", map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "90000000000\n", "sys/fs/cgroup/memory.current": "11\n"},
			20000 << 10, "MemAvailable of /proc/meminfo"},
		{"v1, in a container that does not see its path", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "5:memory:/docker/x\n4:cpu,cpuacct:/docker/x\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "5000\n", "sys/fs/cgroup/memory/memory.usage_in_bytes": "3000\n",
			"sys/fs/cgroup/memory/memory.stat": "inactive_file 9\ntotal_inactive_file 500\n",
		}, 2500, "/sys/fs/cgroup/memory/memory.limit_in_bytes"},
		{"v1 unlimited", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "5:memory:/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n", "sys/fs/cgroup/memory/memory.usage_in_bytes": "3000\n",
		}, 20000 << 10, "MemAvailable of /proc/meminfo"},
	} {
		root := fstest.MapFS{}
		for name, text := range c.files {
			root[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if bytes, source := availableMemory(root); bytes != c.bytes || source != c.source {
			t.Errorf("%s: %d by %s, want %d by %s", c.name, bytes, source, c.bytes, c.source)
		}
	}
	if bytes, source := availableMemory(fstest.MapFS{}); bytes < 64<<20 || bytes > 1<<46 || source != "the machine's memory" {
		t.Errorf("without /proc: %d by %s", bytes, source)
	}
}

func TestCheckMemory(t *testing.T) {
	if err := CheckMemory("the run", 1, ""); err != nil {
		t.Error(err)
	}
	err := CheckMemory("the run", math.MaxInt64, "work space 1 B")
	if err == nil || !strings.Contains(err.Error(), "the run needs 8589934592.0 GiB of memory (work space 1 B), and ") || strings.Contains(err.Error(), "\n") {
		t.Error(err)
	}
}
