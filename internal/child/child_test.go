package child

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test program be the child.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "child" {
		if err := Serve(os.Stdin, os.Stdout, behave); err != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// behave does what it is asked to.
func behave(q string) (string, error) {
	switch q {
	case "fail":
		return "", errors.New("as asked")
	case "panic":
		panic("as asked")
	case "end":
		os.Stderr.WriteString("last words\nand more")
		os.Exit(3)
	case "hang":
		select {}
	case "grow":
		var held [][]byte
		for {
			b := make([]byte, 16<<20)
			for i := range b {
				b[i] = 1
			}
			held = append(held, b)
			time.Sleep(20 * time.Millisecond)
			if len(held) > 64 {
				return "it was let", nil
			}
		}
	}
	return strings.ToUpper(q), nil
}

func start(t *testing.T) *Process[string, string] {
	t.Helper()
	p, err := Start[string, string](Command{Path: os.Args[0], Args: []string{"child"}, Memory: 256 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func TestAnswers(t *testing.T) {
	p := start(t)
	for _, q := range []string{"one", "fail", "two", "panic", "three"} {
		a, err := p.Ask(t.Context(), q, time.Minute)
		if q == "fail" || q == "panic" {
			if e, ok := errors.AsType[*Error](err); !ok || !strings.Contains(e.Message, "as asked") {
				t.Errorf("%s: %v", q, err)
			}
		} else if err != nil || a != strings.ToUpper(q) {
			t.Errorf("%s: %q, %v", q, a, err)
		}
	}
	if p.Resident() <= 0 {
		t.Error("the size is not known")
	}
}

// TestDeaths: how a child ended is told, and asking it again is answered at once.
func TestDeaths(t *testing.T) {
	for _, c := range []struct {
		q    string
		want Death
	}{
		{"end", Death{Cause: "exit status 3: last words"}},
		{"hang", Death{Silent: true, Cause: "no answer for 200ms"}},
		{"grow", Death{Large: true, Cause: "of memory"}},
	} {
		p := start(t)
		limit := time.Minute
		if c.want.Silent {
			limit = 200 * time.Millisecond
		}
		_, err := p.Ask(t.Context(), c.q, limit)
		d, ok := errors.AsType[*Death](err)
		if !ok || d.Silent != c.want.Silent || d.Large != c.want.Large || !strings.Contains(d.Cause, c.want.Cause) {
			t.Errorf("%s: %v, want %+v", c.q, err, c.want)
		}
		if _, err := p.Ask(t.Context(), "one", time.Minute); err == nil {
			t.Errorf("%s: it answers from the grave", c.q)
		}
	}
}

func TestInterrupted(t *testing.T) {
	p := start(t)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := p.Ask(ctx, "hang", time.Minute); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}
