package runtime

import (
	"syscall"

	"lathe/internal/executor"
	"lathe/internal/host"
)

// CPUs is the number of CPUs that this process may use: what affinity, control groups and GOMAXPROCS leave of the machine's.
// More workers than that take turns.
func CPUs() int { return host.CPUs() }

// AvailableMemory returns how many bytes this process can take, and who says so: what the kernel has left or can free, or what
// a control group leaves where that is less. Without /proc it is all of the machine's memory.
func AvailableMemory() (bytes int64, source string) { return host.AvailableMemory() }

// A Fault is the end of a package's code: a signal that the processor or the kernel raised while it ran.
type Fault struct {
	Package string // its path
	Signal  syscall.Signal
	Kernel  string // "" when the fault is not in one
	Steps   []int  // the steps that run this kernel
}

func (f *Fault) Error() string { return (*executor.Fault)(f).Error() }

// OnFault has report be called when a package's code faults, instead of the dump of all goroutines with which Go ends the
// process. The thread that faulted never goes on, nor do runs of its module: report is for the last words of a program, which it
// ends. It is for commands: handlers of signals are the whole process's. A fault in Go code stays Go's.
func OnFault(report func(*Fault)) error {
	return executor.OnFault(func(f *executor.Fault) { report((*Fault)(f)) })
}
