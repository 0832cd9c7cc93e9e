// Package host tells what a process may use of the machine that it runs on.
package host

import (
	"bytes"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	goruntime "runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"lathe/internal/cpu"
)

// allowedCPUs lists the CPUs this process may run on. When the kernel does not tell, it is what Go counts.
func allowedCPUs() []int {
	var cpus []int
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err == nil {
		for i := range len(set) * 64 {
			if set.IsSet(i) {
				cpus = append(cpus, i)
			}
		}
	}
	for i := 0; len(cpus) == 0 && i < goruntime.NumCPU(); i++ {
		cpus = append(cpus, i)
	}
	return cpus
}

const cpuDir = "sys/devices/system/cpu"

// physicalCores counts the cores behind cpus: two threads of one core share its arithmetic units.
func physicalCores(root fs.FS, cpus []int) int {
	if b, err := fs.ReadFile(root, cpuDir+"/smt/active"); err == nil && string(bytes.TrimSpace(b)) == "0" {
		return len(cpus)
	}
	cores := make(map[string]struct{})
	for _, cpu := range cpus {
		topology := fmt.Sprintf("%s/cpu%d/topology/", cpuDir, cpu)
		core, err := fs.ReadFile(root, topology+"core_id")
		if err != nil {
			core = fmt.Appendf(nil, "cpu%d", cpu)
		}
		// Core numbers repeat from package to package and, on some machines, from die to die.
		socket, _ := fs.ReadFile(root, topology+"physical_package_id")
		die, _ := fs.ReadFile(root, topology+"die_id")
		cores[string(bytes.Join([][]byte{socket, die, core}, []byte("/")))] = struct{}{}
	}
	return len(cores)
}

// cpuQuota is the number of CPUs the control groups of this process allow, rounded up; unlimited is a large number.
func cpuQuota(root fs.FS) int {
	quota := math.MaxInt
	controlGroups(root, "cpu", func(dir string, v2 bool) {
		read := quotaV1
		if v2 {
			read = quotaV2
		}
		quota = min(quota, read(root, dir))
	})
	return quota
}

// controlGroups visits the folders of the control groups of this process that may limit what a controller hands out. A limit may
// stand on any ancestor. In a container the path may be the host's, which is not there; its own limits are at the root then.
func controlGroups(root fs.FS, controller string, visit func(dir string, v2 bool)) {
	b, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return
	}
	for line := range strings.Lines(string(b)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		mount, v2 := "sys/fs/cgroup", parts[0] == "0" && parts[1] == ""
		if !v2 && !hasWord(parts[1], controller) {
			continue
		}
		if !v2 {
			mount += "/" + controller
		}
		for dir := path.Clean("/" + parts[2]); ; dir = path.Dir(dir) {
			visit(mount+strings.TrimSuffix(dir, "/"), v2)
			if dir == "/" {
				break
			}
		}
	}
}

func hasWord(list, word string) bool {
	for w := range strings.SplitSeq(list, ",") {
		if w == word {
			return true
		}
	}
	return false
}

// quotaV2 reads "QUOTA PERIOD" or "max PERIOD".
func quotaV2(root fs.FS, dir string) int {
	b, err := fs.ReadFile(root, dir+"/cpu.max")
	if err != nil {
		return math.MaxInt
	}
	f := strings.Fields(string(b))
	if len(f) != 2 {
		return math.MaxInt
	}
	return quotient(f[0], f[1])
}

// quotaV1 reads two files; a quota of -1 is no limit.
func quotaV1(root fs.FS, dir string) int {
	quota, err1 := fs.ReadFile(root, dir+"/cpu.cfs_quota_us")
	period, err2 := fs.ReadFile(root, dir+"/cpu.cfs_period_us")
	if err1 != nil || err2 != nil {
		return math.MaxInt
	}
	return quotient(string(quota), string(period))
}

func quotient(quota, period string) int {
	q, err1 := strconv.ParseInt(strings.TrimSpace(quota), 10, 64)
	p, err2 := strconv.ParseInt(strings.TrimSpace(period), 10, 64)
	if err1 != nil || err2 != nil || q <= 0 || p <= 0 {
		return math.MaxInt
	}
	return int((q-1)/p + 1)
}

// Cores is how many workers gain from a processor of their own: the CPUs that this process may use, of each core one.
func Cores() int { return min(CPUs(), physicalCores(os.DirFS("/"), allowedCPUs())) }

// CPUs is the number of CPUs that this process may use: what affinity, control groups and GOMAXPROCS leave of the machine's.
// More threads than that take turns.
func CPUs() int {
	return min(len(allowedCPUs()), cpuQuota(os.DirFS("/")), goruntime.GOMAXPROCS(0))
}

// CPUName is what this machine's CPU calls itself; empty where it does not say.
func CPUName() string {
	m, err := cpu.This()
	if err != nil {
		return ""
	}
	return m.Name
}
