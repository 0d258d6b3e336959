// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package entitlement

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/tenancy"
)

// CannotCarve is why a pool gets no block of its parent.
func CannotCarve(cause claimant.Cause, field, format string, args ...any) error {
	return &claimant.Refusal{
		Reason: ipamv1.PoolReadyParentNotReadyReason, Cause: cause, Field: field, Message: fmt.Sprintf(format, args...),
	}
}

// FieldOf returns the field that a refusal is about: one of Weir's kinds, or where else the pool says what it wants of its parent.
func FieldOf(says poolspec.Pool, own string) string { return cmp.Or(says.ParentField, own) }

// Children says what pools may ask of the pool that they are carved from.
type Children struct{ Registry *pools.Registry }

// Carving returns what a pool with a parent asks of the ledger, and its parent as registered. It errs with a Refusal. The pool
// may lack its UID, and the end of its name. One that arrived with its block keeps that, although its parent may be closed.
func (c Children) Carving(ctx context.Context, child pools.Object) (ledger.Claim, ledger.Pool, error) {
	return c.carving(ctx, child, c.Registry.Says(child))
}

// MayHave errs with a Refusal if the parent does not give the pool this one of its blocks.
func (c Children) MayHave(ctx context.Context, child pools.Object, says poolspec.Pool, block netip.Prefix) error {
	says.CIDR = block.String()
	_, _, err := c.carving(ctx, child, says)
	return err
}

func (c Children) carving(ctx context.Context, child pools.Object, says poolspec.Pool) (ledger.Claim, ledger.Pool, error) {
	p, err := c.Parent(ctx, says)
	parent := p.Registration()
	if err != nil {
		return ledger.Claim{}, parent, err
	}
	if says.CIDR == "" && says.PrefixLength == nil && !p.Says.HasDefaultLength {
		return ledger.Claim{}, parent, CannotCarve(claimant.Invalid, "spec.prefixLength",
			"required, because %s %q has no allocation.defaultPrefixLength", says.Parent.Kind, says.Parent.Name)
	}
	request, err := c.carveRequest(child, says, parent)
	if err != nil || says.Arrived {
		return request, parent, err
	}
	return request, parent, c.checkCarveLength(ctx, says, p, request)
}

// Parent returns the parent of a pool, if that gives it anything: it is there, visible and open. One that is closed is told of with the
// Refusal.
func (c Children) Parent(ctx context.Context, says poolspec.Pool) (*pools.Known, error) {
	if closed := c.Registry.CheckFederation(says); closed != nil {
		return nil, CannotCarve(claimant.Invalid, "spec.delegateTo", "%s", closed.Detail)
	}
	ref, field := says.Parent, FieldOf(says, "spec.parentRef.name")
	p, err := c.Registry.Open(ctx, ref)
	var closed *pools.ClosedError
	switch isClosed := errors.As(err, &closed); {
	case isClosed && closed.Missing:
		return p, CannotCarve(claimant.Missing, field, "%s", tenancy.Absent(ref, says.Ref.Namespace))
	case err != nil && !isClosed:
		return p, err
	}
	ok, reason, err := c.Registry.Rules.MayCarve(ctx, says, p.Says)
	switch {
	case err != nil:
		return p, err
	case !ok:
		return p, CannotCarve(claimant.Forbidden, field, "%s", reason)
	case p.Says.External:
		return p, CannotCarve(claimant.Invalid, field, "%s", pools.Sentence(ref, "hands out floating IPs: it has no block to carve from"))
	case closed != nil && (closed.Invalid || !says.Arrived):
		return p, CannotCarve(claimant.Invalid, field, "%s", closed.Message)
	}
	return p, nil
}

// carveRequest reads what is asked of the parent: this very block, or any of a length.
func (c Children) carveRequest(child pools.Object, says poolspec.Pool, parent ledger.Pool) (ledger.Claim, error) {
	bits := parent.Shape.ClaimBits()
	if says.PrefixLength != nil {
		bits = int(*says.PrefixLength)
	}
	var want netip.Prefix
	if says.CIDR != "" {
		var err error
		if want, err = netip.ParsePrefix(says.CIDR); err != nil {
			return ledger.Claim{}, CannotCarve(claimant.Invalid, FieldOf(says, "spec.cidr"), "%v", err)
		}
		bits = want.Bits()
	}
	asksForSpace := says.AsksSpace || says.CIDR != "" && child.GetUID() != "" // a block past the webhooks has no space of the parent's
	if asksForSpace && says.Space != parent.Space {
		return ledger.Claim{}, CannotCarve(claimant.Invalid, FieldOf(says, "spec.addressSpace"), "a pool is of its parent's address space, %s", parent.Space)
	}
	if err := refusesBlock(says, parent, want, bits); err != nil && !says.Arrived {
		return ledger.Claim{}, err
	}
	request := ledger.CarveClaim(ledger.Pool{
		Ref: says.Ref, UID: child.GetUID(), Parent: parent.Ref, DelegatedTo: says.Member(), Namespace: c.Registry.RecordNamespace(says.Ref),
	}, bits)
	request.GenerateName, request.Want = child.GetGenerateName(), want
	return request, nil
}

// lengthField is the field that says how long a block is asked for.
func lengthField(says poolspec.Pool, want netip.Prefix) string {
	if want.IsValid() {
		return FieldOf(says, "spec.cidr")
	}
	return FieldOf(says, "spec.prefixLength")
}

// refusesBlock says why the parent never gives the block, or one of that length.
func refusesBlock(says poolspec.Pool, parent ledger.Pool, want netip.Prefix, bits int) error {
	family := poolspec.FamilyOf(parent.Shape.Blocks()[0].Addr())
	if want.IsValid() && poolspec.FamilyOf(want.Addr()) != family {
		return CannotCarve(claimant.Invalid, FieldOf(says, "spec.cidr"), "%s is not of the parent, whose addresses are %s", want, family)
	}
	if reason, refused := parent.Shape.RefusesLength(bits); refused {
		return CannotCarve(claimant.Invalid, lengthField(says, want), "%s of the parent: %s", asked(want, bits), reason)
	}
	return nil
}

// asked names what is asked of a parent.
func asked(want netip.Prefix, bits int) string {
	if want.IsValid() {
		return want.String()
	}
	return fmt.Sprintf("/%d", bits)
}

// checkCarveLength keeps to the default length whom a parent without bounds does not belong to.
func (c Children) checkCarveLength(ctx context.Context, child poolspec.Pool, p *pools.Known, request ledger.Claim) error {
	parent := p.Registered
	if parent.Shape.IsBounded() || request.Bits == parent.Shape.ClaimBits() {
		return nil
	}
	own, err := c.Registry.Rules.OfPool(ctx, p.Says)
	if err != nil {
		return err
	}
	asking, err := c.Registry.Rules.OfPool(ctx, child)
	if err != nil || asking.Sees(own) {
		return err
	}
	return CannotCarve(claimant.Forbidden, lengthField(child, request.Want),
		"the parent belongs to another project and sets no bounds (allocation.minPrefixLength, maxPrefixLength): it gives a /%d only", parent.Shape.ClaimBits())
}

// Complete writes into a pool what its parent has given it.
func Complete(p pools.Own, block netip.Prefix, parent ledger.Pool) {
	spec := p.PoolSpec()
	spec.CIDR = block.String()
	if parent.Space != ipamv1.DefaultAddressSpace {
		spec.AddressSpace = parent.Space
	}
	spec.IPFamily = poolspec.Family(spec)
	labels := p.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[ipamv1.AllocatedLabel] = "true"
	if spec.DelegateTo != "" {
		labels[ipamv1.DelegatedToLabel] = spec.DelegateTo
	}
	p.SetLabels(labels)
}
