package main

import (
	"errors"
	"flag"

	"lathe/bench/zoo"
)

// zooCommand writes the networks of package zoo, all or those named: zoo -o DIR [NAME ...].
const zooCommand = "zoo"

func writeZoo(args []string) error {
	f := flag.NewFlagSet(zooCommand, flag.ExitOnError)
	dir := f.String("o", defaultZoo(), "folder to write to")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *dir == "" {
		return errors.New("zoo: -o DIR is required")
	}
	return zoo.Write(*dir, f.Args())
}
