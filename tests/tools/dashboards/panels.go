package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// Fails if a line of the file is a query without a result.
func queries(all []series, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	known := map[string]string{}
	for _, label := range []string{"job", "namespace", "pod"} {
		known[label] = all[0].labels.Get(label)
	}
	return answered(all, strings.Split(strings.TrimSpace(string(text)), "\n"), known)
}

// Fails if a dashboard does not fit Grafana's schema, or has a variable without values or a panel without data.
func panels(all []series, paths []string) error {
	runtime := cog.NewRuntime()
	runtime.RegisterDataqueryVariant(prometheus.VariantConfig())
	runtime.RegisterPanelcfgVariant(stat.VariantConfig())
	runtime.RegisterPanelcfgVariant(table.VariantConfig())
	runtime.RegisterPanelcfgVariant(timeseries.VariantConfig())
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var schema dashboard.Dashboard
		for _, err := range []error{schema.UnmarshalJSONStrict(text), schema.Validate()} {
			// The schema of a query returns an empty list of errors that is not nil.
			if err != nil && err.Error() != "" {
				return fmt.Errorf("%s does not fit Grafana's schema: %w", path, err)
			}
		}
		var board board
		if err := json.Unmarshal(text, &board); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := ids(board); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		known, err := variables(all, schema)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		var texts []string
		for _, panel := range board.Panels {
			if _, isKnown := runtime.ConfigForPanelcfgVariant(panel.Type); !isKnown && panel.Type != "row" {
				return fmt.Errorf("%s: the schema of a panel %q is not checked: register it here", path, panel.Type)
			}
			if panel.Type != "row" && len(panel.Targets) == 0 {
				return fmt.Errorf("%s: %q has no query", path, panel.Title)
			}
			for _, target := range panel.Targets {
				texts = append(texts, target.Expr)
			}
		}
		if err := answered(all, texts, known); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// What is read of a dashboard. Rows are not collapsed, so that their panels are not in them.
type board struct {
	Panels []struct {
		ID      int
		Title   string
		Type    string
		GridPos struct{ X, Y, W, H int }
		Targets []struct{ Expr string }
	}
}

// Fails if two panels have the same id, or lie on each other.
func ids(board board) error {
	seen := map[int]bool{}
	taken := map[[2]int]string{}
	for _, panel := range board.Panels {
		if panel.ID == 0 || panel.Title == "" || panel.GridPos.W == 0 || seen[panel.ID] {
			return fmt.Errorf("%q has no title, place or id of its own", panel.Title)
		}
		seen[panel.ID] = true
		place := panel.GridPos
		for x := place.X; x < place.X+place.W; x++ {
			for y := place.Y; y < place.Y+place.H; y++ {
				if other, is := taken[[2]int{x, y}]; is || x >= 24 {
					return fmt.Errorf("%q has no place of its own: %q", panel.Title, other)
				}
				taken[[2]int{x, y}] = panel.Title
			}
		}
	}
	return nil
}

var labelValues = regexp.MustCompile(`^label_values\((.+), *([a-zA-Z_]+)\)$`)

// A value of each variable, as Grafana would offer it.
func variables(all []series, board dashboard.Dashboard) (map[string]string, error) {
	known := map[string]string{"__rate_interval": "5m"}
	for _, variable := range board.Templating.List {
		if variable.Type == dashboard.VariableTypeDatasource {
			continue
		}
		definition := ""
		if variable.Query != nil && variable.Query.String != nil {
			definition = *variable.Query.String
		}
		parts := labelValues.FindStringSubmatch(replaced(definition, known))
		if parts == nil {
			return nil, fmt.Errorf("the variable %s is not label_values(SELECTOR, LABEL): %q", variable.Name, definition)
		}
		found, err := selected(all, parts[1])
		if err != nil {
			return nil, err
		}
		for _, one := range found {
			value := one.labels.Get(parts[2])
			if variable.Regex != nil && *variable.Regex != "" {
				pattern, err := regexp.Compile(strings.Trim(*variable.Regex, "/"))
				if err != nil {
					return nil, err
				}
				if parts := pattern.FindStringSubmatch(value); parts != nil {
					value = parts[1]
				}
			}
			known[variable.Name] = value
		}
		if known[variable.Name] == "" {
			return nil, fmt.Errorf("the variable %s has no values", variable.Name)
		}
		fmt.Printf("     $%s = %s\n", variable.Name, known[variable.Name])
	}
	return known, nil
}

// The text with values in place of variables.
func replaced(text string, known map[string]string) string {
	return os.Expand(text, func(name string) string {
		if value, isKnown := known[name]; isKnown {
			return value
		}
		return "${" + name + "}"
	})
}

// Fails if a query has no result.
func answered(all []series, texts []string, known map[string]string) error {
	var unanswered []string
	for _, text := range texts {
		query := replaced(text, known)
		result, err := ask(all, query, end(all))
		if err != nil {
			return err
		}
		fmt.Printf("%3d  %s\n", len(result), query)
		if len(result) == 0 {
			unanswered = append(unanswered, query)
		}
	}
	if len(texts) == 0 || len(unanswered) > 0 {
		list, _ := json.MarshalIndent(unanswered, "", "  ")
		return fmt.Errorf("%d of %d queries have no result: %s", len(unanswered), len(texts), list)
	}
	return nil
}
