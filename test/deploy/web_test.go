package deploy

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"lathe/internal/testkit/realmodels"
)

// site is a copy of the example page with a network compiled into it by its makefile.
func site(t *testing.T, variables ...string) string {
	t.Helper()
	dir := t.TempDir()
	lathe := filepath.Join(dir, "lathe")
	output(t, exec.Command(tool(t, "go"), "build", "-o", lathe, "../../cmd/lathe"))
	page := filepath.Join(dir, "page")
	if err := os.CopyFS(page, os.DirFS(root+"/examples/web")); err != nil {
		t.Fatal(err)
	}
	demo, err := filepath.Abs(root + "/examples/demo")
	if err != nil {
		t.Fatal(err)
	}
	os.RemoveAll(filepath.Join(page, "network"))
	args := []string{"-C", page, "LATHE=" + lathe, "MODEL=" + demo + "/digits.onnx", "LABELS=" + demo + "/labels.txt", "SAMPLE=" + demo + "/sample.png"}
	output(t, exec.Command(tool(t, "make"), append(args, variables...)...))
	return page
}

// browser starts Chromium with a page in a window of a size; complaints of the page are failures of the test.
func browser(t *testing.T, width, height int64, url string) context.Context {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(tool(t, "chromium")), chromedp.UserDataDir(t.TempDir()),
		chromedp.NoSandbox, chromedp.DisableGPU)
	for _, flag := range []string{"disable-quic", "disable-component-update", "disable-sync", "no-first-run", "disable-background-networking"} {
		options = append(options, chromedp.Flag(flag, true))
	}
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	tab, stop := chromedp.NewContext(allocator)
	t.Cleanup(stop)
	err := chromedp.Listen(tab, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			t.Errorf("the page throws %v", e.ExceptionDetails)
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
				t.Errorf("the page complains: %s", e.Args[0].Value)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	tab, stop = context.WithTimeout(tab, 2*time.Minute)
	t.Cleanup(stop)
	do(t, tab, chromedp.EmulateViewport(width, height), chromedp.Navigate(url))
	return tab
}

func do(t *testing.T, tab context.Context, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(tab, steps...); err != nil {
		t.Fatal(err)
	}
}

// text waits until an expression of JavaScript gives a string that is not empty, and returns it.
func text(t *testing.T, tab context.Context, expression string) string {
	t.Helper()
	got, err := chromedp.Run(tab, chromedp.Poll[string](expression))
	if err != nil {
		page, _ := chromedp.Run(tab, chromedp.Text("body"))
		t.Fatalf("%s: %v; the page says\n%s", expression, err, page)
	}
	return got
}

// screenshot keeps what the page looks like, where LATHE_SCREENSHOTS names a folder for it.
func screenshot(t *testing.T, tab context.Context, name string) {
	t.Helper()
	dir := os.Getenv("LATHE_SCREENSHOTS")
	if dir == "" {
		return
	}
	do(t, tab, chromedp.Sleep(400*time.Millisecond))
	png, err := chromedp.Run(tab, chromedp.FullScreenshot(100))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o666); err != nil {
		t.Fatal(err)
	}
}

const (
	about   = `(document.getElementById('about').textContent.includes('classes') && document.getElementById('about').textContent) || ''`
	answers = `document.getElementById('time').textContent.includes('ms') ? [...document.querySelectorAll('#answers li')].map((li) => li.innerText.replace(/\s+/g, ' ')).join('\n') : ''`
	failure = `document.getElementById('error').hidden ? '' : document.getElementById('error').textContent`
	clear   = `document.getElementById('answers').replaceChildren(); document.getElementById('time').textContent = '';`
)

// hand gives the page a file in an event, as a user does.
func hand(event, property, file string) chromedp.Action[chromedp.Void] {
	return chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`%s (async () => {
		const transfer = new DataTransfer();
		transfer.items.add(%s);
		document.dispatchEvent(new %s, { %s: transfer, bubbles: true, cancelable: true }));
	})(); 0`, clear, file, event, property))
}

// The page of examples/web classifies a picture that is chosen, dropped or pasted, on desktops and phones.
func TestDeployWeb(t *testing.T) {
	long(t)
	server := httptest.NewServer(http.FileServer(http.Dir(site(t, "TITLE=Digits and letters"))))
	defer server.Close()
	sample, err := filepath.Abs(root + "/examples/demo/sample.png")
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []struct {
		name          string
		width, height int64
	}{{"desktop", 1280, 800}, {"phone", 390, 844}} {
		t.Run(size.name, func(t *testing.T) {
			tab := browser(t, size.width, size.height, server.URL)
			if got, want := text(t, tab, about), "Digits and letters: 1 × 3 × 64 × 64 in, 36 classes out"; got != want {
				t.Fatalf("the page says %q, want %q", got, want)
			}
			screenshot(t, tab, size.name+"-empty")
			do(t, tab, chromedp.SetUploadFiles("#file", []string{sample}))
			want := "digit 7 95.2 %\ndigit 1 1.3 %\nletter Z 1.1 %\nletter T 0.2 %\nletter G 0.2 %" // expected.json, from PyTorch
			if got := text(t, tab, answers); got != want {
				t.Errorf("chosen: %q, want %q", got, want)
			}
			screenshot(t, tab, size.name)
			wide, err := chromedp.Run(tab, chromedp.Evaluate[bool](`document.documentElement.scrollWidth > innerWidth`))
			if err != nil || wide {
				t.Errorf("the page is wider than the window, %v", err)
			}
			const picture = `new File([await (await fetch('network/sample.png')).blob()], 'x.png', { type: 'image/png' })`
			for _, way := range [][2]string{{"DragEvent('drop'", "dataTransfer"}, {"ClipboardEvent('paste'", "clipboardData"}} {
				do(t, tab, hand(way[0], way[1], picture))
				if got := text(t, tab, answers); got != want {
					t.Errorf("%s: %q, want %q", way[0], got, want)
				}
			}
			do(t, tab, chromedp.Evaluate[chromedp.Void](clear), chromedp.Click("#sample"))
			if got := text(t, tab, answers); got != want {
				t.Errorf("sample: %q, want %q", got, want)
			}
			do(t, tab, hand("DragEvent('drop'", "dataTransfer", `new File(['text'], 'x.txt', { type: 'text/plain' })`))
			if got := text(t, tab, failure); !strings.Contains(got, "not a picture") {
				t.Errorf("a text that is dropped: %q", got)
			}
		})
	}
}

// Any network that classifies pictures takes the place of the demo's: the page gives the classes that 'lathe run' gives.
func TestDeployWebImageNet(t *testing.T) {
	long(t)
	models := realmodels.Folder(t)
	model, picture, labels := models+"/onnx/squeezenet1.1/squeezenet1.1-rebuilt.onnx", models+"/images/cat.png", models+"/images/labels/imagenet_synset.txt"
	page := site(t, "MODEL="+model, "LABELS="+labels, "SAMPLE="+picture, "PREPROCESS=imagenet", "FILTER=bilinear")
	server := httptest.NewServer(http.FileServer(http.Dir(page)))
	defer server.Close()
	tab := browser(t, 1280, 800, server.URL)
	text(t, tab, about)
	do(t, tab, chromedp.Click("#sample"))
	got := strings.Split(text(t, tab, answers), "\n")
	screenshot(t, tab, "imagenet")

	lathe, pkg := filepath.Join(page, "../lathe"), filepath.Join(page, "net.tar")
	output(t, exec.Command(lathe, "compile", "-o", pkg, model))
	want := output(t, exec.Command(lathe, "run", "--image", picture, "--preprocess", "imagenet", "--labels", labels, "--print-top", "5", pkg))
	for i, row := range got {
		name := row[:strings.LastIndex(strings.TrimSuffix(row, " %"), " ")]
		if !strings.Contains(want, name) || i == 0 && !strings.Contains(want, "Predicted class: ") {
			t.Errorf("the page says %q, and lathe run\n%s", row, want)
		}
	}
	if len(got) != 5 {
		t.Errorf("the page says %q", got)
	}
}

// A page without its network says so.
func TestDeployWebMissing(t *testing.T) {
	long(t)
	page := site(t)
	if err := os.Remove(filepath.Join(page, "network/net.wasm")); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(page)))
	defer server.Close()
	tab := browser(t, 800, 600, server.URL)
	if got := text(t, tab, failure); !strings.Contains(got, "net.wasm: HTTP status 404") {
		t.Errorf("the page says %q", got)
	}
}
