package matrix

import (
	"cmp"
	"fmt"
	"slices"

	"lathe/internal/expr"
	"lathe/internal/impl"
	"lathe/internal/loop"
	"lathe/internal/loop/build"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// conv convolves data whose channels are the last axis by constant weights, which lie in panels for dot products. A piece of work is a
// strip of lines and some panels; where data do not lie as rows, it copies the lines that it needs to scratch, with borders of zeros.
//
//	parallel (images, strips, parts of panels) { scratch = lines; for panel { rows } }
func conv(a impl.Anchor) (*impl.Plan, error) {
	set := a.Target.Tiles()
	if set == nil || a.Point["algorithm"] != impl.Matrix {
		return nil, nil
	}
	x, w, y := a.In[0], a.In[2], a.Out[0]
	attrs := a.Attrs.(ops.ConvAttrs)
	g := gridOf(attrs, x.Shape, w.Shape, y.Shape)
	p := &product{Anchor: a, tileRows: set.Rows, lanes: set.RowBytes / 4, panel: impl.PanelOf(a.Point), columns: w.Shape[0]}
	p.depth = step(g.run, set.RowBytes/expr.DotWidth)
	oneBlock := types.ChannelBlocks(4, g.channels)
	if p.panel == 0 || p.depth == 0 || x.Layout != oneBlock && (x.Layout != channelsLast || x.Shape[1] != g.channels) || y.Layout != channelsLast ||
		w.Layout != impl.DotFilters(4, p.panel*p.lanes, impl.DotWidth) || attrs.Groups != 1 || !a.Stores(y.Dims()) {
		return nil, nil
	}
	c := &convolution{product: p, grid: g, data: build.Param("data", x.DType, g.images, g.in[0], g.in[1]*g.channels)}
	if g.inPlace() {
		c.data.Shape = []int{g.images, g.in[0] * g.in[1] * g.channels}
	}
	weight := build.Param("weight", w.DType, w.Dims()[0], g.taps[0], g.taps[1], g.run/expr.DotWidth, p.panel*p.lanes, expr.DotWidth)
	p.weight = func(panel, column, k expr.Expr, step []expr.Expr) operand {
		return operand{weight, []expr.Expr{panel, step[0], step[1], expr.Add(expr.Mul(step[2], expr.Index(p.depth)), k), column, expr.Index(0)}, 5}
	}
	each := g.run / expr.DotWidth / p.depth
	p.steps, p.weights = g.taps[0]*g.taps[1]*each, weight
	p.number = func(step []expr.Expr) expr.Expr {
		return expr.Add(expr.Mul(expr.Add(expr.Mul(step[0], expr.Index(g.taps[1])), step[1]), expr.Index(each)), step[2])
	}
	p.loops = []stepLoop{{"ky", g.taps[0]}, {"kx", g.taps[1]}, {"s", each}}
	c.panels = weight.Shape[0]
	c.decide()
	c.decideParts(c.grid.strip(c.strip, c.columns))
	c.decideEpilogue()
	operands := []*loop.Buffer{c.data, zeroOf("data_zero", a.In[1]), weight, zeroOf("weight_zero", a.In[3])}
	where := "in place"
	if !g.inPlace() {
		where = "copied to lines"
	}
	what := fmt.Sprintf("tiles of %d x %d, %d x %d of them, steps of %d, data %s", p.tileRows, p.lanes, rowTiles(p.panel), p.panel, p.depth*expr.DotWidth, where)
	work := 2 * float64(y.Elements()) * float64(types.Count(w.Shape[1:]))
	home := impl.Scattered
	if c.parts == 1 && g.images == 1 {
		home = g.width * g.height * p.columns
	}
	return planned(a, what, a.Function(c.pieces(), operands...), work, home), nil
}

// channelsLast is the layout of images whose channels are the last axis.
const channelsLast = types.Layout("ACDB")

// A convolution is a product whose rows are pixels.
type convolution struct {
	*product
	grid
	data   *loop.Buffer // [images, lines, bytes of a line], or in place [images, bytes]
	panels int
	strip  int // lines of the result in a piece of work
	parts  int // pieces of work that share a strip, with some panels each
}

// decide asks for strips, and among how many pieces the panels of a strip are divided. Each copies the lines of the strip.
func (c *convolution) decide() {
	touches := c.touches()
	cost := func(strips, parts int) float64 {
		one := c.grid.strip((c.height+strips-1)/strips, c.columns)
		copies := copying(one.copied, c.core())
		if one.copied > impl.Working(c.Target.L2)/2 {
			copies += c.core().Shared(2 * float64(one.copied)) // they leave L2 before they are read
		}
		one.copied = 0
		again := 0.0 // strips after the first find weights in L3 where L2 does not hold them
		if one.weights() > impl.Working(c.Target.L2) {
			again = c.core().Shared(float64(one.weights()))
		}
		each := float64((c.panels+parts-1)/parts) / float64(c.panels)
		return c.core().Together(c.images*strips*parts, c.core().Starts(1)+copies+each*(again+one.cycles(c.panel, c.core())+c.epilogueBeyond(one, touches)), lastShare)
	}
	least := func(strips int) (parts int) {
		return slices.MinFunc(impl.UpTo(c.panels), func(a, b int) int { return cmp.Compare(cost(strips, a), cost(strips, b)) })
	}
	all := func(strips int) float64 { return cost(strips, least(strips)) }
	lines := impl.UpTo(c.height)
	n := c.DecideAmong("line_strips", slices.MinFunc(lines, func(a, b int) int { return cmp.Compare(all(a), all(b)) }), all, lines...)
	c.strip = (c.height + n - 1) / n
	n = (c.height + c.strip - 1) / c.strip
	c.parts = c.DecideAmong("panel_parts", least(n), func(parts int) float64 { return cost(n, parts) }, impl.UpTo(c.panels)...)
}

// epilogueBeyond is the cycles of what the rest of the group touches where L2 does not hold that of a strip from a panel to the next: whole
// lines of the cache for each panel, however few of their columns are the panel's.
func (c *convolution) epilogueBeyond(strip shape, touches []touched) float64 {
	held, moved := strip.distinct, 0
	for _, t := range touches {
		held += t.buf.DType.Bytes(strip.rows * c.columns)
		lines := max(loop.LineBytes, t.buf.DType.Bytes(c.product.panel*c.lanes)) * strip.rows * c.panels
		if t.stored {
			lines *= 2
		}
		moved += lines
	}
	if held <= impl.Working(c.Target.L2) {
		return 0
	}
	return c.core().Shared(float64(moved))
}

func (c *convolution) core() impl.Core { return impl.Core{Target: c.Target} }

// pieces is the loop over all pieces of work.
func (c *convolution) pieces() loop.Stmt {
	strips := (c.height + c.strip - 1) / c.strip
	div := func(a expr.Expr, n int) expr.Expr { return expr.Bin(expr.OpFloorDiv, a, expr.Index(n)) }
	mod := func(a expr.Expr, n int) expr.Expr { return expr.Bin(expr.OpFloorMod, a, expr.Index(n)) }
	return impl.Divided("part", c.images*strips*c.parts, func(part expr.Expr) loop.Stmt {
		return build.Bind("image", div(part, strips*c.parts), func(image expr.Expr) loop.Stmt {
			return build.Bind("line", expr.Mul(mod(div(part, c.parts), strips), expr.Index(c.strip)), func(line expr.Expr) loop.Stmt {
				return build.Bind("group", mod(part, c.parts), func(group expr.Expr) loop.Stmt {
					last := c.height - (strips-1)*c.strip
					if last == c.strip {
						return c.piece(image, line, group, c.strip)
					}
					return &loop.If{Cond: expr.LE(line, expr.Index(c.height-c.strip)), Then: c.piece(image, line, group, c.strip), Else: c.piece(image, line, group, last)}
				})
			})
		})
	})
}

// piece computes so many lines of an image, from line on, of one of the parts of panels.
func (c *convolution) piece(image, line, group expr.Expr, lines int) loop.Stmt {
	p := *c.product
	from := func(ky expr.Expr) expr.Expr { return expr.Mul(ky, expr.Index(c.dilation[0])) }
	inLine := func(k expr.Expr, step []expr.Expr) expr.Expr {
		at := expr.Add(expr.Mul(step[2], expr.Index(p.depth)), k)
		return expr.Add(expr.Mul(at, expr.Index(expr.DotWidth)), expr.Mul(step[1], expr.Index(c.dilation[1]*c.channels)))
	}
	var scratch *loop.Buffer
	if c.inPlace() {
		p.data = func(row, k expr.Expr, step []expr.Expr) operand {
			first := expr.Add(expr.Mul(expr.Add(line, from(step[0])), expr.Index(c.pitch)), row)
			return operand{c.data, []expr.Expr{image, expr.Add(expr.Mul(first, expr.Index(c.channels)), inLine(k, step))}, 1}
		}
	} else {
		pixel := c.strides[1] * c.channels // bytes from a pixel of the result to the next
		scratch = build.Scratch("lines", c.data.DType, c.phases(), c.lines(lines)*c.pitch*pixel)
		p.data = func(row, k expr.Expr, step []expr.Expr) operand {
			y := from(step[0])
			phase, at := expr.Expr(expr.Index(0)), y
			if c.strides[0] > 1 {
				phase, at = expr.Bin(expr.OpFloorMod, y, expr.Index(c.strides[0])), expr.Bin(expr.OpFloorDiv, y, expr.Index(c.strides[0]))
			}
			first := expr.Add(expr.Mul(at, expr.Index(c.pitch)), row)
			return operand{scratch, []expr.Expr{phase, expr.Add(expr.Mul(first, expr.Index(pixel)), inLine(k, step))}, 1}
		}
	}
	p.result = func(row expr.Expr, body func(place func(column expr.Expr) []expr.Expr) loop.Stmt) loop.Stmt {
		return build.Bind("y", expr.Bin(expr.OpFloorDiv, row, expr.Index(c.pitch)), func(y expr.Expr) loop.Stmt {
			return build.Bind("x", expr.Bin(expr.OpFloorMod, row, expr.Index(c.pitch)), func(x expr.Expr) loop.Stmt {
				pixel := body(func(column expr.Expr) []expr.Expr { return []expr.Expr{image, expr.Add(line, y), x, column} })
				if c.pitch == c.width {
					return pixel
				}
				return build.When(expr.LT(x, expr.Index(c.width)), pixel)
			})
		})
	}
	all := c.groupPanels(group, func(panel expr.Expr) loop.Stmt { return p.rows(panel, expr.Index(0), c.rowsOf(lines)) })
	if scratch == nil {
		return all
	}
	return build.With(build.Do(c.fill(scratch, image, line, lines), all), scratch)
}

// groupPanels is the loop over the panels of a part.
func (c *convolution) groupPanels(group expr.Expr, body func(panel expr.Expr) loop.Stmt) loop.Stmt {
	each := (c.panels + c.parts - 1) / c.parts
	n := expr.Expr(expr.Index(each))
	first := expr.Mul(group, expr.Index(each))
	if c.panels%each != 0 || each*c.parts > c.panels {
		n = expr.Max(expr.Min(n, expr.Sub(expr.Index(c.panels), first)), expr.Index(0))
	}
	return build.Each("i", n, func(i expr.Expr) loop.Stmt {
		return build.Bind("panel", expr.Add(first, i), func(panel expr.Expr) loop.Stmt { return body(panel) })
	})
}

// fill copies the lines of data that so many lines of the result need, from line on, to scratch. What lies outside of the image is zero.
func (c *convolution) fill(to *loop.Buffer, image, line expr.Expr, lines int) loop.Stmt {
	pixels := c.pitch * c.strides[1]
	width := pixels * c.channels
	phases, n := to.Shape[0], to.Shape[1]/width
	inside := min(pixels-c.padding[1], c.in[1]) // pixels of a line that are data
	zeros := func(phase, l expr.Expr, first, count int) loop.Stmt {
		if count <= 0 {
			return &loop.Seq{}
		}
		return run(count*c.channels, func(i expr.Expr) loop.Stmt {
			return build.Set(to, expr.Const(c.data.DType.Compute(), 0), phase, expr.Add(expr.Mul(l, expr.Index(width)), expr.Add(expr.Index(first*c.channels), i)))
		})
	}
	return build.Each("phase", expr.Index(phases), func(phase expr.Expr) loop.Stmt {
		return build.Each("l", expr.Index(n), func(l expr.Expr) loop.Stmt {
			at := expr.Add(expr.Mul(expr.Add(line, l), expr.Index(c.strides[0])), expr.Sub(phase, expr.Index(c.padding[0])))
			return build.Bind("at", at, func(at expr.Expr) loop.Stmt {
				data := build.Do(
					zeros(phase, l, 0, c.padding[1]),
					run(max(0, inside)*c.channels, func(i expr.Expr) loop.Stmt {
						return build.Set(to, build.Get(c.data, image, at, i), phase, expr.Add(expr.Mul(l, expr.Index(width)), expr.Add(expr.Index(c.padding[1]*c.channels), i)))
					}),
					zeros(phase, l, c.padding[1]+inside, pixels-c.padding[1]-inside),
				)
				within := expr.And(expr.GE(at, expr.Index(0)), expr.LT(at, expr.Index(c.in[0])))
				return &loop.If{Cond: within, Then: data, Else: zeros(phase, l, 0, pixels)}
			})
		})
	})
}

// run is a loop over so many neighbouring bytes, in cache lines and a rest.
func run(n int, body func(i expr.Expr) loop.Stmt) loop.Stmt {
	vector := func(first expr.Expr, lanes int) loop.Stmt {
		return build.Loop(loop.Vector, "b", expr.Index(0), expr.Index(lanes), func(b expr.Expr) loop.Stmt { return body(expr.Add(first, b)) })
	}
	var list []loop.Stmt
	if n >= loop.LineBytes {
		list = append(list, build.Each("v", expr.Index(n/loop.LineBytes), func(v expr.Expr) loop.Stmt {
			return vector(expr.Mul(v, expr.Index(loop.LineBytes)), loop.LineBytes)
		}))
	}
	if rest := n % loop.LineBytes; rest > 0 {
		list = append(list, vector(expr.Index(n-rest), rest))
	}
	return build.Do(list...)
}
