package deploy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"lathe/internal/tool/picture"
)

// A pictureJob is one call of the example page's code.
type pictureJob struct {
	Picture struct {
		Width  int    `json:"width"`
		Height int    `json:"height"`
		File   string `json:"file"`
	} `json:"picture"`
	Input struct {
		DType string `json:"dtype"`
		Shape []int  `json:"shape"`
	} `json:"input"`
	Preset   string            `json:"preset"`
	Settings map[string]string `json:"settings"`
	Output   string            `json:"output"`
}

// The example page makes of every picture the tensor that `lathe run --image` makes, bit for bit.
func TestWebPictures(t *testing.T) {
	node := tool(t, "node")
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(5, 6))
	var jobs []*pictureJob
	var want [][]byte
	for i, size := range [][2]int{{64, 64}, {1, 1}, {97, 31}, {31, 97}, {300, 200}, {640, 481}} {
		img := image.NewNRGBA(image.Rect(0, 0, size[0], size[1]))
		for k := range img.Pix {
			img.Pix[k] = byte(r.UintN(256))
		}
		file := filepath.Join(dir, fmt.Sprint("picture", i))
		if err := os.WriteFile(file, img.Pix, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, p := range picture.Presets() {
			for _, filter := range []picture.Filter{picture.Bilinear, picture.Bicubic, picture.Point} {
				for _, in := range []picture.Input{
					{DType: "float32", Shape: []int{1, 3, 64, 64}}, {DType: "float32", Shape: []int{1, 28, 40, 1}}, {DType: "uint8", Shape: []int{1, 33, 20, 3}}, {DType: "int8", Shape: []int{1, 1, 28, 28}},
				} {
					s := p.Settings
					s.Filter = filter
					made, err := s.Prepare(img, in)
					if err != nil {
						t.Fatal(err)
					}
					j := &pictureJob{Preset: p.Name, Settings: map[string]string{"filter": string(filter)}, Output: filepath.Join(dir, fmt.Sprint("tensor", len(jobs)))}
					j.Picture.Width, j.Picture.Height, j.Picture.File = size[0], size[1], file
					j.Input.DType, j.Input.Shape = in.DType, in.Shape
					jobs, want = append(jobs, j), append(want, made.Data)
				}
			}
		}
	}
	list, err := json.Marshal(jobs)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "jobs.json")
	if err := os.WriteFile(file, list, 0o600); err != nil {
		t.Fatal(err)
	}
	output(t, exec.Command(node, "testdata/pictures.mjs", file))
	for i, j := range jobs {
		got, err := os.ReadFile(j.Output)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want[i]) {
			t.Errorf("%dx%d, %s, %s, %s%v: another tensor", j.Picture.Width, j.Picture.Height, j.Preset, j.Settings["filter"], j.Input.DType, j.Input.Shape)
		}
	}
}
