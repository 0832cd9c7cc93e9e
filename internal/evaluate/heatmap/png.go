package heatmap

import (
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// PNG writes the picture with text in the font Go Regular.
func (m *Matrix) PNG(w io.Writer) error {
	d := m.lay()
	img := image.NewNRGBA(image.Rect(0, 0, d.w, d.h))
	for _, r := range d.rects {
		draw.Draw(img, image.Rect(r.x, r.y, r.x+r.w, r.y+r.h), image.NewUniform(r.fill), image.Point{}, draw.Src)
	}
	goRegular, err := opentype.Parse(goregular.TTF)
	if err != nil {
		return err
	}
	faces := map[float64]font.Face{}
	for _, t := range d.texts {
		if faces[t.size] == nil {
			if faces[t.size], err = opentype.NewFace(goRegular, &opentype.FaceOptions{Size: t.size, DPI: 72, Hinting: font.HintingFull}); err != nil {
				return err
			}
		}
		write(img, faces[t.size], t)
	}
	return png.Encode(w, img)
}

// write draws a line of text, by way of a mask, which is turned for text that goes upwards.
func write(img *image.NRGBA, face font.Face, t text) {
	metrics := face.Metrics()
	ascent, height := metrics.Ascent.Ceil(), metrics.Ascent.Ceil()+metrics.Descent.Ceil()
	width := font.MeasureString(face, t.string).Ceil()
	mask := image.NewAlpha(image.Rect(0, 0, width, height))
	d := font.Drawer{Dst: mask, Src: image.NewUniform(color.Alpha{255}), Face: face, Dot: fixed.P(0, ascent)}
	d.DrawString(t.string)
	back := int(t.align) * width / 2
	at := image.Pt(t.x-back, t.y-ascent)
	if t.up {
		turned := image.NewAlpha(image.Rect(0, 0, height, width))
		for y := range height {
			for x := range width {
				turned.SetAlpha(y, width-1-x, mask.AlphaAt(x, y))
			}
		}
		mask, at = turned, image.Pt(t.x-ascent, t.y-width+back)
	}
	draw.DrawMask(img, mask.Bounds().Add(at), image.NewUniform(t.fill), image.Point{}, mask, image.Point{}, draw.Over)
}
