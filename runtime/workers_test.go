package runtime

import (
	"testing"

	"lathe/internal/bundle"
)

func TestWorkerVariables(t *testing.T) {
	m := openFixture(t)
	if n := m.Workers(); n < 1 || n > CPUs() {
		t.Errorf("%d workers by default", n)
	}
	t.Setenv("TVM_NUM_THREADS", "3")
	if n := openFixture(t).Workers(); n != 3 {
		t.Errorf("TVM_NUM_THREADS=3 gives %d workers", n)
	}
	t.Setenv("LATHE_NUM_THREADS", "2")
	if n := openFixture(t).Workers(); n != 2 {
		t.Errorf("LATHE_NUM_THREADS=2 gives %d workers", n)
	}
	if n := openFixture(t, WithWorkers(4)).Workers(); n != 4 {
		t.Errorf("WithWorkers(4) gives %d workers", n)
	}
	path := writeFixture(t, nil)
	for _, bad := range []string{"0", "-1", "two", "1025", "99999999999999999999"} {
		t.Setenv("LATHE_NUM_THREADS", bad)
		_, err := Open(path)
		wantError(t, err, "LATHE_NUM_THREADS", bad, "from 1 to 1024")
	}
	t.Setenv("LATHE_NUM_THREADS", "")
	for _, n := range []int{-1, 1025} {
		_, err := Open(path, WithWorkers(n))
		wantError(t, err, "from 1 to 1024")
	}
}

func TestMaxWorkers(t *testing.T) {
	for limit, want := range map[int]int{0: 4, 1: 1, 3: 3, 8: 4} {
		path := writeFixture(t, func(c *bundle.Contents) { c.Manifest.MaxWorkers = limit })
		m, err := Open(path, WithWorkers(4))
		if err != nil {
			t.Fatal(err)
		}
		if m.Workers() != want {
			t.Errorf("max_workers %d: %d workers of 4, want %d", limit, m.Workers(), want)
		}
		m.Close()
	}
}
