package executor

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A Fault is the end of a package's code: a signal that the processor or the kernel raised while it ran.
type Fault struct {
	Package string // its path
	Signal  syscall.Signal
	Kernel  string // "" when the fault is not in one
	Steps   []int  // the steps that run this kernel
}

// faultNames are the signals that are told, and what else than damage may raise them.
var faultNames = []struct {
	signal syscall.Signal
	name   string
	also   string
}{
	{syscall.SIGSEGV, "SIGSEGV", ""},
	{syscall.SIGBUS, "SIGBUS", ", or was shortened while it was in use"},
	{syscall.SIGILL, "SIGILL", ", or this CPU lacks an instruction"},
	{syscall.SIGFPE, "SIGFPE", ""},
}

func (f *Fault) Error() string {
	name, also, where := f.Signal.String(), "", " outside of its kernels"
	for _, n := range faultNames {
		if n.signal == f.Signal {
			name, also = n.name, n.also
		}
	}
	if f.Kernel != "" {
		where = fmt.Sprintf(" in kernel %s", f.Kernel)
	}
	if len(f.Steps) > 0 {
		var list []string
		for _, s := range f.Steps[:min(len(f.Steps), 4)] {
			list = append(list, strconv.Itoa(s))
		}
		where = fmt.Sprintf(" in step %s (kernel %s)", strings.Join(list, " or "), f.Kernel)
	}
	return fmt.Sprintf("%s: the package's code faulted (%s)%s: the file may be damaged%s", f.Package, name, where, also)
}

// OnFault has report be called when a package's code faults: see runtime.OnFault.
func OnFault(report func(*Fault)) error {
	faults.Lock()
	defer faults.Unlock()
	faults.report = report
	if faults.watching {
		return nil
	}
	if err := watchFaults(); err != nil {
		return fmt.Errorf("watching for faults: %w", err)
	}
	faults.watching = true
	return nil
}

// faults is what OnFault set up, and the libraries whose code may fault.
var faults struct {
	sync.Mutex
	report   func(*Fault)
	watching bool
	loaded   map[*library]bool
}

// What the handler reads, in assembly: how many runs are in progress, where this program's own code lies, where to write what
// happened, and whom to hand on to what is not ours, by signal.
var (
	faultCalls uint64
	//lint:ignore U1000 read in assembly
	faultTextLo uintptr
	//lint:ignore U1000 read in assembly
	faultTextHi uintptr
	//lint:ignore U1000 read in assembly
	faultPipe uintptr
	faultNext [65]uintptr
)

// A faultRecord is what the handler writes: the number of the signal and the address of the instruction.
type faultRecord struct{ Signal, PC uint64 }

// faultHandlerAddress returns the address of the handler, which follows C's conventions. It takes a signal for a fault of a
// package while a run is in progress and the instruction is none of this program: a package's code, or wherever that jumped.
// It writes a faultRecord and blocks for ever. Everything else goes to the handler that was there before.
func faultHandlerAddress() uintptr

func watchFaults() error {
	handler := faultHandlerAddress()
	lo, hi, err := mappingOf(handler)
	if err != nil {
		return err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	// os.NewFile would make the descriptor of a pipe one that does not block; the handler's must be open for ever.
	fd, err := unix.FcntlInt(w.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return err
	}
	w.Close()
	faultTextLo, faultTextHi, faultPipe = lo, hi, uintptr(fd)
	for _, f := range faultNames {
		// struct sigaction of the kernel begins with the handler on every architecture; the rest stays as Go set it.
		var action [4]uintptr
		if err := rtSigaction(f.signal, nil, &action); err != nil {
			return err
		}
		faultNext[f.signal] = action[0]
		if action[0] <= 1 { // the default, or ignored: not Go's, for what a program wants
			continue
		}
		action[0] = handler
		if err := rtSigaction(f.signal, &action, nil); err != nil {
			return err
		}
	}
	go func() {
		var record faultRecord
		if err := binary.Read(r, binary.LittleEndian, &record); err != nil {
			return
		}
		fault := describeFault(record)
		faults.Lock()
		report := faults.report
		faults.Unlock()
		report(fault)
	}()
	return nil
}

func rtSigaction(signal syscall.Signal, set, old *[4]uintptr) error {
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(signal), uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(old)), 8, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// mappingOf returns the bounds of the mapping around an address.
func mappingOf(at uintptr) (lo, hi uintptr, err error) {
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if n, _ := fmt.Sscanf(s.Text(), "%x-%x", &lo, &hi); n == 2 && lo <= at && at < hi {
			return lo, hi, nil
		}
	}
	return 0, 0, errors.New("/proc/self/maps does not have this program")
}

// running counts a run of l for the handler until the result is called.
func (l *library) running() (done func()) {
	atomic.AddUint64(&faultCalls, 1)
	l.calls.Add(1)
	return func() {
		l.calls.Add(-1)
		atomic.AddUint64(&faultCalls, ^uint64(0))
	}
}

// watch has faults of l's code be found; forget ends that.
func (l *library) watch() {
	faults.Lock()
	defer faults.Unlock()
	if faults.loaded == nil {
		faults.loaded = map[*library]bool{}
	}
	faults.loaded[l] = true
}

func (l *library) forget() {
	faults.Lock()
	defer faults.Unlock()
	delete(faults.loaded, l)
}

// describeFault finds the package and the kernel of an instruction. An instruction of no package is where the code of one that
// is running jumped.
func describeFault(r faultRecord) *Fault {
	faults.Lock()
	defer faults.Unlock()
	fault := &Fault{Signal: syscall.Signal(r.Signal)}
	for l := range faults.loaded {
		if l.calls.Load() == 0 {
			continue
		}
		kernel, inside := l.kernelAt(uintptr(r.PC))
		if fault.Package == "" || inside {
			fault.Package = l.pkg.Path
		}
		if inside {
			fault.Kernel, fault.Steps = kernel, l.stepsOf(kernel)
			break
		}
	}
	return fault
}

// kernelAt returns the kernel that an address of the loaded library belongs to, from the file's table of symbols; "" when it is
// none of a kernel, or there is no table.
func (l *library) kernelAt(pc uintptr) (kernel string, inside bool) {
	f, err := elf.NewFile(bytes.NewReader(l.pkg.Library))
	if err != nil {
		return "", false
	}
	m := l.pkg.Manifest
	exported, _ := f.DynamicSymbols()
	base, found := uintptr(0), false
	for _, s := range exported {
		if s.Name == m.RunSymbol() {
			base, found = l.entry-uintptr(s.Value), true
		}
	}
	at := uint64(pc - base)
	for _, p := range f.Progs {
		inside = inside || found && p.Type == elf.PT_LOAD && p.Vaddr <= at && at < p.Vaddr+p.Memsz
	}
	if !inside {
		return "", false
	}
	symbols, _ := f.Symbols()
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Value <= at && at < s.Value+max(s.Size, 1) && elf.ST_VISIBILITY(s.Other) == elf.STV_HIDDEN {
			return strings.TrimPrefix(s.Name, "lathe_"+m.Module+"_"), true
		}
	}
	return "", true
}

// stepsOf returns the steps that run a kernel: steps with the same code share it, which mod.json tells.
func (l *library) stepsOf(kernel string) []int {
	m := l.pkg.Manifest
	shared := map[string]bool{kernel: true}
	if g, err := l.pkg.Graph(); err == nil {
		for _, n := range g.Nodes {
			if n.Call != nil && n.Call.FuncName == "lathe_"+m.Module+"_"+kernel {
				shared[n.Name] = true
			}
		}
	}
	var steps []int
	for i, s := range m.Steps {
		if s.Has(func(name string) bool { return shared[name] }) {
			steps = append(steps, i)
		}
	}
	return steps
}
