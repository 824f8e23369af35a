package main

import "encoding/json"

func printWorkers(raw json.RawMessage) error { println(string(raw)); return nil }
