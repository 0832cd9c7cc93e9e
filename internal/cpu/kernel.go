package cpu

import (
	"bufio"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"lathe/internal/isa"
)

// FromLinux is the machine whose kernel passes words, and describes the rest in files below root. Where cores differ, what
// the files say of one of them is left out.
func FromLinux(t *isa.Table, words []uint64, root fs.FS) *Machine {
	m := newMachine(t, words, 0)
	values := cpuinfo(root)
	maker, part := values["CPU implementer"], values["CPU part"]
	m.Name = string(t.Arch)
	if name := values["uarch"]; len(name) > 0 {
		m.Name += " " + name[0]
	}
	if len(part) > 0 {
		m.Name += ", part " + part[0]
	}
	if len(part) > 1 || len(maker) > 1 {
		return m
	}
	if len(part) == 1 && len(maker) == 1 {
		if n, err := strconv.ParseUint(part[0], 0, 16); err == nil {
			m.Family, m.Model = "Arm "+strings.TrimPrefix(maker[0], "0x"), int(n)
		}
	}
	const first = "sys/devices/system/cpu/cpu0"
	m.Clock = number(root, first+"/cpufreq/cpuinfo_max_freq") / 1000
	for i := range 8 {
		dir := fmt.Sprintf("%s/cache/index%d", first, i)
		size := number(root, path.Join(dir, "size"))
		switch level := number(root, path.Join(dir, "level")); {
		case level == 1 && line(root, path.Join(dir, "type")) == "Data":
			m.Caches.L1 = size
		case level == 2:
			m.Caches.L2 = size / sharers(root, dir)
		case level == 3:
			m.Caches.L3 = size / sharers(root, dir)
		}
	}
	if m.Caches.L1 == 0 || m.Caches.L2 == 0 {
		m.Caches = Caches{}
	}
	return m
}

// cpuinfo returns the different values that /proc/cpuinfo has for each key.
func cpuinfo(root fs.FS) map[string][]string {
	values := map[string][]string{}
	f, err := root.Open("proc/cpuinfo")
	if err != nil {
		return values
	}
	defer f.Close()
	seen := map[string]bool{}
	for s := bufio.NewScanner(f); s.Scan(); {
		if k, v, ok := strings.Cut(s.Text(), ":"); ok && !seen[s.Text()] {
			seen[s.Text()] = true
			k = strings.TrimSpace(k)
			values[k] = append(values[k], strings.TrimSpace(v))
		}
	}
	return values
}

func line(root fs.FS, name string) string {
	b, _ := fs.ReadFile(root, name)
	return strings.TrimSpace(string(b))
}

// number reads a number, in KiB where it has a unit; 0 where there is none.
func number(root fs.FS, name string) int {
	text := line(root, name)
	n, err := strconv.ParseUint(strings.TrimRight(text, "KM"), 10, 31)
	if err != nil {
		return 0
	}
	if strings.HasSuffix(text, "M") {
		n <<= 10
	}
	return int(n)
}

// sharers counts the processors of a list such as 0-3,8.
func sharers(root fs.FS, dir string) int {
	n := 0
	for part := range strings.SplitSeq(line(root, path.Join(dir, "shared_cpu_list")), ",") {
		low, high, isRange := strings.Cut(part, "-")
		a, err1 := strconv.Atoi(low)
		b, err2 := strconv.Atoi(high)
		switch {
		case err1 == nil && !isRange:
			n++
		case err1 == nil && err2 == nil && b >= a:
			n += b - a + 1
		}
	}
	return max(1, n)
}
