// Renews what tests/data/controller-gen/cronjob-v1.tsv says about the fields of Kubernetes' own types: the nodes below
// spec.jobTemplate in the CRD that controller-gen makes of api/v1. The other lines of the file stay. Run it in this folder
// with `go run .`, with the versions of k8s.io/api and controller-tools that go.mod has.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

const (
	facts = "../../data/controller-gen/cronjob-v1.tsv"
	root  = ".spec.jobTemplate"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run() error {
	generate := exec.Command("go", "tool", "controller-gen", "crd", "paths=./api/...", "output:crd:stdout")
	generate.Stderr = os.Stderr
	text, err := generate.Output()
	if err != nil {
		return err
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema map[string]any `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		return err
	}
	var lines []string
	if err := describe(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, "", &lines); err != nil {
		return err
	}
	isBelow := func(line string) bool {
		path := strings.Split(line, "\t")[1]
		return path == root || strings.HasPrefix(path, root+".")
	}
	old, err := os.ReadFile(facts)
	if err != nil {
		return err
	}
	lines = slices.DeleteFunc(lines, func(line string) bool { return !isBelow(line) })
	for line := range strings.Lines(string(old)) {
		if line = strings.TrimSuffix(line, "\n"); !isBelow(line) {
			lines = append(lines, line)
		}
	}
	// As before, in the order of the paths.
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(strings.Split(a, "\t")[1], strings.Split(b, "\t")[1]) })
	return os.WriteFile(facts, []byte(strings.Join(lines, "\n")+"\n"), 0o644)
}

// describe appends a line for a node and each node below it: version, path, type, and the other keywords as JSON.
func describe(node map[string]any, path string, lines *[]string) error {
	properties, _ := node["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if err := describe(properties[name].(map[string]any), path+"."+name, lines); err != nil {
			return err
		}
	}
	for key, step := range map[string]string{"items": "[]", "additionalProperties": "{}"} {
		if below, ok := node[key].(map[string]any); ok {
			if err := describe(below, path+step, lines); err != nil {
				return err
			}
		}
	}
	kind, ok := node["type"].(string)
	if !ok {
		kind = "-"
	}
	for _, key := range []string{"type", "description", "properties", "items", "additionalProperties"} {
		delete(node, key)
	}
	rest := ""
	if len(node) > 0 {
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(node); err != nil {
			return err
		}
		rest = strings.TrimSpace(text.String())
	}
	*lines = append(*lines, strings.Join([]string{"v1", path, kind, rest}, "\t"))
	return nil
}
