package host

import (
	"math"
	"testing"
	"testing/fstest"
)

func files(contents map[string]string) fstest.MapFS {
	fs := make(fstest.MapFS)
	for name, text := range contents {
		fs[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fs
}

func TestCPUQuota(t *testing.T) {
	for _, c := range []struct {
		name string
		fs   map[string]string
		want int
	}{
		{"none", nil, math.MaxInt},
		{"v2 unlimited", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"}, math.MaxInt},
		{"v2 container", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "150000 100000\n"}, 2},
		{"v2 parent", map[string]string{
			"proc/self/cgroup":              "0::/a/b\n",
			"sys/fs/cgroup/a/b/cpu.max":     "800000 100000\n",
			"sys/fs/cgroup/a/cpu.max":       "300000 100000\n",
			"sys/fs/cgroup/other/cpu.max":   "100000 100000\n",
			"sys/fs/cgroup/cpu.max.ignored": "1 1",
		}, 3},
		{"v1", map[string]string{
			"proc/self/cgroup": "5:memory:/docker/x\n4:cpu,cpuacct:/docker/x\n",
			"sys/fs/cgroup/cpu/docker/x/cpu.cfs_quota_us":  "50000\n",
			"sys/fs/cgroup/cpu/docker/x/cpu.cfs_period_us": "100000\n",
		}, 1},
		{"v1 in its container", map[string]string{
			"proc/self/cgroup":                    "4:cpuacct,cpu:/docker/x\n",
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us":  "400000\n",
			"sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
		}, 4},
		{"v1 unlimited", map[string]string{
			"proc/self/cgroup":                    "4:cpu:/\n",
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us":  "-1\n",
			"sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
		}, math.MaxInt},
		{"nonsense", map[string]string{"proc/self/cgroup": "0::/../..\nx\n", "sys/fs/cgroup/cpu.max": "many few\n"}, math.MaxInt},
	} {
		if got := cpuQuota(files(c.fs)); got != c.want {
			t.Errorf("%s: quota %d, want %d", c.name, got, c.want)
		}
	}
}

func TestPhysicalCores(t *testing.T) {
	two := map[string]string{}
	for cpu, core := range []string{"0", "1", "0", "1"} {
		dir := cpuDir + "/cpu" + string(rune('0'+cpu)) + "/topology/"
		two[dir+"core_id"] = core + "\n"
		two[dir+"physical_package_id"] = "0\n"
	}
	all := []int{0, 1, 2, 3}
	if n := physicalCores(files(two), all); n != 2 {
		t.Errorf("two cores with two threads: %d", n)
	}
	if n := physicalCores(files(two), []int{0, 2}); n != 1 {
		t.Errorf("both threads of one core: %d", n)
	}
	two[cpuDir+"/cpu2/topology/physical_package_id"] = "1\n"
	two[cpuDir+"/cpu3/topology/physical_package_id"] = "1\n"
	if n := physicalCores(files(two), all); n != 4 {
		t.Errorf("two sockets with two cores: %d", n)
	}
	two[cpuDir+"/smt/active"] = "0\n"
	two[cpuDir+"/cpu2/topology/physical_package_id"] = "0\n"
	if n := physicalCores(files(two), all); n != 4 {
		t.Errorf("no simultaneous multithreading: %d", n)
	}
	if n := physicalCores(files(nil), all); n != 4 {
		t.Errorf("no topology: %d", n)
	}
}
