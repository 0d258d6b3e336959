// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/cluster-api/util/annotations"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
)

const (
	// lookInterval is how often at most a pool's cloud is asked how the pool stands.
	lookInterval = 10 * time.Second
	// retryUnreadable is when a pool is looked at again whose annotation does not say where it is in its cloud.
	retryUnreadable = 30 * time.Second
)

// looks are the results of the last looks at pools in their clouds. The zero value is empty.
type looks struct {
	mu   sync.Mutex
	last map[ipamv1.PoolReference]look
}

// look is one of them, at a pool as it was.
type look struct {
	at         time.Time
	uid        types.UID
	generation int64
	doubts     []string
	err        error
}

// recent returns the last look at a pool; false if that is too long ago, or the pool has changed since.
func (l *looks) recent(ref ipamv1.PoolReference, p pools.Object, now time.Time) (look, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last, ok := l.last[ref]
	return last, ok && last.uid == p.GetUID() && last.generation == p.GetGeneration() && now.Sub(last.at) < lookInterval
}

func (l *looks) note(ref ipamv1.PoolReference, p pools.Object, now time.Time, doubts []string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == nil {
		l.last = map[ipamv1.PoolReference]look{}
	}
	l.last[ref] = look{at: now, uid: p.GetUID(), generation: p.GetGeneration(), doubts: doubts, err: err}
}

func (l *looks) forget(ref ipamv1.PoolReference) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.last, ref)
}

// serveOutside finds out where a pool is in its cloud, and whether the cloud can be called. It writes the identity before anything is made
// for a claim, and never again: what the source names may be another network tomorrow. Of two managers that write at once, one gets a conflict.
func (r *Reconciler) serveOutside(ctx context.Context, s *scope) error {
	own, _ := s.pool.(pools.Own) // only Weir's kinds have such a source
	if _, err := poolspec.ReadCloud(s.pool.GetAnnotations()); err != nil {
		return &external.FaultError{Reason: ipamv1.PoolReadyInvalidSpecReason, Message: err.Error(), After: retryUnreadable}
	}
	now := r.Clock.Now()
	if last, ok := r.looks.recent(s.says.Ref, s.pool, now); ok && (last.err != nil || s.says.Cloud.IsKnown()) {
		s.doubts = last.doubts
		if last.err == nil {
			return r.survey(ctx, s, own)
		}
		return last.err
	}
	is, err := r.Registry.External.Identify(ctx, r.Registry.OutsidePool(own, s.says))
	if errors.Is(err, ledger.ErrBusy) {
		return err
	}
	s.doubts = is.Doubts
	r.looks.note(s.says.Ref, s.pool, now, is.Doubts, err)
	if err != nil {
		return err
	}
	if s.says.Cloud.IsKnown() {
		return r.survey(ctx, s, own)
	}
	return r.settleCloud(ctx, s, poolspec.Cloud{Key: string(s.pool.GetUID()), Project: is.Project, Network: is.Network})
}

// settleCloud writes how the pool is known in its cloud.
func (r *Reconciler) settleCloud(ctx context.Context, s *scope, cloud poolspec.Cloud) error {
	settled, _ := s.before.DeepCopyObject().(pools.Object)
	annotations.AddAnnotations(settled, map[string]string{ipamv1.OpenStackAnnotation: cloud.String()})
	if err := r.Client.Patch(ctx, settled, lockedMerge(s.before)); err != nil {
		return fmt.Errorf("writing how the pool is known in its cloud: %w", err)
	}
	return fmt.Errorf("the pool is known in its cloud: %w", ledger.ErrBusy)
}
