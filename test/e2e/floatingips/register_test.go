// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package floatingips

import (
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// life is what has been seen of one claim.
type life struct {
	name, pool string
	// answers are the addresses of its IPAddresses, and records the floating IPs of its records, by their ids, ever. A record that came while
	// another one had its address is not among them: it loses, and then nobody knows of its floating IP.
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
	// holders are the UIDs of the records that hold an address, by that, and lost those of records that came while another one did.
	holders map[string][]types.UID
	lost    map[types.UID]bool
	// told is how many claims were told an address, by namespace.
	told map[string]int
}

func newRegister() *register {
	return &register{lives: map[string]*life{}, holders: map[string][]types.UID{}, lost: map[types.UID]bool{}, told: map[string]int{}}
}

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
		r.seeRecord(o)
	}
}

func (r *register) seeRecord(record *ipamv1.IPAllocation) {
	address, uid := record.Spec.AddressSpace+" "+record.Spec.CIDR, record.UID
	holds := slices.Contains(record.Finalizers, ipamv1.AllocationFinalizer) // it goes without it
	held := slices.Contains(r.holders[address], uid)
	switch {
	case holds && !held:
		r.lost[uid] = len(r.holders[address]) > 0
		r.holders[address] = append(r.holders[address], uid)
	case held && !holds:
		r.holders[address] = slices.DeleteFunc(r.holders[address], func(other types.UID) bool { return other == uid })
	}
	if id := record.Spec.External.ID; id != "" && !r.lost[uid] {
		l := r.of(record.Spec.ClaimRef.UID)
		l.records = with(l.records, id)
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
