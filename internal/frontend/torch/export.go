package torch

import (
	"errors"

	"lathe/internal/frontend"
)

func readExport(a *archive) (*frontend.Model, error) { return nil, errors.New("not yet") }
