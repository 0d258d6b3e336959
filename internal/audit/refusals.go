// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"sync"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// remembered is how many names Refusals remembers at most. Then it begins anew.
const remembered = 4096

// Refusals tells of what is refused while it is created, once until that changes: clients try again, and nothing is stored that could
// say what they have been told. The zero value remembers nothing. All methods are safe for use by any number of goroutines.
type Refusals struct {
	mu   sync.Mutex
	told map[ipamv1.ClaimReference]string
}

// Tell writes a line unless the last one about the name said the same.
func (r *Refusals) Tell(e Entry, message string) {
	if r.isNew(e.Claim, e.Reason+": "+message) {
		Refused(e, message)
	}
}

// Forget is for what is not refused any more.
func (r *Refusals) Forget(claim ipamv1.ClaimReference) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.told, nameOf(claim))
}

func (r *Refusals) isNew(claim ipamv1.ClaimReference, text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := nameOf(claim)
	if r.told[key] == text {
		return false
	}
	if r.told == nil || len(r.told) >= remembered {
		r.told = map[ipamv1.ClaimReference]string{}
	}
	r.told[key] = text
	return true
}

// nameOf leaves out the UID, which is another one with each try.
func nameOf(claim ipamv1.ClaimReference) ipamv1.ClaimReference {
	claim.UID = ""
	return claim
}
