// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

const namespace = "weir"

// Metric describes one of the manager's own metrics.
type Metric struct {
	// Name is the full name; Type is counter, gauge or histogram.
	Name, Type, Help string
	Labels           []string
}

var (
	mu  sync.Mutex
	all []Metric
)

// All returns the metrics that the packages of this program have made so far.
func All() []Metric {
	mu.Lock()
	defer mu.Unlock()
	return slices.Clone(all)
}

// register lists a metric and registers its collector. It panics if there is one of that name.
func register(m Metric, collector prometheus.Collector) {
	metrics.Registry.MustRegister(collector)
	mu.Lock()
	defer mu.Unlock()
	all = append(all, m)
}

// Counter returns a registered counter weir_SUBSYSTEM_NAME.
func Counter(subsystem, name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help}, labels)
	register(Metric{prometheus.BuildFQName(namespace, subsystem, name), "counter", help, labels}, c)
	return c
}

// Gauge returns a registered gauge weir_SUBSYSTEM_NAME; without a subsystem, weir_NAME.
func Gauge(subsystem, name, help string, labels ...string) *prometheus.GaugeVec {
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help}, labels)
	register(Metric{prometheus.BuildFQName(namespace, subsystem, name), "gauge", help, labels}, g)
	return g
}

// Histogram returns a registered histogram weir_SUBSYSTEM_NAME. The upper bounds are in the unit of the name, ascending.
func Histogram(subsystem, name, help string, bounds []float64, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: namespace, Subsystem: subsystem, Name: name, Help: help, Buckets: bounds,
	}, labels)
	register(Metric{prometheus.BuildFQName(namespace, subsystem, name), "histogram", help, labels}, h)
	return h
}

// Computed registers a gauge weir_SUBSYSTEM_NAME whose series are computed when they are scraped. Compute calls set once for each series,
// with a value for each label. It may be called by any number of goroutines.
func Computed(subsystem, name, help string, compute func(set func(value float64, labels ...string)), labels ...string) {
	full := prometheus.BuildFQName(namespace, subsystem, name)
	register(Metric{full, "gauge", help, labels}, &computed{prometheus.NewDesc(full, help, labels, nil), compute})
}

type computed struct {
	description *prometheus.Desc
	compute     func(set func(value float64, labels ...string))
}

// Describe implements prometheus.Collector.
func (c *computed) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- c.description }

// Collect implements prometheus.Collector.
func (c *computed) Collect(series chan<- prometheus.Metric) {
	c.compute(func(value float64, labels ...string) {
		series <- prometheus.MustNewConstMetric(c.description, prometheus.GaugeValue, value, labels...)
	})
}

var buildInfo = Gauge("", "build_info", "Always 1; the label has the version of the manager.", "version")

// Running shows which version of the manager runs.
func Running(version string) { buildInfo.WithLabelValues(version).Set(1) }

// PoolLabels are the labels of every metric of a pool.
var PoolLabels = []string{"kind", "namespace", "name"}

// PoolValues returns the values of PoolLabels.
func PoolValues(pool ipamv1.PoolReference) []string {
	return []string{Kind(pool.GroupKind()), pool.Namespace, pool.Name}
}

// OfPool returns labels that match all series of a pool, for DeletePartialMatch.
func OfPool(pool ipamv1.PoolReference) prometheus.Labels {
	labels := prometheus.Labels{}
	for i, value := range PoolValues(pool) {
		labels[PoolLabels[i]] = value
	}
	return labels
}

// Kind returns a kind as labels name it: with its group if that is not Weir's, as in IPPool.ipam.metal3.io.
func Kind(of schema.GroupKind) string {
	if of.Group == ipamv1.GroupVersion.Group {
		return of.Kind
	}
	return of.String()
}
