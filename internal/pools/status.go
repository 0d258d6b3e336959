// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pools

import (
	"fmt"

	"k8s.io/utils/ptr"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
)

// MemberReport returns the report of a pool's member that has numbers; nil for none.
func MemberReport(says poolspec.Pool, status *ipamv1.IPPoolStatus) *ipamv1.MemberStatus {
	m := status.Member
	if says.Place != poolspec.Elsewhere || m == nil || m.Cluster != says.DelegateTo || m.Capacity.Total == "" {
		return nil
	}
	return m
}

// ShowIn writes how full a pool is into a status like that of Weir's kinds.
func ShowIn(status *ipamv1.IPPoolStatus, r *Report) {
	switch {
	case r.Counted:
		setCapacity(status, r)
		if r.Idle && !r.Capacity.Unlimited {
			status.Capacity.Available, status.LargestFreePrefixLength = "0", nil
		}
		if r.Foreign && !r.Capacity.Unlimited { // it hands out nothing here, and how much of it is used is known there only
			status.Capacity.Available = "0"
			status.UtilizationPercent, status.LargestFreePrefixLength, status.Utilization = nil, nil, ""
		}
		if member := MemberReport(r.Says, status); member != nil {
			status.Capacity, status.Claims, status.Children = member.Capacity, member.Claims, nil
			setUtilization(status, member.UtilizationPercent)
		}
	case r.Invalid: // nobody counts any more what it has
		status.Capacity, status.UtilizationPercent, status.LargestFreePrefixLength = ipamv1.Capacity{}, nil, nil
		status.Claims, status.Children, status.Utilization = nil, nil, ""
	}
}

func setCapacity(status *ipamv1.IPPoolStatus, r *Report) {
	c := r.Capacity
	status.Claims, status.Children = ptr.To(c.Claims), ptr.To(c.Children)
	status.Capacity = CapacityOf(c)
	if c.Unlimited {
		return
	}
	setUtilization(status, ptr.To(ipspace.Percent(c.Total.Sub(c.Available), c.Total)))
	status.LargestFreePrefixLength = nil
	if c.LargestFree >= 0 {
		status.LargestFreePrefixLength = ptr.To(int32(c.LargestFree)) //nolint:gosec // at most 128
	}
	status.AllocatedCIDR = ""
	if c.Serving {
		status.AllocatedCIDR = r.Says.CIDR
	}
}

// setUtilization writes the share that is not available, and its text; nil for not known.
func setUtilization(status *ipamv1.IPPoolStatus, percent *int32) {
	status.UtilizationPercent, status.Utilization = percent, ""
	if percent != nil {
		status.Utilization = fmt.Sprintf("%d%%", *percent)
	}
}

// CapacityOf is a capacity as the status of Weir's kinds has it.
func CapacityOf(c ledger.Capacity) ipamv1.Capacity {
	if c.Unlimited { // how many there may be is known outside only
		return ipamv1.Capacity{Allocated: c.Allocated.String()}
	}
	return ipamv1.Capacity{
		Total:     c.Total.String(),
		Allocated: c.Allocated.String(),
		Available: c.Available.String(),
		Excluded:  c.Excluded.String(),
		Cooling:   c.Cooling.String(),
		Delegated: c.Delegated.String(),
	}
}
