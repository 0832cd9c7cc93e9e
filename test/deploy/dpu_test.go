package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lathe"
	"lathe/internal/tool/npz"
)

// A network for a DPU beside an AArch64 CPU, as TVM's tutorial takes it there: calibrated by lathe-run on the device, built on this machine with the
// table that it brings, and run on the device. The device computes what this machine does.
func TestDeployDPU(t *testing.T) {
	long(t)
	dir := t.TempDir()
	build := filepath.Join(dir, "build")
	const dpu = "DPUCZDX8G-zcu104, "
	const device = dpu + "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a53"
	output(t, exec.Command(tool(t, "make"), "-C", root, "build/lathe-run-arm64"))
	onDevice := func(args ...string) string {
		t.Helper()
		args = append([]string{"-L", "/usr/aarch64-linux-gnu", filepath.Join(root, "build", "lathe-run-arm64")}, args...)
		c := exec.Command(tool(t, "qemu-aarch64-static"), args...)
		c.Env = append(os.Environ(), "PX_QUANT_SIZE=12", "PX_BUILD_DIR="+build)
		return output(t, c)
	}
	in := filepath.Join(dir, "in.npz")
	f, err := os.Create(in)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := npz.Write(f, []npz.Array{demoTensor(t, "data")}); err != nil {
		t.Fatal(err)
	}
	open, lib := filepath.Join(dir, "open.tar"), filepath.Join(dir, "deploy_lib.so")
	compileDemo(t, device, open, lathe.CompileOptions{})
	if said := onDevice("--data", root+"/examples/demo/glyphs", open); !strings.Contains(said, "the positions are in "+build) {
		t.Errorf("lathe-run says\n%s", said)
	}
	t.Setenv("PX_BUILD_DIR", build)
	compileDemo(t, device, lib, lathe.CompileOptions{})
	here := filepath.Join(dir, "here.tar")
	compileDemo(t, dpu+"llvm", here, lathe.CompileOptions{})
	to := filepath.Join(dir, "out.npz")
	onDevice("--inputs", in, "--outputs", to, lib)
	got, err := npz.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	want := floats(runHere(t, here))
	if d := distance(floats(got[0].Data), want); d > 1e-6 { // the head is in float32
		t.Errorf("the device's distance from this machine is %g", d)
	}
	if d := distance(want, floats(demoTensor(t, "logits").Data)); d == 0 || d > 1 {
		t.Errorf("the distance from the network in float32 is %g", d)
	}
}
