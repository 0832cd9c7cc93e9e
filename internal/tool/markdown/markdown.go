// Package markdown finds the commands in pages, so that tests run what readers type.
package markdown

import (
	"regexp"
	"strings"
)

// A Block is a block of code of a page: fenced with ``` or indented by four spaces.
type Block struct {
	Fenced   bool
	Language string // behind the fence
	Text     string // without the indent
	Line     int    // of the page, from 1 on
}

// Blocks returns the blocks of a page in order.
func Blocks(page string) []Block {
	var list []Block
	var b *Block
	end := func() {
		if b != nil {
			b.Text = strings.TrimRight(b.Text, "\n") + "\n"
			list = append(list, *b)
		}
		b = nil
	}
	before := "" // the line before: an indented block stands behind an empty one
	for i, line := range strings.Split(page, "\n") {
		language, fence := strings.CutPrefix(line, "```")
		code, indented := strings.CutPrefix(line, "    ")
		switch {
		case b != nil && b.Fenced && fence:
			end()
		case b != nil && b.Fenced:
			b.Text += line + "\n"
		case fence:
			end()
			b = &Block{Fenced: true, Language: language, Line: i + 1}
		case indented && (b != nil || before == ""):
			if b == nil {
				b = &Block{Line: i + 1}
			}
			b.Text += code + "\n"
		case b != nil && line == "":
			b.Text += "\n"
		default:
			end()
		}
		before = line
	}
	end()
	return list
}

// Commands returns the lines of a shell's text; a line that ends in a backslash goes on in the next.
func (b Block) Commands() []string {
	text := strings.ReplaceAll(b.Text, "\\\n", " ")
	var list []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			list = append(list, line)
		}
	}
	return list
}

var span = regexp.MustCompile("`([^`\n]+(?:\n[^`\n]+)?)`")

// Spans returns the code within the text of a page, which may go over the end of a line.
func Spans(page string) []string {
	for _, b := range Blocks(page) {
		if !b.Fenced {
			continue
		}
		page = strings.Replace(page, b.Text, "", 1)
	}
	page = strings.ReplaceAll(page, "```", "")
	var list []string
	for _, m := range span.FindAllStringSubmatch(page, -1) {
		list = append(list, strings.Join(strings.Fields(m[1]), " "))
	}
	return list
}
