package heatmap

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image/color"
	"io"
)

// SVG writes the picture as a document that stands alone, or within HTML.
func (m *Matrix) SVG(w io.Writer) error {
	d := m.lay()
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" font-family="sans-serif">`+"\n", d.w, d.h)
	for _, r := range d.rects {
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/>`+"\n", r.x, r.y, r.w, r.h, hex(r.fill))
	}
	for _, t := range d.texts {
		turn := ""
		if t.up {
			turn = fmt.Sprintf(` transform="rotate(-90 %d %d)"`, t.x, t.y)
		}
		fmt.Fprintf(&b, `<text x="%d" y="%d" font-size="%.1f" text-anchor="%s" style="fill:%s"%s>`, t.x, t.y, t.size, [...]string{"start", "middle", "end"}[t.align], hex(t.fill), turn)
		if err := xml.EscapeText(&b, []byte(t.string)); err != nil {
			return err
		}
		b.WriteString("</text>\n")
	}
	b.WriteString("</svg>\n")
	_, err := w.Write(b.Bytes())
	return err
}

func hex(c color.NRGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }
