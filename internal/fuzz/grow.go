package fuzz

import (
	"math/rand/v2"

	"lathe/internal/graphtest"
)

func grown(r *rand.Rand, s *Sources) ([]byte, graphtest.Data, error)   { return mixed(r, s) }
func control(r *rand.Rand, s *Sources) ([]byte, graphtest.Data, error) { return mixed(r, s) }
