// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

func TestFanoutNeverBlocks(t *testing.T) {
	t.Parallel()
	f := &fanout[ipamv1.PoolReference]{}
	subscribers := []<-chan ipamv1.PoolReference{f.subscribe(t.Context()), f.subscribe(t.Context())}
	const pools, times = 10, 1000
	for range times {
		for i := range pools {
			f.add(poolRef(fmt.Sprint("p", i)))
		}
	}
	for i, out := range subscribers {
		f.add(poolRef("last"))
		named := map[ipamv1.PoolReference]int{}
		for ref := range out {
			if named[ref]++; len(named) == pools+1 {
				break
			}
		}
		for ref, n := range named {
			// Once as one of those that were being handed over, once as one of those that came
			// meanwhile.
			if n > 2+i {
				t.Errorf("subscriber %d was told %d times of %s", i, n, ref.Name)
			}
		}
	}
}

func TestFanoutTellsOfEveryChangeAfterItsName(t *testing.T) {
	t.Parallel()
	f := &fanout[ipamv1.PoolReference]{}
	out := f.subscribe(t.Context())
	for range 1000 {
		f.add(poolRef("p"))
		if got := <-out; got != poolRef("p") {
			t.Fatalf("told of %v", got)
		}
	}
}

func TestFanoutTellsWhatHappensAfterTheSubscription(t *testing.T) {
	t.Parallel()
	f := &fanout[ipamv1.PoolReference]{}
	f.add(poolRef("before"))
	out := f.subscribe(t.Context())
	f.add(poolRef("after"))
	if got := <-out; got != poolRef("after") {
		t.Errorf("told of %v", got)
	}
}

func TestFanoutEndsASubscription(t *testing.T) {
	t.Parallel()
	for sentence, pending := range map[string]int{"with nothing to tell": 0, "that nobody reads any more": 3} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := &fanout[ipamv1.PoolReference]{}
				ctx, cancel := context.WithCancel(t.Context())
				f.subscribe(ctx)
				other := f.subscribe(t.Context())
				for i := range pending {
					f.add(poolRef(fmt.Sprint("p", i)))
				}
				synctest.Wait()
				cancel()
				synctest.Wait()
				if len(f.subscribers) != 1 {
					t.Fatalf("%d subscribers left, want 1", len(f.subscribers))
				}
				f.add(poolRef("after"))
				for ref := range other {
					if ref == poolRef("after") {
						break
					}
				}
			})
		})
	}
}
