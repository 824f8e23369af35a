# Everything is reached from here; "make help" lists it. All output is in
# build/out, all npm packages in build/node_modules, and nothing else is written.

SHELL := /bin/bash
out   := build/out
fleet ?= testdata/fleets/demo.jsonl
# How long "make fuzz" gives each fuzz test.
FUZZTIME ?= 1m

.DEFAULT_GOAL := help
.PHONY: help run test build wasm worker deploy-check bench soak fuzz generate check-vendor zones golden clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 15

run: build ## serve the demo fleet on 127.0.0.1:8080 and show what each phone gets
	@build/run.sh $(fleet)

test: ## set up what is missing and test everything, on all four engines
	@build/test.sh

build: $(out)/stagger ## build the command: build/out/stagger

$(out)/stagger: FORCE
	@mkdir -p $(out)
	@go build -trimpath -o $@ ./host
FORCE:

wasm: ## build the core with TinyGo: build/out/edge.wasm
	@build/wasm.sh

worker: wasm build build/node_modules ## run the Worker in workerd on 127.0.0.1:8787, with the demo fleet
	@build/demo-key.sh node build/worker.mjs dev $(fleet)

deploy-check: wasm build/node_modules ## build what "wrangler deploy" would upload, and print its size
	@node build/worker.mjs deploy-check

build/node_modules: build/package-lock.json
	@build/npm.sh

bench: wasm build/node_modules ## compare the core with the standard library and with JavaScript
	@go run ./host/bench

soak: wasm ## answer a million requests through the module and watch its memory
	@go run ./host/bench -soak 1000000

fuzz: ## run every fuzz test for FUZZTIME (1m)
	@build/fuzz.sh $(FUZZTIME)

generate: ## compile the vendor packs and the JSON Schemas
	@go run ./build/packs vendors
	@go run ./build/schema testdata/schema

check-vendor: ## say what the vendor pack V has and lacks: make check-vendor V=snom
	@go run ./build/checkvendor "$(V)"

zones: ## renew the table of time zones: changes the files of phones
	@go run ./build/zones edge/zone/table.go

golden: ## write the responses of the corpus anew: changes the files of phones
	-@go test ./host/corpus -run TestCorpus -update

clean: ## remove everything that was built
	@rm -rf $(out) build/node_modules
