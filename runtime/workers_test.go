package runtime

import (
	"math"
	"testing"
	"testing/fstest"

	"lathe/internal/bundle"
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

func TestWorkerVariables(t *testing.T) {
	m := openFixture(t)
	if n := m.Workers(); n < 1 || n > len(allowedCPUs()) {
		t.Errorf("%d workers by default", n)
	}
	t.Setenv("TVM_NUM_THREADS", "3")
	if n := openFixture(t).Workers(); n != 3 {
		t.Errorf("TVM_NUM_THREADS=3 gives %d workers", n)
	}
	t.Setenv("LATHE_NUM_THREADS", "2")
	if n := openFixture(t).Workers(); n != 2 {
		t.Errorf("LATHE_NUM_THREADS=2 gives %d workers", n)
	}
	if n := openFixture(t, WithWorkers(4)).Workers(); n != 4 {
		t.Errorf("WithWorkers(4) gives %d workers", n)
	}
	path := writeFixture(t, nil)
	for _, bad := range []string{"0", "-1", "two", "1025", "99999999999999999999"} {
		t.Setenv("LATHE_NUM_THREADS", bad)
		_, err := Open(path)
		wantError(t, err, "LATHE_NUM_THREADS", bad, "from 1 to 1024")
	}
	t.Setenv("LATHE_NUM_THREADS", "")
	for _, n := range []int{-1, 1025} {
		_, err := Open(path, WithWorkers(n))
		wantError(t, err, "from 1 to 1024")
	}
}

func TestMaxWorkers(t *testing.T) {
	for limit, want := range map[int]int{0: 4, 1: 1, 3: 3, 8: 4} {
		path := writeFixture(t, func(c *bundle.Contents) { c.Manifest.MaxWorkers = limit })
		m, err := Open(path, WithWorkers(4))
		if err != nil {
			t.Fatal(err)
		}
		if m.Workers() != want {
			t.Errorf("max_workers %d: %d workers of 4, want %d", limit, m.Workers(), want)
		}
		m.Close()
	}
}
