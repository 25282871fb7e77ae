package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
)

// The time between two samples.
const interval = time.Minute

// The time of the first sample.
var start = time.Now().Truncate(interval)

// A series with its values, one for each interval.
type series struct {
	labels labels.Labels
	values []float64
}

// The time of the last sample.
func end(all []series) time.Time {
	last := 0
	for _, one := range all {
		last = max(last, len(one.values)-1)
	}
	return at(last)
}

func at(step int) time.Time {
	return start.Add(time.Duration(step) * interval)
}

// Reads the scrapes that a file lists, and adds the series `up` of each target.
func read(path string) ([]series, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var targets []struct {
		Labels map[string]string
		Files  []string
	}
	if err := json.Unmarshal(text, &targets); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var all []series
	for _, target := range targets {
		added := labels.FromMap(target.Labels)
		found := map[string]*series{}
		var order []string
		add := func(own labels.Labels, value float64) {
			all := labels.NewBuilder(added)
			// As with `honor_labels`.
			own.Range(func(label labels.Label) { all.Set(label.Name, label.Value) })
			key := all.Labels().String()
			if found[key] == nil {
				found[key] = &series{labels: all.Labels()}
				order = append(order, key)
			}
			found[key].values = append(found[key].values, value)
		}
		for _, file := range target.Files {
			add(labels.FromStrings("__name__", "up"), 1)
			if err := samples(filepath.Join(filepath.Dir(path), file), add); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
		}
		for _, key := range order {
			// A series that is missing in the first scrapes is in the last ones.
			all = append(all, *found[key])
		}
	}
	return all, nil
}

// Calls `add` with each sample of a scrape.
func samples(path string, add func(labels.Labels, float64)) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	contentType := "text/plain"
	if bytes.HasSuffix(text, []byte("# EOF\n")) {
		contentType = "application/openmetrics-text"
	}
	entries, err := textparse.New(text, contentType, labels.NewSymbolTable(), textparse.ParserOptions{})
	if err != nil {
		return err
	}
	for {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if entry == textparse.EntrySeries {
			var own labels.Labels
			entries.Labels(&own)
			_, _, value := entries.Series()
			add(own, value)
		}
	}
}

var engine = promql.NewEngine(promql.EngineOpts{MaxSamples: 1_000_000, Timeout: time.Minute})

// The result of a query at a time.
func ask(all []series, text string, at time.Time) (promql.Vector, error) {
	ctx := context.Background()
	query, err := engine.NewInstantQuery(ctx, queryable(all), nil, text, at)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	defer query.Close()
	result := query.Exec(ctx)
	if result.Err != nil {
		return nil, fmt.Errorf("%s: %w", text, result.Err)
	}
	if result.Value.Type() != parser.ValueTypeVector {
		return nil, fmt.Errorf("%s: the result is a %s", text, result.Value.Type())
	}
	vector, err := result.Vector()
	// The query's memory is used again once it is closed.
	return append(promql.Vector{}, vector...), err
}

// The series of a selector, such as `up{job="a"}`.
func selected(all []series, selector string) ([]series, error) {
	matchers, err := parser.ParseMetricSelector(selector)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", selector, err)
	}
	return matching(all, matchers), nil
}

func matching(all []series, matchers []*labels.Matcher) []series {
	var found []series
	for _, one := range all {
		matches := true
		for _, matcher := range matchers {
			matches = matches && matcher.Matches(one.labels.Get(matcher.Name))
		}
		if matches {
			found = append(found, one)
		}
	}
	return found
}

// A database of series.
func queryable(all []series) storage.Queryable {
	choose := func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
		return &set{series: matching(all, matchers)}
	}
	return &storage.MockQueryable{MockQuerier: &storage.MockQuerier{SelectMockFunction: choose}}
}

type set struct {
	storage.SeriesSet
	series []series
	at     series
}

func (s *set) Next() bool {
	if len(s.series) == 0 {
		s.SeriesSet = storage.EmptySeriesSet()
		return false
	}
	s.SeriesSet = storage.EmptySeriesSet()
	s.at, s.series = s.series[0], s.series[1:]
	return true
}

func (s *set) At() storage.Series {
	var samples []chunks.Sample
	for step, value := range s.at.values {
		samples = append(samples, sample{at(step).UnixMilli(), value})
	}
	return storage.NewListSeries(s.at.labels, samples)
}

type sample struct {
	time  int64
	value float64
}

func (s sample) T() int64                      { return s.time }
func (s sample) ST() int64                     { return 0 }
func (s sample) F() float64                    { return s.value }
func (s sample) H() *histogram.Histogram       { return nil }
func (s sample) FH() *histogram.FloatHistogram { return nil }
func (s sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample           { return s }
