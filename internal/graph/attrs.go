package graph

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"lathe/internal/op"
	"lathe/internal/types"
)

// Attributes in text are {name=value, ...}, one for each field of the struct that is not zero, in the order of the fields.
// A field may be a boolean, an integer, a float, a string (types.Layout is one), a types.DType, a struct of these or a
// slice of these, of any depth. nil and empty slices are different values: the latter prints as [].

var dtypeType = reflect.TypeFor[types.DType]()

// CheckAttrs reports whether d's attributes have a text form, which every operator that graphs hold needs.
func CheckAttrs(d *op.Def) error {
	if d.NewAttrs == nil {
		return nil
	}
	ptr, _ := d.NewAttrs()
	t := reflect.TypeOf(ptr).Elem()
	if t.Kind() != reflect.Struct {
		return fmt.Errorf("%s: attributes of type %s, which is no struct", d.Name, t)
	}
	if err := checkAttrType(t, 0); err != nil {
		return fmt.Errorf("%s: %w", d.Name, err)
	}
	return nil
}

func checkAttrType(t reflect.Type, depth int) error {
	if depth > maxNesting {
		return fmt.Errorf("attribute type %s is recursive", t)
	}
	switch k := t.Kind(); {
	case isScalarAttr(k):
		return nil
	case k == reflect.Slice:
		return checkAttrType(t.Elem(), depth+1)
	case k == reflect.Struct:
		seen := map[string]bool{}
		for i := range t.NumField() {
			f := t.Field(i)
			name := snake(f.Name)
			switch err := checkAttrType(f.Type, depth+1); {
			case err != nil:
				return fmt.Errorf("field %s: %w", f.Name, err)
			case !f.IsExported():
				return fmt.Errorf("field %s is not exported", f.Name)
			case seen[name]:
				return fmt.Errorf("two fields are %s in text", name)
			}
			seen[name] = true
		}
		return nil
	}
	return fmt.Errorf("attribute type %s has no text form", t)
}

func isScalarAttr(k reflect.Kind) bool {
	return k >= reflect.Bool && k <= reflect.Uint64 || k == reflect.Float32 || k == reflect.Float64 || k == reflect.String
}

// snake turns a field name into its text form: PadBefore is pad_before, OutDType is out_dtype.
func snake(name string) string {
	name = strings.ReplaceAll(name, "DType", "Dtype")
	isUpper := func(i int) bool { return i < len(name) && name[i] >= 'A' && name[i] <= 'Z' }
	isLower := func(i int) bool { return i < len(name) && name[i] >= 'a' && name[i] <= 'z' }
	var b strings.Builder
	for i := range len(name) {
		if isUpper(i) && i > 0 && (!isUpper(i-1) || isLower(i+1)) && name[i-1] != '_' {
			b.WriteByte('_')
		}
		b.WriteByte(name[i])
	}
	return strings.ToLower(b.String())
}

// AttrsText is attributes as the printer writes them; empty when all are zero.
func AttrsText(a any) string { return strings.TrimSpace(string(appendAttrs(nil, a))) }

// appendAttrs prints the attribute struct a, or nothing when all of it is zero. What has no text form prints with a
// question mark, which does not parse.
func appendAttrs(b []byte, a any) []byte {
	v := reflect.ValueOf(a)
	if !v.IsValid() || v.Kind() == reflect.Struct && isZero(v) {
		return b
	}
	return appendAttr(append(b, ' '), v)
}

// isZero is v.IsZero(), but for negative zeros, which have text.
func isZero(v reflect.Value) bool {
	switch {
	case v.CanFloat():
		return math.Float64bits(v.Float()) == 0
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if !isZero(v.Field(i)) {
				return false
			}
		}
		return true
	}
	return v.IsZero()
}

func appendAttr(b []byte, v reflect.Value) []byte {
	if v.Type() == dtypeType {
		return append(b, types.DType(v.Uint()).String()...)
	}
	switch k := v.Kind(); {
	case k == reflect.Struct:
		return appendFields(b, v)
	case k == reflect.Slice && v.IsNil():
		return append(b, "nil"...)
	case k == reflect.Slice:
		b = append(b, '[')
		for i := range v.Len() {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendAttr(b, v.Index(i))
		}
		return append(b, ']')
	case k == reflect.Bool:
		return strconv.AppendBool(b, v.Bool())
	case v.CanInt():
		return strconv.AppendInt(b, v.Int(), 10)
	case isScalarAttr(k) && v.CanUint():
		return strconv.AppendUint(b, v.Uint(), 10)
	case v.CanFloat():
		return append(b, formatFloat(v.Float(), v.Type().Bits())...)
	case k == reflect.String:
		return strconv.AppendQuote(b, v.String())
	}
	return append(append(b, '?'), v.Type().String()...)
}

func appendFields(b []byte, v reflect.Value) []byte {
	b = append(b, '{')
	first := true
	for i := range v.NumField() {
		if isZero(v.Field(i)) {
			continue
		}
		if !first {
			b = append(b, ", "...)
		}
		first = false
		b = append(append(b, snake(v.Type().Field(i).Name)...), '=')
		b = appendAttr(b, v.Field(i))
	}
	return append(b, '}')
}

// formatFloat prints the shortest text that gives f back.
func formatFloat(f float64, bits int) string {
	return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(f, 'g', -1, bits), "+"))
}

// attrs reads the attributes of an operator, which may be left out when all are zero.
func (p *parser) attrs(d *op.Def) any {
	if d.NewAttrs == nil {
		if p.is("{") {
			p.failf("%s has no attributes", d.Name)
		}
		return op.None{}
	}
	ptr, get := d.NewAttrs()
	if v := reflect.ValueOf(ptr).Elem(); p.is("{") {
		if v.Kind() != reflect.Struct {
			p.failf("%s has no attributes with a text form", d.Name)
			return nil
		}
		p.fields(v)
	}
	return get()
}

func (p *parser) fields(v reflect.Value) {
	p.expect("{")
	seen := map[string]bool{}
	for !p.accept("}") && p.err == nil {
		if len(seen) > 0 {
			p.expect(",")
		}
		at := p.pos
		name := p.word()
		f := fieldNamed(v, name)
		if !f.IsValid() {
			p.failAt(at, "no attribute %q", name)
			return
		}
		if seen[name] {
			p.failAt(at, "attribute %q twice", name)
			return
		}
		seen[name] = true
		p.expect("=")
		p.attr(f)
	}
}

// fieldNamed finds the exported field of the struct v that is name in text.
func fieldNamed(v reflect.Value, name string) reflect.Value {
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() && snake(f.Name) == name {
			return v.Field(i)
		}
	}
	return reflect.Value{}
}

// attr reads a value into v, whose type says what is expected.
func (p *parser) attr(v reflect.Value) {
	if v.Type() == dtypeType {
		p.dtypeAttr(v)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		p.fields(v)
	case reflect.Slice:
		p.list(v)
	case reflect.String:
		v.SetString(p.quoted())
	default:
		p.scalar(v)
	}
}

// dtypeAttr accepts "invalid" too: inside lists zero values are printed.
func (p *parser) dtypeAttr(v reflect.Value) {
	at := p.pos
	name := p.word()
	if name == types.Invalid.String() {
		v.SetZero()
		return
	}
	d, err := types.ParseDType(name)
	if err != nil {
		p.failAt(at, "%w", err)
	}
	v.SetUint(uint64(d))
}

func (p *parser) list(v reflect.Value) {
	if p.acceptWord("nil") {
		v.SetZero()
		return
	}
	p.expect("[")
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	for !p.accept("]") && p.err == nil {
		if v.Len() > 0 {
			p.expect(",")
		}
		e := reflect.New(v.Type().Elem()).Elem()
		p.attr(e)
		v.Set(reflect.Append(v, e))
	}
}

func (p *parser) scalar(v reflect.Value) {
	at := p.pos
	s := p.number()
	var err error
	switch {
	case v.Kind() == reflect.Bool:
		v.SetBool(s == "true")
		if s != "true" && s != "false" {
			err = fmt.Errorf("%q is neither true nor false", s)
		}
	case v.CanInt():
		var n int64
		n, err = strconv.ParseInt(s, 10, v.Type().Bits())
		v.SetInt(n)
	case isScalarAttr(v.Kind()) && v.CanUint():
		var n uint64
		n, err = strconv.ParseUint(s, 10, v.Type().Bits())
		v.SetUint(n)
	case v.CanFloat():
		var f float64
		f, err = strconv.ParseFloat(s, v.Type().Bits())
		v.SetFloat(f)
	default:
		err = fmt.Errorf("attribute type %s has no text form", v.Type())
	}
	if err != nil {
		p.failAt(at, "%w", err)
	}
}

// SetAttr sets an attribute by its name in text, such as pad_before. attrs points to the struct; v is an int64, a float64, a bool, a string, or a
// []any of these.
func SetAttr(attrs any, name string, v any) error {
	f := fieldNamed(reflect.ValueOf(attrs).Elem(), name)
	if !f.IsValid() {
		return fmt.Errorf("no attribute %q", name)
	}
	if err := setAttr(f, v); err != nil {
		return fmt.Errorf("attribute %s: %w", name, err)
	}
	return nil
}

func setAttr(f reflect.Value, v any) error {
	if list, ok := v.([]any); ok && f.Kind() == reflect.Slice {
		f.Set(reflect.MakeSlice(f.Type(), len(list), len(list)))
		for i, x := range list {
			if err := setAttr(f.Index(i), x); err != nil {
				return err
			}
		}
		return nil
	}
	r := reflect.ValueOf(v)
	if fits := v != nil && (r.Kind() == f.Kind() || r.CanInt() && (f.CanInt() || f.CanFloat()) || r.CanFloat() && f.CanFloat()); !fits {
		return fmt.Errorf("%v is no %s", v, f.Type())
	}
	f.Set(r.Convert(f.Type()))
	return nil
}
