package compile

import (
	"context"
	"sync"
	"sync/atomic"

	"lathe/internal/fault"
)

// inParallel calls f for 0..n-1 on a number of goroutines and done, one call at a time, after each. It returns the error
// of the least index, whatever the order of execution. A panic in one of them is an error.
func inParallel(ctx context.Context, workers, n int, f func(int) error, done func()) error {
	errs := make([]error, n)
	var next atomic.Int64
	var failed atomic.Int64 // least index that failed; later ones need not start
	failed.Store(int64(n))
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range max(1, min(workers, n)) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n || ctx.Err() != nil {
					return
				}
				if int64(i) > failed.Load() {
					continue
				}
				err := fault.Guard(func() error { return f(i) })
				mu.Lock()
				if err == nil {
					err = fault.Guard(func() error { done(); return nil })
				}
				if errs[i] = err; err != nil {
					failed.Store(min(failed.Load(), int64(i)))
				}
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
