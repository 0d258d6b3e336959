// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"hash/maphash"
	"sync"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// remembered is how many names Refusals remembers at most, in 16 bytes each. Then it begins anew.
const remembered = 4096

// seed is that of the hashes by which Refusals remembers.
var seed = maphash.MakeSeed()

// Refusals tells of what is refused while it is created, once until that changes: clients try again, and nothing is stored that could
// say what they have been told. It remembers hashes: names and texts are the callers', and no quota counts those of what is not stored.
// The zero value remembers nothing. All methods are safe for use by any number of goroutines.
type Refusals struct {
	mu sync.Mutex
	// told has the hash of what was said last, by that of the name.
	told map[uint64]uint64
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
	name, said := nameOf(claim), maphash.String(seed, text)
	if last, known := r.told[name]; known && last == said {
		return false
	}
	if r.told == nil || len(r.told) >= remembered {
		r.told = make(map[uint64]uint64, remembered)
	}
	r.told[name] = said
	return true
}

// nameOf leaves out the UID, which is another one with each try.
func nameOf(claim ipamv1.ClaimReference) uint64 {
	claim.UID = ""
	return maphash.Comparable(seed, claim)
}
