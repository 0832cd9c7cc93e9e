package evaluate

import (
	"errors"

	"lathe/internal/bundle"
)

// BadSample is one that is no input of a variant.
type BadSample struct {
	Name  string `json:"name"`
	Error string `json:"error"`
}

// badSamples names the samples that are no inputs of a variant. It is an error if none was one.
func (j *Job) badSamples(r *Report, bad map[int]bool) error {
	most := 0
	for _, v := range r.Variants {
		most = max(most, len(v.classes))
	}
	for c := range most {
		r.Data.Classes = append(r.Data.Classes, j.Set.ClassName(c))
	}
	first := error(nil)
	for i, x := range j.Set.Samples {
		if !bad[i] {
			continue
		}
		err := j.whyBad(i)
		if err == nil {
			err = errors.New("it could not be read before; remove the folder of results and try again")
		}
		if first == nil {
			first = err
		}
		r.Data.Bad = append(r.Data.Bad, BadSample{x.Name, err.Error()})
	}
	for _, v := range r.Variants {
		if v.Error == "" && v.Samples == 0 && len(v.outcomes) > 0 {
			return first
		}
	}
	return nil
}

// whyBad reads a bad sample again.
func (j *Job) whyBad(i int) error {
	value, err := j.Set.Read(i)
	if err != nil {
		return err
	}
	for _, v := range j.Variants {
		if v.Err != nil {
			continue
		}
		p, err := bundle.Open(v.Package)
		if err != nil {
			continue
		}
		inputs := p.Manifest.Inputs
		p.Close()
		for _, in := range inputs {
			if _, err := value.Fill(j.input(in), j.Settings); err != nil {
				return err
			}
		}
	}
	return nil
}
