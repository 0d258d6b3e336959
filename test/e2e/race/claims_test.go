// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package race

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/faults"
)

const (
	creators = 8
	batches  = 12
	// batchSize claims are made, awaited and deleted together, some for each pool.
	batchSize  = 40
	batchLabel = "batch"
)

// makeClaims makes claims and deletes them, always under the same names, until ctx ends. Each batch is there twice, so that two
// creators may be at the same names.
func makeClaims(ctx context.Context) {
	queue := make(chan int, 2*batches)
	for i := range 2 * batches {
		queue <- i % batches
	}
	parts := make([]func(context.Context), 0, creators)
	for i := range creators {
		random := rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 100+uint64(i)))
		parts = append(parts, func(ctx context.Context) {
			for ctx.Err() == nil {
				batch := <-queue
				liveBatch(ctx, random, batch)
				queue <- batch
			}
		})
	}
	faults.Together(ctx, parts...)
}

// liveBatch makes a batch, waits until all are told something or for as long as it has patience, and deletes most of it.
func liveBatch(ctx context.Context, random *rand.Rand, batch int) {
	for i := range batchSize {
		// The one before may not be gone yet: then its successor has to wait for the next time.
		err := k.Create(context.WithoutCancel(ctx), claim(batch, i))
		Expect(client.IgnoreAlreadyExists(ignorePassing(err))).To(Succeed())
	}
	all := waitFor(ctx, batch, time.Second+faults.UpTo(random, 4*time.Second))
	for i := range all {
		if random.IntN(5) > 0 {
			err := k.Delete(context.WithoutCancel(ctx), &all[i], client.Preconditions{UID: &all[i].UID})
			Expect(client.IgnoreNotFound(ignorePassing(err))).To(Succeed())
		}
	}
}

// ignorePassing leaves to the next batch what the next try may get: somebody was faster, or the API server, on a machine that
// has too much to do, too slow or cut off. What it refuses is an error.
func ignorePassing(err error) error {
	var status apierrors.APIStatus
	isRefused := errors.As(err, &status) && status.Status().Code < http.StatusInternalServerError
	if !isRefused || apierrors.IsConflict(err) || apierrors.IsTooManyRequests(err) {
		return nil
	}
	return err
}

func claim(batch, i int) *ipamv1beta2.IPAddressClaim {
	pool := busyPools[poolFor(i)].name
	return builder.IPAddressClaim(namespace, fmt.Sprintf("%s-%d-%d", pool, batch, i), ipamv1.IPPoolKind, pool).
		WithLabel(batchLabel, fmt.Sprint(batch)).Build()
}

// waitFor returns the claims of a batch when all are told something, or after some time.
func waitFor(ctx context.Context, batch int, patience time.Duration) []ipamv1beta2.IPAddressClaim {
	end := time.Now().Add(patience)
	for {
		faults.Sleep(ctx, 100*time.Millisecond)
		list := known(context.WithoutCancel(ctx), client.MatchingLabels{batchLabel: fmt.Sprint(batch)})
		if untold(list) == 0 || time.Now().After(end) || ctx.Err() != nil {
			return list
		}
	}
}

// known returns claims as the cache knows them.
func known(ctx context.Context, options ...client.ListOption) []ipamv1beta2.IPAddressClaim {
	list := &ipamv1beta2.IPAddressClaimList{}
	Expect(claims.List(ctx, list, append(options, client.InNamespace(namespace))...)).To(Succeed())
	return list.Items
}

// untold counts the claims that are neither answered nor told that the pool is exhausted, or that are being deleted.
func untold(list []ipamv1beta2.IPAddressClaim) int {
	n := 0
	for i := range list {
		ready := conditions.Get(&list[i], ipamv1beta2.IPAddressClaimReadyCondition)
		told := ready != nil && (ready.Status == metav1.ConditionTrue || ready.Reason == ipamv1beta2.IPAddressClaimReadyPoolExhaustedReason)
		if !told || !list[i].DeletionTimestamp.IsZero() {
			n++
		}
	}
	return n
}
