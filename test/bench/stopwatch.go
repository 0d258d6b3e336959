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

	"k8s.io/client-go/kubernetes"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// watch opens a watch of the claims of a round that is about to begin. It is
// read as text: decoding every event would take a good part of the processor
// time that the bench measures.
func (e *environment) watch(ctx context.Context, name string) (io.ReadCloser, error) {
	list := &ipamv1beta2.IPAddressClaimList{}
	err := e.client.List(ctx, list, client.InNamespace(benchNamespace), client.MatchingLabels{roundLabel: name})
	if err != nil {
		return nil, fmt.Errorf("listing claims: %w", err)
	}
	clients, err := kubernetes.NewForConfig(e.config)
	if err != nil {
		return nil, fmt.Errorf("building a client: %w", err)
	}
	group := ipamv1beta2.GroupVersion
	stream, err := clients.RESTClient().Get().
		AbsPath("apis", group.Group, group.Version, "namespaces", benchNamespace, "ipaddressclaims").
		Param("watch", "true").Param("labelSelector", roundLabel+"="+name).Param("resourceVersion", list.ResourceVersion).
		Stream(ctx)
	if err != nil {
		return nil, fmt.Errorf("watching claims: %w", err)
	}
	return stream, nil
}

// answerMark is how an event shows a claim's answer. The name after it is the
// claim's, too.
var answerMark = []byte(`"addressRef":{"name":"`)

// stopwatch holds when claims were asked for and when the watch showed their
// answers.
type stopwatch struct {
	mu       sync.Mutex
	asked    map[string]time.Time
	answered map[string]time.Time
}

func newStopwatch() *stopwatch {
	return &stopwatch{asked: map[string]time.Time{}, answered: map[string]time.Time{}}
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
	_, rest, answered := bytes.Cut(event, answerMark)
	name, _, _ := bytes.Cut(rest, []byte(`"`))
	if !answered || !s.answered[string(name)].IsZero() {
		return false
	}
	s.answered[string(name)] = time.Now()
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
