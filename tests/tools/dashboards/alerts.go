package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"
)

// What must and what must not cause an alert: lines with a selector, and with values in Prometheus' notation for
// tests, one for each minute. They replace those of the series in the scrape.
type cases struct {
	Fires, Quiet [][]string
}

// Fails if an alert does not behave as its cases say, or has none.
func alerts(all []series, rules, path string) error {
	groups, err := parsed(rules)
	if err != nil {
		return fmt.Errorf("%s: %w", rules, err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	of := map[string]cases{}
	if err := decoder.Decode(&of); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	var problems []error
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			found := of[rule.Alert]
			delete(of, rule.Alert)
			if len(found.Fires) == 0 || len(found.Quiet) == 0 {
				problems = append(problems, fmt.Errorf("%s: no case in which it fires, or none in which it does not", rule.Alert))
			}
			for _, annotation := range []string{"summary", "description", "runbook"} {
				if rule.Annotations[annotation] == "" {
					problems = append(problems, fmt.Errorf("%s: no %s", rule.Alert, annotation))
				}
			}
			// Without a change, the scrape of an operator in which nothing is wrong.
			for _, one := range append(found.Quiet, nil) {
				problems = append(problems, check(all, rule, one, false))
			}
			for _, one := range found.Fires {
				problems = append(problems, check(all, rule, one, true))
			}
		}
	}
	for name := range of {
		problems = append(problems, fmt.Errorf("%s: no such alert", name))
	}
	return errors.Join(problems...)
}

// The groups of a PrometheusRule, which are those of a file for Prometheus.
func parsed(path string) (*rulefmt.RuleGroups, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var object struct {
		Spec yaml.Node
	}
	if err := yaml.Unmarshal(text, &object); err != nil {
		return nil, err
	}
	spec, err := yaml.Marshal(&object.Spec)
	if err != nil {
		return nil, err
	}
	groups, problems := rulefmt.Parse(spec, false, model.UTF8Validation)
	return groups, errors.Join(problems...)
}

func check(all []series, rule rulefmt.Rule, lines []string, fires bool) error {
	changed, err := with(all, lines)
	if err != nil {
		return fmt.Errorf("%s: %w", rule.Alert, err)
	}
	when, err := firing(changed, rule)
	if err != nil {
		return fmt.Errorf("%s: %w", rule.Alert, err)
	}
	switch {
	case fires && when < 0:
		return fmt.Errorf("%s does not fire: %s", rule.Alert, lines)
	case !fires && when >= 0:
		return fmt.Errorf("%s fires after %d minutes: %s", rule.Alert, when, lines)
	case fires:
		fmt.Printf("%s fires after %d minutes\n", rule.Alert, when)
	}
	return nil
}

// After how many minutes the rule first fires; negative if it does not.
func firing(all []series, rule rulefmt.Rule) (int, error) {
	since := map[string]int{}
	for step := 0; !at(step).After(end(all)); step++ {
		result, err := ask(all, rule.Expr, at(step))
		if err != nil {
			return 0, err
		}
		still := map[string]int{}
		for _, sample := range result {
			key := sample.Metric.String()
			still[key] = step
			if first, was := since[key]; was {
				still[key] = first
			}
			if time.Duration(step-still[key])*interval >= time.Duration(rule.For) {
				return step, nil
			}
		}
		since = still
	}
	return -1, nil
}

var days = regexp.MustCompile(`in\((\d+)d\)`)

// The last value of each series for an hour or as long as the changes take, with the changes.
func with(all []series, lines []string) ([]series, error) {
	steps := 60
	values := map[int][]parser.SequenceValue{}
	for _, line := range lines {
		// The time in a number of days.
		line = days.ReplaceAllStringFunc(line, func(word string) string {
			count, _ := strconv.Atoi(days.FindStringSubmatch(word)[1])
			return strconv.FormatInt(start.AddDate(0, 0, count).Unix(), 10)
		})
		wanted, described, err := parser.ParseSeriesDesc(strings.TrimSpace(line))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", line, err)
		}
		steps = max(steps, len(described))
		any := false
		for index, one := range all {
			fits := true
			wanted.Range(func(label labels.Label) {
				fits = fits && one.labels.Get(label.Name) == label.Value
			})
			if fits {
				values[index], any = described, true
			}
		}
		if !any {
			return nil, fmt.Errorf("%s: the scrape has no such series", wanted)
		}
	}
	var changed []series
	for index, one := range all {
		now := series{labels: one.labels}
		last := one.values[len(one.values)-1]
		for step := range steps {
			if described := values[index]; step < len(described) {
				last = described[step].Value
			}
			now.values = append(now.values, last)
		}
		changed = append(changed, now)
	}
	return changed, nil
}
