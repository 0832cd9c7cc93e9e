// Command prior trains what the tuner's model knows before the first trial, from files of records: make prior RECORDS="...".
package main

import (
	"flag"
	"fmt"
	"log"
	"os"

	"lathe/internal/records"
	"lathe/internal/tune"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("prior: ")
	out := flag.String("o", "internal/tune/prior.json", "`file` to write")
	flag.Parse()
	if flag.NArg() == 0 {
		log.Fatal("no file of records is named")
	}
	c, err := records.ReadFiles(flag.Args()...)
	if err != nil {
		log.Fatal(err)
	}
	list, err := records.Merge(c.Records) // one order, whatever that of the files
	if err != nil {
		log.Fatal(err)
	}
	p, err := tune.TrainPrior(list)
	if err != nil {
		log.Fatal(err)
	}
	text, err := p.Text()
	if err != nil {
		log.Fatal(err)
	}
	if _, err := tune.ReadPrior(text); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(*out, text, 0o666); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %d bytes, of %d records on %v\n", *out, len(text), p.Examples, p.Machines)
}
