package measure

import (
	"errors"
	"lathe/internal/executor"
	"time"
)

// Networks races two packages of one network by whole runs, which take turns as in A B B A behind two of each that do not count. Times are
// in microseconds, pair by pair. differs tells how their outputs differ; "": they do not.
func Networks(paths [2]string, workers, pairs int) (times [2][]float64, differs string, err error) {
	var modules [2]*executor.Module
	for i, path := range paths {
		if modules[i], err = executor.Open(path, executor.Options{Workers: workers}); err != nil {
			return times, "", err
		}
		defer func(m *executor.Module) { err = errors.Join(err, m.Close()) }(modules[i])
		if err := fill(modules[i]); err != nil {
			return times, "", err
		}
	}
	const before = 2
	for k := range before + pairs {
		for i := range 2 {
			which := i ^ k%2
			start := time.Now()
			if err := modules[which].Run(); err != nil {
				return times, "", err
			}
			if took := micro(time.Since(start)); k >= before {
				times[which] = append(times[which], took)
			}
		}
	}
	differs, err = differingOutputs(modules[0], modules[1])
	return times, differs, err
}
