// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// sightings are the records that have been seen and are of interest.
type sightings struct {
	mu sync.Mutex
	// dry were made for a dry run.
	dry      []string
	retained map[types.UID]bool
}

func newSightings() *sightings { return &sightings{retained: map[types.UID]bool{}} }

func (s *sightings) look(o client.Object) {
	a, ok := o.(*ipamv1.IPAllocation)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.HasPrefix(a.Spec.ClaimRef.Name, dryPrefix) {
		s.dry = append(s.dry, fmt.Sprintf("%s %s for %s %s", a.Name, a.Spec.CIDR, a.Spec.ClaimRef.Name, a.Spec.ClaimRef.UID))
	}
	if a.Spec.State == ipamv1.RetainedState {
		s.retained[a.UID] = true
	}
}

// found returns the records that were made for dry runs, and how many were retained.
func (s *sightings) found() (dry []string, retained int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.dry), len(s.retained)
}
