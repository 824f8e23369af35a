// Command schema writes the published JSON Schema of the stored documents.
package main

import (
	"log"
	"os"
	"path/filepath"

	"stagger/edge/profile/jsonschema"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("schema: ")
	if len(os.Args) != 2 {
		log.Fatal("usage: schema FOLDER")
	}
	for _, d := range jsonschema.Documents {
		schema, err := jsonschema.Generate(d)
		if err == nil {
			err = os.WriteFile(filepath.Join(os.Args[1], d.File), schema, 0o644)
		}
		if err != nil {
			log.Fatalf("%s: %v", d.File, err)
		}
	}
}
