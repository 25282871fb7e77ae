// Checks dashboards and alerts with Prometheus' own parser and query engine, and Grafana's published schema.
//
//	dashboards queries SCRAPES QUERIES
//	dashboards panels SCRAPES DASHBOARD...
//	dashboards alerts SCRAPES RULES... CASES
//
// SCRAPES is a JSON file: a list of targets, each with `files`, scrapes of it in their order, and with the
// `labels` that a Prometheus in the cluster would add.
package main

import (
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 3 {
		return fmt.Errorf("usage: dashboards queries|panels|alerts SCRAPES FILE...")
	}
	series, err := read(args[1])
	if err != nil {
		return err
	}
	switch files := args[2:]; {
	case args[0] == "queries" && len(files) == 1:
		return queries(series, files[0])
	case args[0] == "panels":
		return panels(series, files)
	case args[0] == "alerts" && len(files) > 1:
		last := len(files) - 1
		return alerts(series, files[:last], files[last])
	}
	return fmt.Errorf("usage: dashboards queries|panels|alerts SCRAPES FILE...")
}
