package runtime

import (
	"fmt"
	"testing"
)

func TestRun(t *testing.T) {
	for _, workers := range []int{1, 2, 3, 5} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			m := openFixture(t, WithWorkers(workers))
			if m.Workers() != workers {
				t.Fatalf("%d workers, want %d", m.Workers(), workers)
			}
			for seed := range 20 {
				x := setFixture(t, m, seed, 0)
				if err := m.Run(); err != nil {
					t.Fatal(err)
				}
				checkFixture(t, m, x)
			}
		})
	}
}
