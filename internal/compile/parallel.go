package compile

import (
	"context"
	"sync"
	"sync/atomic"
)

// inParallel calls f for 0..n-1 on a number of goroutines and done, one call at a time, after each. It returns the error
// of the least index, whatever the order of execution.
func inParallel(ctx context.Context, workers, n int, f func(int) error, done func()) error {
	errs := make([]error, n)
	var next atomic.Int64
	var failed atomic.Bool
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range max(1, min(workers, n)) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n || failed.Load() || ctx.Err() != nil {
					return
				}
				if errs[i] = f(i); errs[i] != nil {
					failed.Store(true)
				}
				mu.Lock()
				done()
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}
