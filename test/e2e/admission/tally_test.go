// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// documented are the codes that a create is refused with.
var documented = []int{
	http.StatusForbidden, http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity, http.StatusTooManyRequests,
	http.StatusInsufficientStorage,
}

const (
	created  = "created"
	timedOut = "timed out"
)

// tally is what came of the clients' creates, and what was retained for whom.
type tally struct {
	mu       sync.Mutex
	outcomes map[string]int
	// retained is what was kept for a claim's name when the last claim of that name was deleted.
	retained     map[string]netip.Prefix
	kept, broken int
	// protected is how often a pool was not deleted, because something was handed out of it.
	protected int
}

func newTally() *tally {
	return &tally{outcomes: map[string]int{}, retained: map[string]netip.Prefix{}}
}

// note counts an outcome. What is none of the documented ones, nor explained by what the suite does, fails the spec.
func (t *tally) note(what string, err error) {
	outcome := describe(err)
	if outcome == "" {
		Fail(fmt.Sprintf("%s: %v", what, err))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.outcomes[outcome]++
}

// describe names an outcome; "" if there must be none such.
func describe(err error) string {
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return created
	case strings.Contains(err.Error(), refusal):
		return "refused by the other webhook"
	case strings.Contains(err.Error(), "failed calling webhook"):
		return "webhook out of reach"
	case apierrors.IsTimeout(err), apierrors.IsServerTimeout(err), errors.Is(err, context.DeadlineExceeded),
		strings.Contains(err.Error(), "stream error"): // the API server cuts off what it could not answer in time
		return timedOut
	case !errors.As(err, &status):
		return ""
	}
	if code := int(status.Status().Code); slices.Contains(documented, code) {
		return fmt.Sprint(code)
	}
	return ""
}

func (t *tally) noteKept() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.protected++
}

func (t *tally) of(outcome string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.outcomes[outcome]
}

// retain notes that a prefix is kept for the next claim of that name.
func (t *tally) retain(name string, cidr netip.Prefix) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.retained[name] = cidr
}

// answered notes what a claim got for whose name something may be kept.
func (t *tally) answered(name string, cidr netip.Prefix) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if promised, ok := t.retained[name]; ok && promised == cidr {
		t.kept++
	} else if ok {
		t.broken++
	}
	delete(t.retained, name)
}

func (t *tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	parts := make([]string, 0, len(t.outcomes))
	for _, outcome := range slices.Sorted(maps.Keys(t.outcomes)) {
		parts = append(parts, fmt.Sprintf("%s: %d", outcome, t.outcomes[outcome]))
	}
	return strings.Join(parts, ", ")
}
