package verify

import (
	"context"
	"sync"

	"lathe/internal/compile"
	"lathe/internal/fault"
)

// interruptible returns what f does, or the error of ctx as soon as that ends. A run of generated code and the evaluation of one
// operator look at no context: f goes on with the one it is at, in the background, and must look at ctx between them. Progress
// is told to nobody then.
func interruptible(ctx context.Context, o compile.Options, f func(compile.Options) ([]Row, error)) ([]Row, error) {
	var telling sync.Mutex
	if tell := o.Progress; tell != nil {
		o.Progress = func(phase string, done, total int) {
			telling.Lock()
			defer telling.Unlock()
			if ctx.Err() == nil {
				tell(phase, done, total)
			}
		}
	}
	type answer struct {
		rows []Row
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		var a answer
		a.err = fault.Guard(func() (err error) { a.rows, err = f(o); return err })
		answers <- a
	}()
	select {
	case a := <-answers:
		return a.rows, a.err
	case <-ctx.Done():
		telling.Lock() // the last call has returned
		defer telling.Unlock()
		return nil, ctx.Err()
	}
}
