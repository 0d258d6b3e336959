// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rehearsal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/direct"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/doors"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/entitlement"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
)

// Ask is what claims of a namespace ask of a pool.
type Ask struct {
	Pool ipamv1.PoolReference
	// IPClaim is one of Weir's own claims, which may ask for a length or for a certain prefix; nil for claims that take what the pool gives.
	IPClaim *ipamv1.IPClaim
	// Ref names the claim; of claims that are not made yet only the namespace is known, and there are Count of them.
	Ref   ipamv1.ClaimReference
	Count int
}

// Room is what a pool has for all that is asked of it.
type Room struct {
	// Unknown is why it is not known whether the pool has room: the user may not read what that goes by, or it is known outside only.
	Unknown error
	// Missing is how many claims of a length get nothing, in whatever order they come. The pool's own length is 0.
	Missing map[int]int
	// DependsOnOrder: there is room for all if large prefixes are asked for before small ones, and not the other way round.
	DependsOnOrder bool
	// Refused are claims that the pool would not answer if it had room, and why.
	Refused []string
}

// errOutside: an external pool's addresses are counted outside.
var errOutside = errors.New("what is free is known outside only")

// Room says what the pools have for all that is asked of them at once: it has a copy of the book answer the claims, one after the other.
func (s *Stage) Room(ctx context.Context, asks []Ask) (map[ipamv1.PoolReference]*Room, error) {
	once := memory{Client: s.Client, read: map[string]remembered{}}
	reader := &direct.Client{Client: once, Indices: map[string]client.IndexerFunc{}}
	registry := s.registry(reader)
	read := s.reading(once, registry)
	byPool := map[ipamv1.PoolReference][]Ask{}
	var refs []ipamv1.PoolReference
	for _, a := range asks {
		if byPool[a.Pool] == nil {
			refs = append(refs, a.Pool)
		}
		byPool[a.Pool] = append(byPool[a.Pool], a)
	}
	book, unread, err := read.ledgerOf(ctx, refs, s.Clock.Now())
	if err != nil {
		return nil, err
	}
	registry.Ledger = book
	d := &desk{
		registry: registry, ipclaims: &entitlement.IPClaims{Client: reader, Registry: registry},
		source: doors.With(s.extensions()...)[0].Source(registry),
	}
	rooms := map[ipamv1.PoolReference]*Room{}
	for _, ref := range refs {
		rooms[ref] = &Room{Unknown: unread[ref]}
		if unread[ref] != nil {
			continue
		}
		if err := d.fill(ctx, rooms[ref], byPool[ref]); err != nil {
			return nil, err
		}
	}
	return rooms, nil
}

// desk asks what claims may have of pools, and the book whether they get it.
type desk struct {
	registry *pools.Registry
	ipclaims *entitlement.IPClaims
	source   door.Source
}

// request is what one claim asks of the ledger, and the length by which it is counted.
type request struct {
	ledger.Claim

	length int
}

// fill has the book answer all that is asked of one pool.
func (d *desk) fill(ctx context.Context, room *Room, asks []Ask) error {
	var requests []request
	for i := range asks {
		made, err := d.requests(ctx, &asks[i])
		var refusal *claimant.Refusal
		switch {
		case errors.As(err, &refusal):
			room.Refused = append(room.Refused, asks[i].text()+": "+refusal.Error())
		case errors.Is(err, errOutside), apierrors.IsForbidden(err):
			room.Unknown = err
			return nil
		case err != nil:
			return err
		}
		requests = append(requests, made...)
	}
	// The largest first: blocks of powers of two find room in that order if they do in any.
	large := func(a, b request) int {
		return cmp.Or(boolFirst(a.Want.IsValid(), b.Want.IsValid()), cmp.Compare(a.Bits, b.Bits))
	}
	room.Missing = d.missing(requests, large)
	if len(room.Missing) == 0 {
		room.DependsOnOrder = len(d.missing(requests, func(a, b request) int { return cmp.Compare(b.Bits, a.Bits) })) > 0
	}
	return nil
}

// boolFirst orders what is true before what is false.
func boolFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// missing returns how many claims of a length get nothing in an order.
func (d *desk) missing(requests []request, order func(a, b request) int) map[int]int {
	requests = slices.Clone(requests)
	slices.SortStableFunc(requests, order)
	claims := make([]ledger.Claim, 0, len(requests))
	for i := range requests {
		claims = append(claims, requests[i].Claim)
	}
	missing := map[int]int{}
	for i, err := range d.registry.Ledger.Fill(claims) {
		if err != nil {
			missing[requests[i].length]++
		}
	}
	return missing
}

// requests are what is asked of the ledger. It errs with a Refusal where nothing may be, and with errOutside of an external pool.
func (d *desk) requests(ctx context.Context, a *Ask) ([]request, error) {
	if a.IPClaim != nil {
		asked, err := d.ipclaims.Requests(ctx, a.IPClaim)
		if err != nil {
			return nil, err
		}
		made := make([]request, 0, len(asked))
		for i := range asked {
			made = append(made, request{asked[i], lengthOf(a.IPClaim, asked[i].Bits)})
		}
		return made, nil
	}
	offer, err := d.source.Offer(ctx, a.Ref.Namespace, door.PoolName{GroupKind: a.Pool.GroupKind(), Name: a.Pool.Name})
	if err != nil {
		return nil, fmt.Errorf("asking %s %s: %w", a.Pool.Kind, a.Pool.Name, err)
	}
	for _, why := range []error{offer.Hidden, offer.Halted, offer.Closed} {
		if why != nil {
			return nil, why
		}
	}
	if offer.Outside != nil || d.registry.Registered(a.Pool).Shape.IsExternal() {
		return nil, errOutside
	}
	one := request{Claim: ledger.Claim{Ref: a.Ref, Pool: a.Pool, Bits: offer.Bits, Purpose: ledger.ForClaim}}
	return slices.Repeat([]request{one}, a.Count), nil
}

// lengthOf is the length that a claim says itself, or 0.
func lengthOf(c *ipamv1.IPClaim, bits int) int {
	if c.Spec.PrefixLength == nil && c.Spec.CIDR == "" {
		return 0
	}
	return bits
}

// text names what asks.
func (a *Ask) text() string {
	switch {
	case a.IPClaim != nil:
		return ipamv1.IPClaimKind + " " + cmp.Or(a.IPClaim.Name, a.IPClaim.GenerateName)
	case a.Ref.Name != "":
		return a.Ref.Kind + " " + a.Ref.Name
	}
	return "claims of machines"
}

// ledgerOf returns a ledger of the records of pools, and for each pool why not all of them could be read.
func (r *reading) ledgerOf(ctx context.Context, refs []ipamv1.PoolReference, now time.Time) (*ledger.Ledger, map[ipamv1.PoolReference]error, error) {
	unread, listed := map[ipamv1.PoolReference]error{}, map[ipamv1.PoolReference]error{}
	lines := map[ipamv1.PoolReference][]listedPool{}
	var shared []ipamv1.PoolReference
	for _, ref := range refs {
		var err error
		if lines[ref], unread[ref], err = r.listLine(ctx, ref, listed); err != nil {
			return nil, nil, err
		}
		if r.isShared() {
			shared = append(shared, ref)
		}
	}
	for ref, line := range lines {
		unread[ref] = cmp.Or(unread[ref], r.lackOf(line))
	}
	book, err := ledger.Offline(slices.Collect(maps.Values(r.records)), r.revision, now)
	if err != nil || len(shared) == 0 {
		return book, unread, err
	}
	r.space = ipamv1.DefaultAddressSpace
	err = r.noteForeign(ctx, book)
	for _, ref := range shared {
		unread[ref] = cmp.Or(unread[ref], r.unread.Others)
	}
	return book, unread, err
}

// listLine lists the records of a pool and those above it that are not listed yet. It returns these pools, and why not all could be read.
func (r *reading) listLine(
	ctx context.Context, ref ipamv1.PoolReference, listed map[ipamv1.PoolReference]error,
) (line []listedPool, unread, err error) {
	r.unread.Records, r.space = nil, ""
	if line, err = r.line(ctx, ref); err != nil {
		return nil, nil, err
	}
	unread = r.unread.Records
	for _, p := range line {
		if _, isListed := listed[p.ref]; !isListed {
			r.unread.Records = nil
			if err = r.listOf(ctx, p.ref); err != nil {
				return nil, nil, err
			}
			listed[p.ref] = r.unread.Records
		}
		unread = cmp.Or(unread, listed[p.ref])
	}
	return line, unread, nil
}
