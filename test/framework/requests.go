// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// RequestKey says what kind of request was counted. Verb is as the API server
// names it: GET, LIST, WATCH, POST, PUT, PATCH, APPLY, DELETE, DELETECOLLECTION.
type RequestKey struct {
	Verb, Group, Resource, Subresource, Code string
}

// RequestCounts are numbers of requests since the API server's start. Dry runs
// are left out.
type RequestCounts map[RequestKey]float64

// APIRequests reads the API server's own counters of the requests that it has
// answered, from whomever they came. A watch counts when it ends.
func APIRequests(ctx context.Context, cfg *rest.Config) (RequestCounts, error) {
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("building a client: %w", err)
	}
	data, err := client.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the API server's metrics: %w", err)
	}
	families, err := families(data)
	if err != nil {
		return nil, err
	}
	counts := RequestCounts{}
	for _, metric := range families["apiserver_request_total"].GetMetric() {
		labels := labelsOf(metric)
		if labels["dry_run"] != "" {
			continue
		}
		counts[RequestKey{
			Verb: labels["verb"], Code: labels["code"],
			Group: labels["group"], Resource: labels["resource"], Subresource: labels["subresource"],
		}] += metric.GetCounter().GetValue()
	}
	return counts, nil
}

// Since returns what was counted after an earlier reading of the same API
// server process; kinds without new requests are left out.
func (c RequestCounts) Since(before RequestCounts) RequestCounts {
	out := RequestCounts{}
	for key, count := range c {
		if count > before[key] {
			out[key] = count - before[key]
		}
	}
	return out
}

// Writes returns only the writes to groups, successful or not; without groups,
// those to any.
func (c RequestCounts) Writes(groups ...string) RequestCounts {
	out := RequestCounts{}
	for key, count := range c {
		if key.write() && (len(groups) == 0 || slices.Contains(groups, key.Group)) {
			out[key] = count
		}
	}
	return out
}

// Total returns the sum of all counts.
func (c RequestCounts) Total() float64 {
	sum := 0.0
	for _, count := range c {
		sum += count
	}
	return sum
}

func (k RequestKey) write() bool {
	switch k.Verb {
	case "POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION":
		return true
	default:
		return false
	}
}
