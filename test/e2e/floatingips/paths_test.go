// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package floatingips

import (
	"context"

	. "github.com/onsi/gomega"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// path is what a manager does about one event.
type path struct {
	// before is done with a manager that nothing happens to, event with none.
	before, event func(ctx context.Context, w *world)
	// walked fails until a manager has walked the path.
	walked func(ctx context.Context, w *world, g Gomega)
	// meanwhile is done when a manager has died, before another one comes; nil for nothing.
	meanwhile func(ctx context.Context, w *world)
	// done fails until the other manager is done.
	done func(ctx context.Context, w *world, g Gomega)
	// writes is about how many there are. Where there are more, they are points, too.
	writes int
	// calls are those that may be made. Each is a point.
	calls []string
	// change is the call that must be made, and changes something outside; "" for none.
	change string
	// kinds: the kind of pool matters, so that the gate walks the path with both.
	kinds bool
}

var paths = map[string]*path{
	"a pool becomes known in its cloud": {
		before: func(ctx context.Context, w *world) { w.project.addStrangers(ctx) },
		event:  func(ctx context.Context, w *world) { w.createPool(ctx) },
		walked: func(ctx context.Context, w *world, g Gomega) { w.isKnown(ctx, g) },
		done:   func(ctx context.Context, w *world, g Gomega) { w.isKnown(ctx, g) },
		writes: 3, calls: []string{logIn, extensions, networks}, kinds: true,
	},
	"a claim is answered": {
		before: func(ctx context.Context, w *world) { w.furnish(ctx) },
		event:  func(ctx context.Context, w *world) { w.createClaim(ctx) },
		walked: func(ctx context.Context, w *world, g Gomega) { w.isAnswered(ctx, g) },
		done:   func(ctx context.Context, w *world, g Gomega) { w.isAnswered(ctx, g) },
		writes: 5, calls: []string{logIn, extensions, networks, search, creation}, change: creation,
	},
	"a claim is answered that is deleted then": {
		before:    func(ctx context.Context, w *world) { w.furnish(ctx) },
		event:     func(ctx context.Context, w *world) { w.createClaim(ctx) },
		walked:    func(ctx context.Context, w *world, g Gomega) { w.isAnswered(ctx, g) },
		meanwhile: func(ctx context.Context, w *world) { w.deleteClaim(ctx) },
		done:      func(ctx context.Context, w *world, g Gomega) { w.isGone(ctx, g) },
		writes:    5, calls: []string{logIn, extensions, networks, search, creation}, change: creation,
	},
	"a claim is released": {
		before: func(ctx context.Context, w *world) { w.furnish(ctx); w.answerClaim(ctx) },
		event:  func(ctx context.Context, w *world) { w.deleteClaim(ctx) },
		walked: func(ctx context.Context, w *world, g Gomega) { w.isGone(ctx, g) },
		done:   func(ctx context.Context, w *world, g Gomega) { w.isGone(ctx, g) },
		writes: 5, calls: []string{logIn, extensions, networks, search, deletion}, change: deletion,
	},
	"what a claim has is released that died alone": {
		before: func(ctx context.Context, w *world) { w.furnish(ctx); w.answerClaim(ctx) },
		event:  func(ctx context.Context, w *world) { w.stripClaim(ctx) },
		walked: func(ctx context.Context, w *world, g Gomega) { w.isGone(ctx, g) },
		done:   func(ctx context.Context, w *world, g Gomega) { w.isGone(ctx, g) },
		writes: 3, calls: []string{logIn, extensions, networks, search, deletion}, change: deletion,
	},
}

// bothKinds are those of pools.
var bothKinds = []string{ipamv1.IPPoolKind, ipamv1.GlobalIPPoolKind}
