// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"fmt"
	"maps"
	"math/big"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
)

// firstNumber is that of the first sibling: the pool itself is number one.
const firstNumber = 2

// family is a delegated pool and its siblings, as one list shows them.
type family struct {
	// first is nil where the list does not show it.
	first pools.Own
	// siblings by their numbers, also those that are being deleted: they hold their names.
	siblings map[int]pools.Own
}

// add notes a pool if it is the first one, of that UID, or a sibling of it.
func (f *family) add(p, first pools.Own) {
	n := numberOf(p, first)
	switch {
	case p.GetUID() == first.GetUID():
		f.first = p
	case n != 0:
		f.siblings[n] = p
	}
}

// numberOf returns the number of a sibling; 0 for any other pool. Siblings are known by name and
// annotation, not by their owner: a backup may lack that.
func numberOf(p, first pools.Own) int {
	suffix, isNamedSo := strings.CutPrefix(p.GetName(), first.GetName()+"-")
	n, err := strconv.Atoi(suffix)
	switch {
	case !isNamedSo || err != nil || n < firstNumber || strconv.Itoa(n) != suffix:
		return 0
	case p.GetAnnotations()[ipamv1.SiblingOfAnnotation] != first.GetName() || p.PoolSpec().DelegateTo != first.PoolSpec().DelegateTo:
		return 0
	}
	return n
}

// free returns the numbers that a further sibling may have, ascending; none where there are as many
// siblings as may be. Who sees an earlier state than others finds no number above the bound either.
func (f *family) free() (numbers []int) {
	most := int(f.first.PoolSpec().Expansion.MaxPools)
	if len(f.siblings) >= most {
		return nil
	}
	for n := firstNumber; n < firstNumber+most; n++ {
		if f.siblings[n] == nil {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// outlook sums up what members report of the pools of a family that are not being deleted.
type outlook struct {
	total, available big.Int
	// unreported are the names of siblings of which there is no report, in order.
	unreported []string
}

// outlook counts a pool without a report as wholly available.
func (f *family) outlook() *outlook {
	o := &outlook{}
	o.add(f.first)
	for _, n := range slices.Sorted(maps.Keys(f.siblings)) {
		sibling := f.siblings[n]
		if sibling.GetDeletionTimestamp().IsZero() && !o.add(sibling) {
			o.unreported = append(o.unreported, sibling.GetName())
		}
	}
	return o
}

// add reports whether its member has reported the pool.
func (o *outlook) add(p pools.Own) bool {
	if total, available, isReported := reported(p); isReported {
		o.total.Add(&o.total, total)
		o.available.Add(&o.available, available)
		return true
	}
	if block, err := netip.ParsePrefix(p.PoolSpec().CIDR); err == nil {
		size := new(big.Int).Lsh(big.NewInt(1), uint(block.Addr().BitLen()-block.Bits()))
		o.total.Add(&o.total, size)
		o.available.Add(&o.available, size)
	}
	return false
}

// reported returns the numbers of addresses of a pool and of those that are available, if its member
// has reported both.
func reported(p pools.Own) (total, available *big.Int, isReported bool) {
	m := p.PoolStatus().Member
	if m == nil || m.Cluster != p.PoolSpec().DelegateTo || !isCount(m.Capacity.Total) || !isCount(m.Capacity.Available) {
		return nil, nil, false
	}
	total, _ = new(big.Int).SetString(m.Capacity.Total, 10)
	available, _ = new(big.Int).SetString(m.Capacity.Available, 10)
	return total, available, true
}

// isBelow reports whether less than so much percent is available. Of nothing that is never so.
func (o *outlook) isBelow(percent int32) bool {
	hundredfold := new(big.Int).Mul(&o.available, big.NewInt(100))
	return hundredfold.Cmp(new(big.Int).Mul(&o.total, big.NewInt(int64(percent)))) < 0
}

// judge returns the condition Expanded of the first pool; or that a sibling is due, and no condition.
// It returns neither where the pool is gone or is not to be expanded any more.
func (f *family) judge() (c metav1.Condition, isDue bool) {
	if f.first == nil || !f.first.GetDeletionTimestamp().IsZero() || f.first.PoolSpec().Expansion == nil {
		return metav1.Condition{}, false
	}
	o, spec := f.outlook(), f.first.PoolSpec()
	_, _, isReported := reported(f.first)
	isServing := spec.Mode == "" || spec.Mode == ipamv1.ServingMode
	switch {
	case !isServing:
		return expanded(metav1.ConditionFalse, ipamv1.ExpandedNotServingReason, fmt.Sprintf("spec.mode is %s: no further pool is created", spec.Mode)), false
	case !isReported:
		return expanded(metav1.ConditionUnknown, ipamv1.ExpandedNotReportedReason,
			fmt.Sprintf("cluster %q has not reported how much of the pool is available", spec.DelegateTo)), false
	case !o.isBelow(spec.Expansion.ThresholdPercent):
		return expanded(metav1.ConditionTrue, ipamv1.ExpandedSufficientReason,
			fmt.Sprintf("%d of %d further pools exist", len(f.siblings), spec.Expansion.MaxPools)), false
	case len(o.unreported) > 0:
		return f.pending(o.unreported[0]), false
	case len(f.free()) == 0:
		return f.atBound(nil), false
	}
	return metav1.Condition{}, true
}

// expanded is a condition Expanded.
func expanded(status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: ipamv1.ExpandedCondition, Status: status, Reason: reason, Message: message}
}

// pending is the condition while a sibling is there of which there is no report.
func (f *family) pending(sibling string) metav1.Condition {
	spec := f.first.PoolSpec()
	return expanded(metav1.ConditionTrue, ipamv1.ExpandedSiblingPendingReason,
		fmt.Sprintf("pool %s is to follow: cluster %q has not reported it yet", sibling, spec.DelegateTo))
}

// atBound is the condition where another sibling would be one too many. Strangers are pools that
// have names of siblings.
func (f *family) atBound(strangers []string) metav1.Condition {
	e := f.first.PoolSpec().Expansion
	message := fmt.Sprintf("less than %d%% of the addresses are available, and there are %d further pools of spec.expansion.maxPools %d",
		e.ThresholdPercent, len(f.siblings), e.MaxPools)
	if len(strangers) > 0 {
		message += fmt.Sprintf("; of the names that are left, other pools have %s", strings.Join(strangers[:min(len(strangers), shownStrangers)], ", "))
	}
	return expanded(metav1.ConditionFalse, ipamv1.ExpandedMaxPoolsReason, message)
}

// shownStrangers is how many names a message has.
const shownStrangers = 5

// sibling returns the sibling of a number, in an object of the first pool's kind. What the first pool
// says of its own block the sibling does not have.
func (f *family) sibling(kind pools.Kind, n int) (pools.Own, bool) {
	p, ok := kind.New().(pools.Own)
	if !ok {
		return nil, false
	}
	p.SetNamespace(f.first.GetNamespace())
	p.SetName(f.first.GetName() + "-" + strconv.Itoa(n))
	p.SetLabels(f.labels())
	p.SetAnnotations(map[string]string{ipamv1.SiblingOfAnnotation: f.first.GetName()})
	owner := metav1.NewControllerRef(f.first, ipamv1.GroupVersion.WithKind(kind.Kind))
	p.SetOwnerReferences([]metav1.OwnerReference{*owner})
	spec := f.first.PoolSpec().DeepCopy()
	spec.PrefixLength, spec.Expansion = ptr.To(spec.Expansion.PrefixLength), nil
	spec.CIDR, spec.AddressSpace, spec.Mode, spec.PreAllocations = "", "", "", nil
	*p.PoolSpec() = *spec
	return p, true
}

// labels are those of siblings: the ones that are asked for, and the first pool's that say whose it is
// and who serves it.
func (f *family) labels() map[string]string {
	labels := maps.Clone(f.first.PoolSpec().Expansion.Labels)
	for _, key := range []string{ipamv1.ProjectLabel, clusterv1.WatchLabel} {
		value, has := f.first.GetLabels()[key]
		if !has {
			continue
		}
		if labels == nil {
			labels = map[string]string{}
		}
		labels[key] = value
	}
	return labels
}
