package cpu

import (
	"encoding/binary"
	"fmt"
	"strings"

	"lathe/internal/isa/x86"
)

// CPUID is the instruction: eax, ebx, ecx and edx of a leaf and its part.
type CPUID func(leaf, sub uint32) [4]uint32

// FromCPUID is the x86-64 machine that answers so. xcr0 is what the system has enabled; it counts only where CPUID says that
// programs may read it.
func FromCPUID(cpuid CPUID, xcr0 uint64) *Machine {
	cpuid = cpuid.bounded()
	if cpuid(1, 0)[2]>>27&1 == 0 {
		xcr0 = 0
	}
	words := make([]uint64, len(x86.Leaves))
	for i, l := range x86.Leaves {
		words[i] = uint64(cpuid(l.Leaf, l.Sub)[l.Register])
	}
	m := newMachine(&x86.Features, words, xcr0)
	m.Name = cpuid.brand()
	m.Family, m.Model = cpuid.model()
	m.Guest = cpuid(1, 0)[2]>>31&1 != 0
	if cpuid(7, 0)[3]>>15&1 != 0 {
		return m // what the cores are differs, and so do their answers
	}
	m.Caches = cpuid.caches()
	if l := cpuid(0x16, 0); l[0]&0xffff > 0 && l[1]&0xffff > 0 {
		m.Clock = int(l[0]&0xffff+l[1]&0xffff) / 2 // between the one it keeps always and the one it never keeps for long
	}
	for bit, bits := range map[int]int{0: 128, 2: 256, 3: 512} {
		if cpuid(0x8000001a, 0)[0]>>bit&1 != 0 {
			m.Datapath = max(m.Datapath, bits)
		}
	}
	return m
}

// bounded answers leaves and parts that there are not with zeros, where some processors repeat another leaf.
func (ask CPUID) bounded() CPUID {
	most := map[uint32]uint32{0: ask(0, 0)[0], 0x80000000: ask(0x80000000, 0)[0]}
	return func(leaf, sub uint32) [4]uint32 {
		if leaf > most[leaf&0x80000000] || leaf == 7 && sub > ask(7, 0)[0] {
			return [4]uint32{}
		}
		return ask(leaf, sub)
	}
}

// brand is the name that the maker prints on the box.
func (ask CPUID) brand() string {
	var b []byte
	for leaf := uint32(0x80000002); leaf <= 0x80000004; leaf++ {
		for _, r := range ask(leaf, 0) {
			b = binary.LittleEndian.AppendUint32(b, r)
		}
	}
	text, _, _ := strings.Cut(string(b), "\x00")
	if text = strings.Join(strings.Fields(text), " "); text == "" {
		return "unknown model"
	}
	return text
}

// makers are those whose models the compiler has names for.
var makers = map[string]string{"GenuineIntel": "Intel", "AuthenticAMD": "AMD"}

func (ask CPUID) model() (family string, model int) {
	l := ask(0, 0)
	var b []byte
	for _, r := range []uint32{l[1], l[3], l[2]} {
		b = binary.LittleEndian.AppendUint32(b, r)
	}
	maker, ok := makers[string(b)]
	if !ok {
		return "", 0
	}
	a := ask(1, 0)[0]
	f := a >> 8 & 15
	if f == 15 {
		f += a >> 20 & 255
	}
	return fmt.Sprintf("%s %02X", maker, f), int(a>>12&0xf0 | a>>4&15)
}

// caches reads the leaf of caches, which AMD has elsewhere.
func (ask CPUID) caches() Caches {
	leaf := uint32(4)
	if ask(0x80000001, 0)[2]>>22&1 != 0 {
		leaf = 0x8000001d
	}
	var c Caches
	for sub := range uint32(16) {
		l := ask(leaf, sub)
		kind := l[0] & 31
		if kind == 0 {
			break
		}
		ways, parts, line, sets := l[1]>>22+1, l[1]>>12&0x3ff+1, l[1]&0xfff+1, l[2]+1
		size := int(uint64(ways) * uint64(parts) * uint64(line) * uint64(sets) >> 10)
		switch level := l[0] >> 5 & 7; {
		case level == 1 && kind == 1:
			c.L1 = size
		case level == 2:
			c.L2 = size / ask.cores(int(l[0]>>14&0xfff+1))
		case level == 3:
			c.L3 = size / ask.cores(int(l[0]>>14&0xfff+1))
		}
	}
	if c.L1 == 0 || c.L2 == 0 {
		return Caches{}
	}
	return c
}

// cores counts the cores behind the threads that share a cache. Their number may be rounded up; the package has no more.
func (ask CPUID) cores(threads int) int {
	perCore := int(ask(0xb, 0)[1] & 0xffff)
	if n := int(ask(0xb, 1)[1] & 0xffff); n > 0 {
		threads = min(threads, n)
	}
	if perCore == 0 {
		perCore = int(ask(0x8000001e, 0)[1]>>8&0xff + 1)
	}
	return max(1, threads/perCore)
}
