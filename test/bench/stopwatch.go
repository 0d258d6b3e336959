// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// watched is a kind of claims, and how an event shows that one is answered. It is
// read as text: decoding every event would take a good part of the processor
// time that the bench measures.
type watched struct {
	group          schema.GroupVersion
	kind, resource string
	// mark is only in the events of answered claims.
	mark string
	// claim makes one; nil for a kind that is measured otherwise.
	claim func(name, round string) client.Object
}

var (
	addressClaims = watched{ipamv1beta2.GroupVersion, "IPAddressClaim", "ipaddressclaims", `"addressRef":{"name":"`, newClaim}
	metal3Claims  = watched{m3v1.GroupVersion, m3v1.IPClaimKind, "ipclaims", `"address":{"name":"`, newMetal3Claim}
	ownClaims     = watched{ipamv1.GroupVersion, ipamv1.IPClaimKind, "ipclaims", `"allocationRef":{"name":"`, nil}
)

// name is how reports name the kind.
func (w watched) name() string { return w.kind + "." + w.group.Group }

// list is the kind of a list of them.
func (w watched) list() schema.GroupVersionKind { return w.group.WithKind(w.kind + "List") }

// nameMark is what follows an object's name: its keys are in order.
var nameMark = []byte(`","namespace":"` + benchNamespace + `"`)

// answered returns the name of the claim that an event shows to be answered.
func (w watched) answered(event []byte) (name string, ok bool) {
	if !bytes.Contains(event, []byte(w.mark)) {
		return "", false
	}
	before, _, ok := bytes.Cut(event, nameMark)
	return string(before[bytes.LastIndexByte(before, '"')+1:]), ok
}

// watch opens a watch of the claims of a round that is about to begin.
func (e *environment) watch(ctx context.Context, w watched, name string) (io.ReadCloser, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(w.list())
	err := e.client.List(ctx, list, client.InNamespace(benchNamespace), client.MatchingLabels{roundLabel: name})
	if err != nil {
		return nil, fmt.Errorf("listing claims: %w", err)
	}
	clients, err := kubernetes.NewForConfig(e.config)
	if err != nil {
		return nil, fmt.Errorf("building a client: %w", err)
	}
	stream, err := clients.RESTClient().Get().
		AbsPath("apis", w.group.Group, w.group.Version, "namespaces", benchNamespace, w.resource).
		Param("watch", "true").Param("labelSelector", roundLabel+"="+name).Param("resourceVersion", list.ResourceVersion).
		Stream(ctx)
	if err != nil {
		return nil, fmt.Errorf("watching claims: %w", err)
	}
	return stream, nil
}

// stopwatch holds when claims were asked for and when the watch showed their
// answers.
type stopwatch struct {
	of       watched
	mu       sync.Mutex
	asked    map[string]time.Time
	answered map[string]time.Time
}

func newStopwatch(of watched) *stopwatch {
	return &stopwatch{of: of, asked: map[string]time.Time{}, answered: map[string]time.Time{}}
}

func (s *stopwatch) ask(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[name] = time.Now()
}

// follow notes the answers that a watch shows, until there are n.
func (s *stopwatch) follow(answers io.ReadCloser, n int) error {
	patience := time.AfterFunc(answerTimeout, func() { _ = answers.Close() })
	defer patience.Stop()
	events := bufio.NewReaderSize(answers, 1<<16)
	for len(s.answered) < n {
		event, err := events.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("%d of %d claims are not answered, and the watch ended: %w", n-len(s.answered), n, err)
		}
		if s.see(event) {
			patience.Reset(answerTimeout)
		}
	}
	return nil
}

// see notes the first answer of a claim, and reports whether it was one.
func (s *stopwatch) see(event []byte) bool {
	name, answered := s.of.answered(event)
	if !answered || !s.answered[name].IsZero() {
		return false
	}
	s.answered[name] = time.Now()
	return true
}

// result computes rate and latencies.
func (s *stopwatch) result() *weirRound {
	var first, last time.Time
	latencies := make([]float64, 0, len(s.answered))
	for name, answered := range s.answered {
		asked := s.asked[name]
		if first.IsZero() || asked.Before(first) {
			first = asked
		}
		if answered.After(last) {
			last = answered
		}
		latencies = append(latencies, float64(answered.Sub(asked).Microseconds())/1000)
	}
	return &weirRound{
		Rate: float64(len(latencies)) / last.Sub(first).Seconds(),
		P50:  percentile(latencies, 50), P95: percentile(latencies, 95), P99: percentile(latencies, 99),
	}
}
