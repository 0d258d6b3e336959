// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package entitlement

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/tenancy"
)

// ask is what is asked of a pool. Where those who ask differ, the difference is a value here.
type ask struct {
	pool ipamv1.PoolReference
	// namespace is that of who asks; "" for none.
	namespace string
	// may reports whether the pool is for who asks, and why not. owns reports whether who asks is of the pool's own project.
	may  func(ctx context.Context, pool poolspec.Pool) (ok bool, reason string, err error)
	owns func(ctx context.Context, pool poolspec.Pool) (bool, error)
	thing
	needs need
	// reads returns what is asked for, and also refuses it for what only this asker has to keep to; a Refusal each. Both may be nil.
	reads func(p *pools.Known) (demand, error)
	also  func(p *pools.Known, d demand) error
}

// demand is this very prefix, or any of a length, or of the default length.
type demand struct {
	want   netip.Prefix
	length *int32
}

// isOpen reports whether it leaves even the length to the pool.
func (d demand) isOpen() bool { return !d.want.IsValid() && d.length == nil }

// bits is the length that is asked for of a pool.
func (d demand) bits(p *pools.Known) int {
	switch {
	case d.want.IsValid():
		return d.want.Bits()
	case d.length != nil:
		return int(*d.length)
	}
	return p.Registered.Shape.ClaimBits()
}

// text names what is asked for, by its length if it may be any prefix of that.
func (d demand) text(bits int) string {
	if d.want.IsValid() {
		return d.want.String()
	}
	return fmt.Sprintf("/%d", bits)
}

// thing is what kind of thing is asked for, and how a refusal speaks of it.
type thing struct {
	// notExternal says of a pool of floating IPs why it has no such thing; "" if it has.
	notExternal string
	// giver is what the pool is called.
	giver string
	// hasDefault reports whether a pool knows how long such a thing is that does not say.
	hasDefault func(pool poolspec.Pool) bool
}

var (
	// anAddress is for a claim that another object answers.
	anAddress = thing{}
	// aPrefix is for an IPClaim: a single address where the pool says nothing else.
	aPrefix = thing{
		notExternal: "hands out floating IPs, to IPAddressClaims only", // IPClaims are answered while they are admitted, which is no time to ask a cloud
		giver:       "pool",
		hasDefault:  func(poolspec.Pool) bool { return true },
	}
	// aBlock is for a pool: one of a single address is hardly meant, so somebody has to say how long it is.
	aBlock = thing{
		notExternal: "hands out floating IPs: it has no block to carve from",
		giver:       "parent",
		hasDefault:  func(p poolspec.Pool) bool { return p.HasDefaultLength },
	}
)

// need is what the pool has to be. Only what is new is judged by the pool's lengths: what arrived is kept.
type need uint8

const (
	// needsOpen: it hands something out now.
	needsOpen need = iota
	// needsShape: it can be served, now or later.
	needsShape
	// needsPool: it exists.
	needsPool
)

// isMetBy reports whether a pool that is closed for this reason, nil for none, will do.
func (n need) isMetBy(closed *pools.ClosedError) bool {
	switch n {
	case needsOpen:
		return closed == nil
	case needsShape:
		return closed == nil || !closed.Invalid
	default:
		return true
	}
}

// subject is what a denial is about.
type subject uint8

const (
	ofPool subject = iota
	ofLength
	ofPrefix
)

// denial is why who asks gets nothing of a pool. Those who ask put it into a Refusal of their own.
type denial struct {
	about   subject
	cause   claimant.Cause
	message string
	// closed is set where it is that the pool hands out nothing now.
	closed *pools.ClosedError
}

// verdict is how who asks stands with a pool.
type verdict struct {
	// pool is nil if there is none.
	pool *pools.Known
	// closed says why the pool hands out nothing now; nil if it does. hidden says why nothing of it is for who asks; nil if something is.
	closed *pools.ClosedError
	hidden *denial
	// denied is the first reason to refuse; nil if there is none.
	denied *denial
	demand
}

// judge says what who asks may have of a pool: claims of any form, IPClaims and pools that are carved from others alike. The error is that
// something could not be read, or a Refusal of what was asked for.
func judge(ctx context.Context, registry *pools.Registry, a ask) (verdict, error) {
	p, err := registry.Open(ctx, a.pool)
	v := verdict{pool: p}
	if err != nil && !errors.As(err, &v.closed) {
		return v, err
	}
	if v.closed != nil && v.closed.Missing {
		v.denied = &denial{cause: claimant.Missing, message: tenancy.Absent(a.pool, a.namespace)}
		return v, nil
	}
	ok, reason, err := a.may(ctx, p.Says)
	if err != nil {
		return v, err
	}
	switch {
	case !ok:
		v.hidden = &denial{cause: claimant.Forbidden, message: reason}
		v.denied = v.hidden
	case p.Says.External && a.notExternal != "":
		v.denied = &denial{message: pools.Sentence(a.pool, a.notExternal)}
	case !a.needs.isMetBy(v.closed):
		v.denied = &denial{message: v.closed.Message, closed: v.closed}
	case a.reads != nil:
		v.demand, v.denied, err = judgeDemand(ctx, a, p)
	}
	return v, err
}

// judgeDemand says whether a pool gives what is asked of it.
func judgeDemand(ctx context.Context, a ask, p *pools.Known) (demand, *denial, error) {
	d, err := a.reads(p)
	if err != nil {
		return d, nil, err
	}
	if d.isOpen() && !a.hasDefault(p.Says) {
		return d, &denial{
			about: ofLength, message: fmt.Sprintf("required, because %s %q has no allocation.defaultPrefixLength", a.pool.Kind, a.pool.Name),
		}, nil
	}
	if a.also != nil {
		err = a.also(p, d)
	}
	if err != nil || a.needs != needsOpen {
		return d, nil, err
	}
	denied, err := judgeLength(ctx, a, p, d)
	return d, denied, err
}

// judgeLength denies what is never given, and what is not given to other projects.
func judgeLength(ctx context.Context, a ask, p *pools.Known, d demand) (*denial, error) {
	shape, bits, about := p.Registered.Shape, d.bits(p), ofLength
	if d.want.IsValid() {
		about = ofPrefix
	}
	if d.want.IsValid() && poolspec.FamilyOf(d.want.Addr()) != p.Says.Family {
		return &denial{about: about, message: fmt.Sprintf("%s is not of the %s, whose addresses are %s", d.want, a.giver, p.Says.Family)}, nil
	}
	if reason, refused := shape.RefusesLength(bits); refused {
		return &denial{about: about, message: d.text(bits) + " is not allowed: " + pools.Sentence(a.pool, reason)}, nil
	}
	if shape.IsBounded() || bits == shape.ClaimBits() {
		return nil, nil //nolint:nilnil // nothing is denied
	}
	if owns, err := a.owns(ctx, p.Says); owns || err != nil {
		return nil, err
	}
	return &denial{about: about, cause: claimant.Forbidden, message: fmt.Sprintf(
		"the %s belongs to another project and sets no bounds (allocation.minPrefixLength, maxPrefixLength): it gives a /%d only", a.giver, shape.ClaimBits())}, nil
}
