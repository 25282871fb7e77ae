// Runs each query in a file on some scrapes of one operator, with Prometheus' own parser, database and
// query engine, and fails if a query has no result.
//
//	go run . queries.txt SCRAPE...
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/tsdb"
)

// The content type of the operator's metrics.
const contentType = "application/openmetrics-text; version=1.0.0; charset=utf-8"

// The time between two scrapes in the database: rates are over five minutes.
const interval = time.Minute

// Labels that a scraper adds, with the values that replace their variables in the queries.
var added = map[string]string{"job": "job", "namespace": "namespace", "pod": "pod", "instance": "instance"}

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: dashboards QUERIES SCRAPE SCRAPE...")
		os.Exit(2)
	}
	unanswered, err := run(os.Args[1], os.Args[2:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	if unanswered > 0 {
		fmt.Fprintf(os.Stderr, "error: %d queries have no result\n", unanswered)
		os.Exit(1)
	}
}

func run(queries string, scrapes []string) (int, error) {
	folder, err := os.MkdirTemp("", "dashboards")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)
	db, err := tsdb.Open(folder, nil, nil, tsdb.DefaultOptions(), nil)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	at := time.Now()
	for _, scrape := range scrapes {
		at = at.Add(interval)
		if err := store(db, scrape, at); err != nil {
			return 0, fmt.Errorf("%s: %w", scrape, err)
		}
	}
	text, err := os.ReadFile(queries)
	if err != nil {
		return 0, err
	}
	unanswered := 0
	for _, query := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		for label, value := range added {
			query = strings.ReplaceAll(query, "$"+label, value)
		}
		answers, err := ask(db, query, at)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", query, err)
		}
		fmt.Printf("%3d  %s\n", answers, query)
		if answers == 0 {
			unanswered++
		}
	}
	return unanswered, nil
}

// Stores a scrape as if it had been made at that time.
func store(db *tsdb.DB, path string, at time.Time) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	samples, err := textparse.New(bytes.TrimSpace(text), contentType, "", false, false, false, labels.NewSymbolTable())
	if err != nil {
		return err
	}
	appender := db.Appender(context.Background())
	for {
		entry, err := samples.Next()
		if errors.Is(err, io.EOF) {
			return appender.Commit()
		}
		if err != nil {
			return err
		}
		if entry != textparse.EntrySeries {
			continue
		}
		var own labels.Labels
		samples.Labels(&own)
		all := labels.NewBuilder(own)
		for label, value := range added {
			all.Set(label, value)
		}
		_, _, value := samples.Series()
		if _, err := appender.Append(0, all.Labels(), at.UnixMilli(), value); err != nil {
			return err
		}
	}
}

// The number of series in the result of the query.
func ask(db *tsdb.DB, text string, at time.Time) (int, error) {
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1_000_000, Timeout: time.Minute})
	query, err := engine.NewInstantQuery(context.Background(), db, nil, text, at)
	if err != nil {
		return 0, err
	}
	defer query.Close()
	result := query.Exec(context.Background())
	if result.Err != nil {
		return 0, result.Err
	}
	if result.Value.Type() != parser.ValueTypeVector {
		return 0, fmt.Errorf("the result is a %s", result.Value.Type())
	}
	vector, err := result.Vector()
	return len(vector), err
}
