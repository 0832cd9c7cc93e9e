// Package glyphs draws digits and capital letters in fonts that the demo network was not trained on: a small data set whose
// classes are known.
package glyphs

import (
	"image"
	"image/color"
	"image/draw"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

const characters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"

// Classes is the number of classes, in the order of the demo network.
const Classes = len(characters)

// Name is the character of a class.
func Name(class int) string { return characters[class : class+1] }

// Faces are the names of the fonts.
var Faces = []string{"regular", "bold", "mono"}

var files = [][]byte{goregular.TTF, gobold.TTF, gomono.TTF}

// Side of a picture in pixels, and the height of its capital letters.
const (
	Side   = 64
	height = 34
)

// Picture draws a class in a font of Faces, dark on light or light on dark.
func Picture(class, face int) (image.Image, error) {
	f, err := opentype.Parse(files[face])
	if err != nil {
		return nil, err
	}
	const capitals = 0.72 // of the size of the font
	drawn, err := opentype.NewFace(f, &opentype.FaceOptions{Size: height / capitals, DPI: 72})
	if err != nil {
		return nil, err
	}
	ink, paper := color.Gray{40}, color.Gray{215}
	if (class+face)%2 == 1 {
		ink, paper = paper, ink
	}
	img := image.NewGray(image.Rect(0, 0, Side, Side))
	draw.Draw(img, img.Bounds(), image.NewUniform(paper), image.Point{}, draw.Src)
	text := Name(class)
	x := (fixed.I(Side) - font.MeasureString(drawn, text)) / 2
	d := font.Drawer{Dst: img, Src: image.NewUniform(ink), Face: drawn, Dot: fixed.Point26_6{X: x, Y: fixed.I((Side + height) / 2)}}
	d.DrawString(text)
	return img, nil
}
