// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package entitlement

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
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
	a := c.asks(says)
	a.reads = func(*pools.Known) (demand, error) { return readBlock(says) }
	a.also = func(p *pools.Known, _ demand) error { return checkSpace(child, says, p.Registered) }
	v, err := c.judge(ctx, says, a)
	parent := v.pool.Registration()
	if isRead := v.denied != nil && v.denied.about != ofPool; err != nil && !isRead {
		return ledger.Claim{}, parent, err
	}
	request := ledger.CarveClaim(ledger.Pool{
		Ref: says.Ref, UID: child.GetUID(), Parent: parent.Ref, DelegatedTo: says.Member(), Namespace: c.Registry.RecordNamespace(says.Ref),
	}, v.bits(v.pool))
	request.GenerateName, request.Want = child.GetGenerateName(), v.want
	return request, parent, err
}

// CheckParent errs with a Refusal unless a pool's parent gives it anything: it is there, visible and open.
func (c Children) CheckParent(ctx context.Context, says poolspec.Pool) error {
	_, err := c.judge(ctx, says, c.asks(says))
	return err
}

// asks is what a pool asks of its parent, whatever it wants of it.
func (c Children) asks(says poolspec.Pool) ask {
	a := ask{
		pool: says.Parent, namespace: says.Ref.Namespace, thing: aBlock,
		may: func(ctx context.Context, parent poolspec.Pool) (bool, string, error) {
			return c.Registry.Rules.MayCarve(ctx, says, parent)
		},
		owns: func(ctx context.Context, parent poolspec.Pool) (bool, error) {
			return c.isSameProject(ctx, says, parent)
		},
	}
	if says.Arrived {
		a.needs = needsShape
	}
	return a
}

// judge errs with a Refusal of a child's where it is denied what it asks. The verdict tells of the parent all the same.
func (c Children) judge(ctx context.Context, says poolspec.Pool, a ask) (verdict, error) {
	if closed := c.Registry.CheckFederation(says); closed != nil {
		return verdict{}, CannotCarve(claimant.Invalid, "spec.delegateTo", "%s", closed.Detail)
	}
	v, err := judge(ctx, c.Registry, a)
	if err != nil || v.denied == nil {
		return v, err
	}
	fields := map[subject]string{ofPool: "spec.parentRef.name", ofLength: "spec.prefixLength", ofPrefix: "spec.cidr"}
	return v, CannotCarve(v.denied.cause, FieldOf(says, fields[v.denied.about]), "%s", v.denied.message)
}

// isSameProject reports whether a child's project is its parent's.
func (c Children) isSameProject(ctx context.Context, child, parent poolspec.Pool) (bool, error) {
	own, err := c.Registry.Rules.OfPool(ctx, parent)
	if err != nil {
		return false, err
	}
	asking, err := c.Registry.Rules.OfPool(ctx, child)
	return asking.Sees(own), err
}

// readBlock reads what a pool asks of its parent: this very block, or any of a length.
func readBlock(says poolspec.Pool) (demand, error) {
	if says.CIDR == "" {
		return demand{length: says.PrefixLength}, nil
	}
	want, err := netip.ParsePrefix(says.CIDR)
	if err != nil {
		return demand{}, CannotCarve(claimant.Invalid, FieldOf(says, "spec.cidr"), "%v", err)
	}
	return demand{want: want}, nil
}

// checkSpace refuses a pool that says another address space than its parent's.
func checkSpace(child pools.Object, says poolspec.Pool, parent ledger.Pool) error {
	asksForSpace := says.AsksSpace || says.CIDR != "" && child.GetUID() != "" // a block past the webhooks has no space of the parent's
	if asksForSpace && says.Space != parent.Space {
		return CannotCarve(claimant.Invalid, FieldOf(says, "spec.addressSpace"), "a pool is of its parent's address space, %s", parent.Space)
	}
	return nil
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
