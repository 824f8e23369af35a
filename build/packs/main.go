// Command packs compiles the vendor packs, vendors/*/, into vendors/packs.go, the
// form in which the core carries them.
package main

import (
	"log"
	"os"

	"stagger/edge/pack/source"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("packs: ")
	if len(os.Args) != 2 {
		log.Fatal("usage: packs VENDORS-FOLDER")
	}
	packs, err := source.Load(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	generated, err := source.Generate(packs)
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(os.Args[1]+"/packs.go", generated, 0o644); err != nil {
		log.Fatal(err)
	}
}
