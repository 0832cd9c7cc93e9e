package frontend

// StateOption is of formats whose models keep variables from run to run.
var StateOption = Option{
	Name: "state", Doc: "variables that TensorFlow Lite and PyTorch models keep from run to run: reset (they start each run at their first value) or io (each is an input NAME and an output NAME:next)",
	Values: []string{"reset", "io"},
}

// A Format is a kind of model file.
type Format struct {
	Name       string   // as --model-format has it
	Doc        string   // what it is, for lists
	Extensions []string // that its files usually have
	Companions []string // endings of files that hold weights and no network
	// Identify reports whether a file is of the format, by its first bytes, up to HeadSize of them, and its path.
	Identify func(head []byte, path string) bool
	// Read maps and decodes the model in a file, with the files that belong to it. It checks form: whether Lathe has the operators
	// is told by Import. The caller owes the model a Close.
	Read func(path string) (*Model, error)
	// ReadWith is Read of a format that keeps weights in other files; it has this in place of Read.
	ReadWith func(path string, w Weights) (*Model, error)
	// Options are what models of this format leave to the user; Model.Set gives them.
	Options []Option
}

// An Option is a choice that models of one format leave to the user.
type Option struct {
	Name, Doc string   // as a flag has them
	Values    []string // the first holds where none is given
}

// HeadSize is how many bytes of a file Identify gets.
const HeadSize = 4096

// A Model is a file that has been read. Params point into the files that it maps, until Close.
type Model struct {
	Format string
	Graph  *Graph
	Table  *Table
	About  About
	Notes  []string        // for the user, when it is imported
	Err    error           // why it cannot be imported though its form is right, or nil
	Files  func() []string // files read so far beside its own
	Close  func() error
	// Set gives an option of the format one of its values, before Import; nil where the format has none.
	Set func(option, value string)
	// Reach makes Graph that of other outputs, by names of the file; of a format whose Graph leaves out what the model's own outputs do not need, else
	// nil. What Err says of the model's own outputs does not hold for others.
	Reach func(outputs []string) error
}

// About is what a file says about itself.
type About struct {
	Form     string // format and version, in words
	Producer string
	Version  int64          // of the file format
	Opsets   map[string]int // version of the operators by domain
}
