package zoo

import (
	"math"
	"testing"

	"lathe/bench/model"
)

// TestParameters compares the numbers of trained parameters with the published ones.
func TestParameters(t *testing.T) {
	for _, n := range Networks {
		b := model.New(n.Name)
		n.Build(b)
		if math.Abs(float64(b.Parameters-n.Published)) > 0.01*float64(n.Published) {
			t.Errorf("%s has %d parameters, not %d", n.Name, b.Parameters, n.Published)
		}
		t.Logf("%s: %d of %d", n.Name, b.Parameters, n.Published)
	}
}
