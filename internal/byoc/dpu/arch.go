// Package dpu compiles regions of networks for the DPU, a convolution engine in FPGAs of AMD (Xilinx), as far as public sources go.
// It knows the engine's configurations and limits, its integer arithmetic, how positions of binary points are chosen, and about how
// long a region takes. The engine's instruction set is not public: what runs is the arithmetic, bit for bit, as nodes that this
// compiler compiles for a CPU. That is the emulator.
//
// Sources: product guides PG338 (DPUCZDX8G), PG366, PG367, PG389, PG400 and PG403; UG1414 "Currently Supported Operators"; of
// Vitis AI's sources under Apache-2.0 the target factory (fingerprints), the reference operators of cpu-runner (arithmetic) and the serial form of XIR.
package dpu

import (
	"fmt"
	"strconv"
	"strings"

	"lathe/internal/tool/spelling"
)

// An Arch is a configuration of the engine.
type Arch struct {
	Name          string // as in relay.ext.vitis_ai.options.target, such as "DPUCZDX8G-zcu104"
	Configuration string // such as "B4096"; empty where a family has one
	PixelParallel int    // pixels of a row that one cycle computes
	// ChannelParallel is how many input channels, and as many output channels, one cycle multiplies.
	ChannelParallel int
	ALUPixels       int  // pixels of a row that one cycle of poolings, depthwise convolutions and sums computes
	Augmented       bool // taps of a kernel's row fill the lanes that few input channels leave
	Cores           int
	MHz             int
	DDR             float64 // bytes per second of the board's memory, for all cores
	Limits          *Limits
	Doc             string
}

// Peak is the number of operations, two for a multiply-add, of one core in a cycle.
func (a *Arch) Peak() int { return 2 * a.PixelParallel * a.ChannelParallel * a.ChannelParallel }

// zynq is a DPUCZDX8G in the configuration of a row of sizes.
func zynq(name string, row, cores, mhz int, ddr float64, doc string) Arch {
	s := sizes[row]
	return Arch{Name: name, Configuration: s.name, PixelParallel: s.pixels, ChannelParallel: s.channels, ALUPixels: max(s.pixels/2, 1),
		Augmented: true, Cores: cores, MHz: mhz, DDR: ddr, Limits: &zynqLimits, Doc: doc}
}

// sizes are the configurations of DPUCZDX8G, in the order in which bits 0 to 3 of a fingerprint count them.
var sizes = []struct {
	name             string
	pixels, channels int
}{
	{"B512", 4, 8}, {"B800", 4, 10}, {"B1024", 8, 8}, {"B1152", 4, 12}, {"B1600", 8, 10}, {"B2304", 8, 12}, {"B3136", 8, 14}, {"B4096", 8, 16},
}

const largest = 7 // the row of B4096

// sizePrefix stands before the name of a size.
const sizePrefix = "DPUCZDX8G-"

// Archs are the configurations that have a name: those of TVM's Vitis AI flow, of further boards and families.
var Archs = []Arch{
	{Name: "DPUCADX8G", PixelParallel: 6, ChannelParallel: 16, ALUPixels: 6, Cores: 1, MHz: 700, DDR: 77e9, Limits: &alveoLimits,
		Doc: "Alveo U200 and U250; a systolic array of 96 x 16"},
	zynq("DPUCZDX8G-zcu104", largest, 2, 300, 19.2e9, "ZCU104, two cores"),
	zynq("DPUCZDX8G-zcu102", largest, 3, 287, 19.2e9, "ZCU102, three cores"),
	zynq("DPUCZDX8G-kv260", largest, 1, 300, 19.2e9, "Kria KV260, one core"),
	{Name: "DPUCADF8H", PixelParallel: 8, ChannelParallel: 16, ALUPixels: 8, Cores: 4, MHz: 300, DDR: 77e9, Limits: &alveoFLimits,
		Doc: "Alveo U200 and U250, throughput; four pictures at a time"},
	{Name: "DPUCAHX8H", PixelParallel: 4, ChannelParallel: 16, ALUPixels: 4, Cores: 6, MHz: 300, DDR: 316e9, Limits: &hbmLimits,
		Doc: "Alveo U50 and U280, throughput"},
	{Name: "DPUCAHX8L", PixelParallel: 4, ChannelParallel: 32, ALUPixels: 4, Cores: 1, MHz: 250, DDR: 316e9, Limits: &hbmLowLimits,
		Doc: "Alveo U50 and U280, low latency"},
	{Name: "DPUCVDX8G", PixelParallel: 8, ChannelParallel: 16, ALUPixels: 8, Cores: 1, MHz: 333, DDR: 25.6e9, Limits: &versalLimits,
		Doc: "Versal VCK190"},
	{Name: "DPUCVDX8H", PixelParallel: 4, ChannelParallel: 64, ALUPixels: 4, Cores: 1, MHz: 350, DDR: 102e9, Limits: &versalHLimits,
		Doc: "Versal VCK5000"},
}

// Names lists the names of Archs.
func Names() []string {
	list := make([]string, len(Archs))
	for i, a := range Archs {
		list[i] = a.Name
	}
	return list
}

// Lookup finds a configuration by name, whatever the case, by the name of a size of DPUCZDX8G such as "DPUCZDX8G-B1024", or by
// fingerprint, 0x and hexadecimal digits as arch.json of a board has it.
func Lookup(name string) (*Arch, error) {
	if digits, ok := strings.CutPrefix(strings.ToLower(name), "0x"); ok {
		f, err := strconv.ParseUint(digits, 16, 64)
		if err != nil {
			return nil, fmt.Errorf("fingerprint %q is no number of 64 bits in hexadecimal digits", name)
		}
		return ofFingerprint(f)
	}
	for i := range Archs {
		if strings.EqualFold(Archs[i].Name, name) {
			return &Archs[i], nil
		}
	}
	for row, s := range sizes {
		if strings.EqualFold(sizePrefix+s.name, name) {
			a := zynq(name, row, 1, 300, 19.2e9, "one core")
			return &a, nil
		}
	}
	return nil, fmt.Errorf("unknown DPU %q%s; there are %s, DPUCZDX8G-B512 to -B4096, and fingerprints such as 0x101000016010407",
		name, spelling.Hint(name, Names()), strings.Join(Names(), ", "))
}

// largestFingerprint is that of B4096 as AMD's boards have it.
const largestFingerprint = "0x101000016010407"

// fingerprint is what arch.json of the configuration has; "" where it is not known.
func (a *Arch) fingerprint() string {
	switch {
	case strings.HasPrefix(a.Name, "0x"):
		return a.Name
	case a.Configuration == sizes[largest].name:
		return largestFingerprint
	}
	return ""
}

// families are the engines by bits 56 to 63 of a fingerprint.
var families = map[uint64]string{1: "DPUCZDX8G", 2: "DPUCAHX8H", 3: "DPUCAHX8L", 4: "DPUCZDI4G", 5: "DPUCVDX8H", 6: "DPUCVDX8G", 7: "DPUCADF8H"}

// ofFingerprint takes a fingerprint of DPUCZDX8G apart: size in bits 0 to 3, pixels of the ALU in 8 to 11, channel augmentation
// in bit 26, version of the instruction set in 48 to 55, family above.
func ofFingerprint(f uint64) (*Arch, error) {
	switch family := families[f>>56]; {
	case family == "":
		return nil, fmt.Errorf("fingerprint 0x%x is of no known family (bits 56 to 63 are %d)", f, f>>56)
	case family != "DPUCZDX8G":
		return nil, fmt.Errorf("fingerprint 0x%x is of a %s, whose fields are not public; give the name", f, family)
	}
	row := int(f & 15)
	if row >= len(sizes) {
		return nil, fmt.Errorf("fingerprint 0x%x: size %d; DPUCZDX8G has sizes 0 (B512) to %d (B4096)", f, row, len(sizes)-1)
	}
	if isa := f >> 48 & 255; isa > 1 {
		return nil, fmt.Errorf("fingerprint 0x%x: version %d of the instruction set; 0 and 1 are known", f, isa)
	}
	a := zynq(fmt.Sprintf("0x%x", f), row, 1, 300, 19.2e9, "by fingerprint, one core")
	if pixels := int(f >> 8 & 15); pixels > 0 {
		a.ALUPixels = pixels
	}
	a.Augmented = f>>26&1 == 1
	return &a, nil
}
