// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package floatingips

import (
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// life is what has been seen of one claim.
type life struct {
	name, pool string
	// answers are the addresses of its IPAddresses, and records the floating IPs of its records, by their ids, ever.
	answers, records []string
	// isTold: its status has named an IPAddress.
	isTold bool
	// dying is when its deletion began, and dyingSince how many changes there were in the fake then.
	dying      time.Time
	dyingSince int
}

func (l *life) String() string {
	return fmt.Sprintf("claim %s of pool %s (answers %v, records %v, deleted at %s, change %d)",
		l.name, l.pool, l.answers, l.records, l.dying.Format("15:04:05.000"), l.dyingSince)
}

// register has all claims that there ever were, by their UIDs.
type register struct {
	mu    sync.Mutex
	lives map[string]*life
	// told is how many claims were told an address, by namespace.
	told map[string]int
}

func newRegister() *register { return &register{lives: map[string]*life{}, told: map[string]int{}} }

// of is for methods that hold the lock.
func (r *register) of(uid string) *life {
	if r.lives[uid] == nil {
		r.lives[uid] = &life{}
	}
	return r.lives[uid]
}

// get returns what is known of a claim.
func (r *register) get(uid string) (life, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.lives[uid]
	if l == nil {
		return life{}, false
	}
	return *l, true
}

// answered returns how many claims of some worlds have been told an address.
func (r *register) answered(worlds ...*world) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range worlds {
		n += r.told[w.name]
	}
	return n
}

// see notes a state of an object.
func (r *register) see(obj client.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch o := obj.(type) {
	case *ipamv1beta2.IPAddressClaim:
		r.seeClaim(o)
	case *ipamv1beta2.IPAddress:
		if owner := metav1.GetControllerOf(o); owner != nil {
			r.of(string(owner.UID)).answers = with(r.of(string(owner.UID)).answers, o.Spec.Address)
		}
	case *ipamv1.IPAllocation:
		if id := o.Spec.External.ID; id != "" {
			r.of(o.Spec.ClaimRef.UID).records = with(r.of(o.Spec.ClaimRef.UID).records, id)
		}
	}
}

func (r *register) seeClaim(claim *ipamv1beta2.IPAddressClaim) {
	l := r.of(string(claim.UID))
	l.name, l.pool = claim.Name, claim.Spec.PoolRef.Name
	if !l.isTold && claim.Status.AddressRef.Name != "" {
		l.isTold = true
		r.told[claim.Namespace]++
	}
}

func with(all []string, more string) []string {
	if slices.Contains(all, more) {
		return all
	}
	return append(slices.Clone(all), more)
}

// deleting notes that a claim, whose pool is in that project, is deleted in a moment.
func (r *register) deleting(claim *ipamv1beta2.IPAddressClaim, p *project) {
	changes := 0
	if p.fake != nil {
		changes = len(p.fake.Changes())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if l := r.of(string(claim.UID)); l.dying.IsZero() {
		l.dying, l.dyingSince = time.Now(), changes
	}
}

// isReleased says whether a claim did without a floating IP when there were so many changes: it was being deleted, or was answered otherwise.
func (r *register) isReleased(claim string, f floatingIP, change int) bool {
	l, _ := r.get(claim)
	isDying := !l.dying.IsZero() && change >= l.dyingSince
	return isDying || len(l.answers) > 0 && !slices.Contains(l.answers, f.Address.String())
}
