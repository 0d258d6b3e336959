// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package monitoring holds config/monitoring against the docs: runbooks and metrics. That the queries return data is shown by
// test/e2e/monitoring.
package monitoring

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// root is the repository's folder, seen from this package.
const root = "../../../"

const runbookURL = "https://github.com/weir-ipam/cluster-api-ipam-provider-weir/blob/main/docs/runbooks.md#"

// rule is a rule of Prometheus: an alert, or a recording rule.
type rule struct {
	Alert, Record, Expr string
	Annotations         map[string]string
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(root + path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// rules are those of config/monitoring.
func rules(t *testing.T) []rule {
	t.Helper()
	var object struct {
		Spec struct {
			Groups []struct{ Rules []rule }
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, "config/monitoring/rules.yaml")), &object); err != nil {
		t.Fatal(err)
	}
	var all []rule
	for _, group := range object.Spec.Groups {
		all = append(all, group.Rules...)
	}
	if len(all) == 0 {
		t.Fatal("there are no rules")
	}
	return all
}

// panel is a panel of the dashboard, as far as it queries.
type panel struct {
	Title   string
	Targets []struct{ Expr string }
}

// dashboard returns the names of the dashboard's variables, and its panels.
func dashboard(t *testing.T) (variables []string, panels []panel) {
	t.Helper()
	var object struct {
		Templating struct{ List []struct{ Name string } }
		Panels     []panel
	}
	if err := json.Unmarshal([]byte(read(t, "config/monitoring/dashboard.json")), &object); err != nil {
		t.Fatal(err)
	}
	for _, variable := range object.Templating.List {
		variables = append(variables, variable.Name)
	}
	return variables, object.Panels
}

func TestEachAlertHasItsRunbookAndEachRunbookItsAlert(t *testing.T) {
	t.Parallel()
	var alerts []string
	for _, r := range rules(t) {
		if r.Alert == "" {
			continue
		}
		alerts = append(alerts, r.Alert)
		if want := runbookURL + strings.ToLower(r.Alert); r.Annotations["runbook_url"] != want {
			t.Errorf("the runbook_url of %s is %q, want %q", r.Alert, r.Annotations["runbook_url"], want)
		}
		if r.Annotations["summary"] == "" {
			t.Errorf("%s has no summary", r.Alert)
		}
	}
	sections := strings.Split(read(t, "docs/runbooks.md"), "\n## ")[1:]
	books := make([]string, 0, len(sections))
	for _, section := range sections {
		heading, text, _ := strings.Cut(section, "\n")
		books = append(books, heading)
		if !strings.HasPrefix(text, "\n```sh\nkubectl weir ") {
			t.Errorf("the runbook of %s does not begin with a kubectl weir command", heading)
		}
	}
	if diff := cmp.Diff(alerts, books); diff != "" {
		t.Errorf("alerts and the headings of docs/runbooks.md (-alerts +headings):\n%s", diff)
	}
}

// comparison is an alert's expression: recording rules that are compared with numbers.
var comparison = regexp.MustCompile(`^weir:[a-z0-9:_]+ (==|!=|<|>) [0-9.]+( and weir:[a-z0-9:_]+ > [0-9.]+)?$`)

// name is a metric or a recording rule of Weir's within a query.
var name = regexp.MustCompile(`\bweir[:_][a-z0-9:_]+`)

func TestQueriesNameMetricsThatAreDocumented(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(weir_[a-z_]+)` \\| (histogram)?").FindAllStringSubmatch(read(t, "docs/reference/metrics.md"), -1) {
		known[row[1]] = true
		if row[2] != "" {
			known[row[1]+"_bucket"], known[row[1]+"_count"] = true, true
		}
	}
	queries := map[string]string{}
	for _, r := range rules(t) {
		queries[r.Alert+r.Record] = r.Expr
		if r.Record != "" {
			known[r.Record] = true
		}
		if r.Alert != "" && !comparison.MatchString(r.Expr) {
			t.Errorf("%s does not compare a recording rule with a number: %s", r.Alert, r.Expr)
		}
	}
	variables, panels := dashboard(t)
	if !slices.Equal(variables, []string{"datasource"}) {
		t.Errorf("the dashboard has the variables %v", variables)
	}
	for _, p := range panels {
		for _, target := range p.Targets {
			queries["panel "+p.Title+" "+target.Expr] = target.Expr
		}
	}
	for where, query := range queries {
		for _, used := range name.FindAllString(query, -1) {
			if !known[used] {
				t.Errorf("%s names %s, which is neither recorded nor documented", where, used)
			}
		}
	}
}
