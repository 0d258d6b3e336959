// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/fsck"
)

// recorders create the records of a large pool at once.
const recorders = 16

// scaleRound is one measurement with many records in the pool.
type scaleRound struct {
	Records int `json:"records"`
	// Ready is from the start of the manager's process until it says that it is ready.
	Ready float64 `json:"readyMs"`
	// RSS is the manager's resident memory after the round, caches included.
	RSS float64 `json:"rssMiB"`
	// P50 is with one creator, from the create call to status.addressRef.
	P50 float64 `json:"p50Ms"`
}

// measureScale starts Weir anew for each number of records.
func (e *environment) measureScale(ctx context.Context, r *report) error {
	for _, records := range e.scale {
		if err := e.record(ctx, poolRecords, records); err != nil {
			return err
		}
		round, err := e.scaleRound(ctx, records)
		if err != nil {
			return fmt.Errorf("with %d records: %w", records, err)
		}
		r.Scale = append(r.Scale, round)
	}
	return nil
}

func (e *environment) scaleRound(ctx context.Context, records int) (*scaleRound, error) {
	begin := time.Now()
	if err := e.startManager(ctx); err != nil {
		return nil, err
	}
	round := &scaleRound{Records: records, Ready: float64(e.ready.Sub(begin).Milliseconds())}
	name := fmt.Sprintf("scale-%d", records)
	if err := errors.Join(e.unmeasured(ctx, name+"-warm-up", warmUpClaims), e.clean(ctx, addressClaims, name+"-warm-up")); err != nil {
		return nil, err
	}
	measured, err := e.weir(ctx, newMode(addressClaims, e.claims, 1), name)
	if err != nil {
		return nil, err
	}
	round.P50 = measured.P50
	if round.RSS, err = residentMiB(e.manager.PID()); err != nil {
		return nil, err
	}
	return round, errors.Join(e.removeWebhooks(ctx), e.stopManager())
}

// recordPlace is where records are made.
type recordPlace struct {
	pool, space string
	first       netip.Addr
}

var poolRecords = recordPlace{poolName, ipamv1.DefaultAddressSpace, netip.AddrFrom4([4]byte{10, 0, 0, 1})}

// record makes records of the pool until there are so many, while no manager runs: nobody else chooses addresses. Their
// claims exist nowhere, and are of a kind that no front door has, so that nobody looks for them.
func (e *environment) record(ctx context.Context, place recordPlace, records int) error {
	first, address := len(e.recorded), place.first
	for range first {
		address = address.Next()
	}
	for range records - first {
		e.recorded = append(e.recorded, fsck.Held{
			Space: place.space, CIDR: netip.PrefixFrom(address, maxIPv4Bits), UID: uuid.NewUUID(),
			Pool: types.NamespacedName{Namespace: benchNamespace, Name: place.pool},
		})
		address = address.Next()
	}
	return parallel(records-first, recorders, func(i int) error {
		return e.client.Create(ctx, recordOf(fmt.Sprintf("recorded-%06d", first+i), e.recorded[first+i]))
	})
}

func recordOf(name string, held fsck.Held) *ipamv1.IPAllocation {
	return &ipamv1.IPAllocation{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: benchNamespace, Name: name + "-" + string(held.UID[:10]), Finalizers: []string{ipamv1.AllocationFinalizer},
		},
		Spec: ipamv1.IPAllocationSpec{
			PoolRef:      ipamv1.PoolReference{Kind: ipamv1.IPPoolKind, Namespace: held.Pool.Namespace, Name: held.Pool.Name},
			AddressSpace: held.Space,
			CIDR:         held.CIDR.String(),
			ClaimRef: ipamv1.ClaimReference{
				APIGroup: "bench.example.com", Kind: "Claim", Namespace: benchNamespace, Name: name, UID: string(held.UID),
			},
			Purpose: ipamv1.ClaimPurpose,
			Manager: ipamv1.AllocationManager{Instance: "bench"},
		},
		Status: ipamv1.IPAllocationStatus{AllocatedCIDR: held.CIDR.String()},
	}
}

// residentMiB reads a process's resident memory; it is an error where there is no /proc.
func residentMiB(pid int) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("reading the manager's memory: %w", err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kib, err := strconv.ParseFloat(strings.Fields(rest + " ?")[0], 64)
	return kib / 1024, err
}

// writeScale writes what depends on the number of records.
func (r *report) writeScale(text *strings.Builder) {
	if len(r.Scale) == 0 {
		return
	}
	text.WriteString("\nStarted anew with so many records in the pool; claims of one creator\n")
	w := tabwriter.NewWriter(text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "records\tready ms\tRSS MiB\tp50 ms\tp50 of the first\t")
	for _, s := range r.Scale {
		fmt.Fprintf(w, "%d\t%.0f\t%.0f\t%.1f\t%.2f\t\n", s.Records, s.Ready, s.RSS, s.P50, s.P50/r.Scale[0].P50)
	}
	_ = w.Flush() // A strings.Builder does not fail.
}
