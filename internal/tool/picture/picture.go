// Package picture turns a PNG, JPEG or BMP file into the input tensor of an image model: decode, resize, crop, scale,
// normalise, order channels and axes, convert to the element type.
//
// It knows neither models nor packages: the caller names the shape and element type to make. Orientation tags and colour
// profiles of files are ignored, as in Pillow and stb_image, and an alpha channel is dropped.
package picture

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"os"

	"golang.org/x/image/bmp"

	"lathe/internal/tool/spelling"
)

// format is a kind of file by its first bytes.
type format struct {
	name, magic  string
	decodeConfig func(io.Reader) (image.Config, error)
	decode       func(io.Reader) (image.Image, error)
}

var formats = []format{
	{"PNG", "\x89PNG\r\n\x1a\n", png.DecodeConfig, png.Decode},
	{"JPEG", "\xff\xd8\xff", jpeg.DecodeConfig, jpeg.Decode},
	{"BMP", "BM", bmp.DecodeConfig, bmp.Decode},
}

// Limits on what a file may claim: pixels at all, and pixels per byte of the file, which deflate's best ratio bounds for
// the smallest pixels of PNG.
const (
	maxPixels        = 1 << 27
	maxPixelsPerByte = 8256
)

// ReadFile decodes the picture in a file.
func ReadFile(path string) (image.Image, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	img, err := Decode(b)
	if err != nil {
		return nil, fmt.Errorf("picture %s: %w", path, err)
	}
	return img, nil
}

// Decode decodes the bytes of a file.
func Decode(b []byte) (image.Image, error) {
	for _, f := range formats {
		if !bytes.HasPrefix(b, []byte(f.magic)) {
			continue
		}
		c, err := f.decodeConfig(bytes.NewReader(b))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		pixels := int64(c.Width) * int64(c.Height)
		if c.Width < 1 || c.Height < 1 || pixels > maxPixels || pixels > int64(len(b))*maxPixelsPerByte {
			return nil, fmt.Errorf("%s: impossible size %dx%d for a file of %s", f.name, c.Width, c.Height, spelling.Count(len(b), "byte"))
		}
		img, err := f.decode(bytes.NewReader(b))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		return img, nil
	}
	switch {
	case len(b) == 0:
		return nil, errors.New("is empty")
	case bytes.HasPrefix(b, []byte("version https://git-lfs")):
		return nil, errors.New("is a Git LFS pointer, not the file itself: run git lfs pull")
	}
	return nil, errors.New("is not a PNG, JPEG or BMP file")
}

// channels is the number of channels a decoded picture has.
func channels(img image.Image) int {
	switch img := img.(type) {
	case *image.Gray, *image.Gray16:
		return 1
	case *image.YCbCr, *image.CMYK:
		return 3
	case *image.Paletted:
		return 3
	case interface{ Opaque() bool }:
		if img.Opaque() {
			return 3
		}
	}
	return 4
}
