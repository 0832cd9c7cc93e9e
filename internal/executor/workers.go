package executor

import (
	"fmt"
	"os"
	"strconv"

	"lathe/internal/host"
)

// FromMachine asks for as many workers as the environment says, or as the machine has cores.
const FromMachine = 0

// limitWorkers bounds what a user may ask for.
const limitWorkers = 1024

// workerVariables override the default; the second is TVM's.
var workerVariables = []string{"LATHE_NUM_THREADS", "TVM_NUM_THREADS"}

// workerCount returns the number of workers for a model that allows limit (0 = any), and whether they are more than the
// CPUs they may run on, so that spinning would keep a worker from its CPU.
func workerCount(asked, limit int) (n int, oversubscribed bool, err error) {
	if asked < 0 || asked > limitWorkers {
		return 0, false, fmt.Errorf("%d workers: must be from 1 to %d", asked, limitWorkers)
	}
	n = asked
	if n == FromMachine {
		if n, err = workersFromEnv(os.LookupEnv); err != nil {
			return 0, false, err
		}
	}
	if limit == 1 {
		return 1, false, nil
	}
	if n == FromMachine {
		n = host.Cores()
	}
	if limit > 0 {
		n = min(n, limit)
	}
	return n, n > host.CPUs(), nil
}

// workersFromEnv reads the variables; without one it returns FromMachine.
func workersFromEnv(lookup func(string) (string, bool)) (int, error) {
	for _, name := range workerVariables {
		text, ok := lookup(name)
		if !ok || text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > limitWorkers {
			return 0, fmt.Errorf("environment variable %s=%q: must be a number from 1 to %d", name, text, limitWorkers)
		}
		return n, nil
	}
	return FromMachine, nil
}
