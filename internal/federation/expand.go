// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
)

// Expander sees at the hub to a further pool before a delegated one is full: a sibling that is carved
// from the same parent, delegated to the same member, and owned by the first pool.
//
// The create of the sibling is what makes it the only one for a shortage: its name is the lowest that
// one live list does not show, and that very list must show too little, by reports, and no sibling
// without a report. So a manager that lists later sees the sibling without a report, and one that has
// listed before tries the same name.
type Expander struct {
	Kind pools.Kind
	// Client reads what is cached, and creates. Live reads from the API server.
	Client   client.Client
	Live     client.Reader
	Recorder events.EventRecorder
}

// Expand creates a sibling of a delegated pool if one is due, and returns the pool's condition
// Expanded. Its type is "" where the pool is gone. It errs where it is to be tried again.
func (e *Expander) Expand(ctx context.Context, first pools.Own) (metav1.Condition, error) {
	cached, err := e.list(ctx, e.Client, first, client.UnsafeDisableDeepCopy)
	if err != nil {
		return metav1.Condition{}, err
	}
	if c, isDue := cached.judge(); !isDue {
		return c, nil
	}
	// The cache may lack a sibling, or its report.
	live, err := e.list(ctx, e.Live, first, client.MatchingFields{"spec.delegateTo": first.PoolSpec().DelegateTo})
	if err != nil {
		return metav1.Condition{}, err
	}
	if c, isDue := live.judge(); !isDue {
		return c, nil
	}
	return e.create(ctx, live)
}

// list reads a pool's family in one list.
func (e *Expander) list(ctx context.Context, from client.Reader, first pools.Own, options ...client.ListOption) (*family, error) {
	list := e.Kind.NewList()
	if err := from.List(ctx, list, append(options, client.InNamespace(first.GetNamespace()))...); err != nil {
		return nil, fmt.Errorf("listing %ss: %w", e.Kind.Kind, err)
	}
	f := &family{siblings: map[int]pools.Own{}}
	return f, meta.EachListItem(list, func(item runtime.Object) error {
		if p, ok := item.(pools.Own); ok {
			f.add(p, first)
		}
		return nil
	})
}

// create makes the sibling of the lowest number that is free. Where another manager has made it, that
// is as good. Names that other pools have are passed over.
func (e *Expander) create(ctx context.Context, f *family) (metav1.Condition, error) {
	var strangers []string
	for _, n := range f.free() {
		sibling, ok := f.sibling(e.Kind, n)
		if !ok {
			return metav1.Condition{}, fmt.Errorf("a %s is not delegated", e.Kind.Kind)
		}
		err := e.Client.Create(ctx, sibling)
		switch {
		case err == nil:
			e.Recorder.Eventf(f.first, sibling, corev1.EventTypeNormal, ipamv1.SiblingCreatedReason, "Expand",
				"created pool %s with block %s: less than %d%% of the addresses are available",
				sibling.GetName(), sibling.PoolSpec().CIDR, f.first.PoolSpec().Expansion.ThresholdPercent)
			return f.pending(sibling.GetName()), nil
		case isRefusal(err):
			return expanded(metav1.ConditionFalse, ipamv1.ExpandedRefusedReason, fmt.Sprintf("pool %s is refused: %s", sibling.GetName(), err)), nil
		case !apierrors.IsAlreadyExists(err):
			return metav1.Condition{}, fmt.Errorf("creating %s %s: %w", e.Kind.Kind, sibling.GetName(), err)
		}
		isSibling, err := e.isSibling(ctx, f, sibling)
		if isSibling || err != nil {
			return f.pending(sibling.GetName()), err
		}
		strangers = append(strangers, sibling.GetName())
	}
	return f.atBound(strangers), nil
}

// isSibling reports whether the pool that has the name of a sibling is one. It errs if none has it any
// more.
func (e *Expander) isSibling(ctx context.Context, f *family, named pools.Own) (bool, error) {
	p, _ := e.Kind.New().(pools.Own)
	if err := e.Live.Get(ctx, client.ObjectKeyFromObject(named), p); err != nil {
		return false, fmt.Errorf("getting %s: %w", e.Kind.Kind, err)
	}
	return numberOf(p, f.first) != 0, nil
}

// isRefusal reports whether a create would be refused again: nothing free, no right, or a mistake.
func isRefusal(err error) bool {
	var refused apierrors.APIStatus
	if !errors.As(err, &refused) {
		return false
	}
	switch refused.Status().Code {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusInsufficientStorage:
		return true
	}
	return false
}
