package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"
)

// What must and what must not cause an alert: lines with a selector, and with values in Prometheus' notation for
// tests, one for each minute. They replace those of the series in the scrape.
type cases struct {
	Fires, Quiet [][]string
}

// Fails if an alert does not behave as its cases say, or has none. Each of several operators in one Prometheus has its
// rules, with the same alerts.
func alerts(all []series, operators []string, path string) error {
	var rules, records []rulefmt.Rule
	for number, operator := range operators {
		groups, err := parsed(operator)
		if err != nil {
			return fmt.Errorf("%s: %w", operator, err)
		}
		for _, group := range groups.Groups {
			for _, rule := range group.Rules {
				switch {
				case rule.Record != "":
					records = append(records, rule)
				case number == 0:
					rules = append(rules, rule)
				}
			}
		}
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
	for _, rule := range rules {
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
			problems = append(problems, check(all, records, rule, one, false))
		}
		for _, one := range found.Fires {
			problems = append(problems, check(all, records, rule, one, true))
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

// Checks for which namespaces the alert fires: those of the series that the lines change, or none.
func check(all []series, records []rulefmt.Rule, rule rulefmt.Rule, lines []string, fires bool) error {
	changed, namespaces, err := with(all, lines)
	if err != nil {
		return fmt.Errorf("%s: %w", rule.Alert, err)
	}
	for _, record := range records {
		if changed, err = recorded(changed, record); err != nil {
			return err
		}
	}
	when, err := firing(changed, rule)
	if err != nil {
		return fmt.Errorf("%s: %w", rule.Alert, err)
	}
	if !fires {
		namespaces = nil
	}
	if fired := slices.Sorted(maps.Keys(when)); !slices.Equal(fired, namespaces) {
		return fmt.Errorf("%s fires for the namespaces %q and not for %q: %s", rule.Alert, fired, namespaces, lines)
	}
	for namespace, minutes := range when {
		fmt.Printf("%s fires after %d minutes: %s\n", rule.Alert, minutes, namespace)
	}
	return nil
}

// Adds the series of a recording rule.
func recorded(all []series, rule rulefmt.Rule) ([]series, error) {
	record := series{}
	for step := 0; !at(step).After(end(all)); step++ {
		result, err := ask(all, rule.Expr, at(step))
		if err != nil {
			return nil, err
		}
		if len(result) != 1 {
			return nil, fmt.Errorf("%s: %d series", rule.Record, len(result))
		}
		builder := labels.NewBuilder(result[0].Metric).Set("__name__", rule.Record)
		for name, text := range rule.Labels {
			builder.Set(name, text)
		}
		record.labels = builder.Labels()
		record.values = append(record.values, result[0].F)
	}
	return append(all, record), nil
}

// For each namespace of which the rule fires, after how many minutes it first does.
func firing(all []series, rule rulefmt.Rule) (map[string]int, error) {
	when, since := map[string]int{}, map[string]int{}
	for step := 0; !at(step).After(end(all)); step++ {
		result, err := ask(all, rule.Expr, at(step))
		if err != nil {
			return nil, err
		}
		still := map[string]int{}
		for _, sample := range result {
			namespace := sample.Metric.Get("namespace")
			if namespace != "" && sample.Metric.Get("job") == "" {
				return nil, fmt.Errorf("an alert without a job: %s", sample.Metric)
			}
			key := sample.Metric.String()
			still[key] = step
			if first, was := since[key]; was {
				still[key] = first
			}
			if _, fires := when[namespace]; !fires && time.Duration(step-still[key])*interval >= time.Duration(rule.For) {
				when[namespace] = step
			}
		}
		since = still
	}
	return when, nil
}

var days = regexp.MustCompile(`in\((\d+)d\)`)

// The last value of each series for an hour or as long as the changes take, with the changes; and the namespaces of the
// series that they change.
func with(all []series, lines []string) ([]series, []string, error) {
	steps, namespaces := 60, map[string]bool{}
	values := map[int][]parser.SequenceValue{}
	for _, line := range lines {
		// The time in a number of days.
		line = days.ReplaceAllStringFunc(line, func(word string) string {
			count, _ := strconv.Atoi(days.FindStringSubmatch(word)[1])
			return strconv.FormatInt(start.AddDate(0, 0, count).Unix(), 10)
		})
		wanted, described, err := parser.ParseSeriesDesc(strings.TrimSpace(line))
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", line, err)
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
				namespaces[one.labels.Get("namespace")] = true
			}
		}
		if !any {
			return nil, nil, fmt.Errorf("%s: the scrape has no such series", wanted)
		}
	}
	var changed []series
	for index, one := range all {
		now := series{labels: one.labels}
		last := one.values[len(one.values)-1]
		for step := range steps {
			if described := values[index]; step < len(described) {
				last = described[step].Value
				if described[step].Omitted {
					last = math.Float64frombits(value.StaleNaN)
				}
			}
			now.values = append(now.values, last)
		}
		changed = append(changed, now)
	}
	return changed, slices.Sorted(maps.Keys(namespaces)), nil
}
