// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/survey"
)

// fewRecords is how many alike records are shown one by one.
const fewRecords = 3

// claimOptions are the flags about what pools have handed out.
type claimOptions struct{ shown, grouped bool }

func (c *claimOptions) addFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&c.shown, "claims", false, "Show what the pools have handed out to claims")
	cmd.Flags().BoolVar(&c.grouped, "grouping", true, "Show many claims of a pool that are alike as one line")
}

// recordGroup is records of one pool that are shown as one line.
type recordGroup struct {
	kind    schema.GroupKind
	state   ipamv1.AllocationState
	records []survey.Record
}

// read adds the records of all pools that are shown, if these are wanted.
func (c *claimOptions) read(ctx context.Context, s *survey.Survey, t *Tree) error {
	if !c.shown {
		return nil
	}
	shown := map[ipamv1.PoolReference]bool{}
	for p := range each(t.Pools, func(*TreePool) bool { return true }) {
		shown[p.pool.Ref] = true
	}
	for p := range each(t.Pools, func(*TreePool) bool { return true }) {
		var records []survey.Record
		_, err := s.RecordsOf(ctx, p.pool.Ref, func(r survey.Record) {
			if r.Purpose == ipamv1.ClaimPurpose || r.IsBlock() && !shown[r.Claim.Pool()] {
				records = append(records, r)
			}
		})
		if err != nil {
			return err
		}
		slices.SortFunc(records, func(a, b survey.Record) int { return a.Prefix.Compare(b.Prefix) })
		for i := range records {
			p.Records = append(p.Records, whoRecord(&records[i]))
		}
		p.groups = c.group(records)
	}
	t.Gaps = s.Gaps().List()
	return nil
}

// group puts records of one kind and state together, unless there are few of them. Groups are in
// the order of their first addresses.
func (c *claimOptions) group(records []survey.Record) []recordGroup {
	var groups []recordGroup
	for _, r := range records {
		kind := r.Claim.GroupKind()
		i := slices.IndexFunc(groups, func(g recordGroup) bool { return g.kind == kind && g.state == r.State })
		if i < 0 || !c.grouped {
			groups = append(groups, recordGroup{kind: kind, state: r.State})
			i = len(groups) - 1
		}
		groups[i].records = append(groups[i].records, r)
	}
	var split []recordGroup
	for _, g := range groups {
		if len(g.records) > fewRecords {
			split = append(split, g)
			continue
		}
		for _, r := range g.records {
			split = append(split, recordGroup{kind: g.kind, state: g.state, records: []survey.Record{r}})
		}
	}
	slices.SortStableFunc(split, func(a, b recordGroup) int { return a.records[0].Prefix.Compare(b.records[0].Prefix) })
	return split
}

// groupCells returns the line of a group. Its columns are those of pools.
func (o *options) groupCells(g *recordGroup, pool *survey.Pool) []string {
	first, last := g.records[0], g.records[len(g.records)-1]
	cells := []string{g.name(), subject(first.Prefix), o.since(g), "", "", "", stateText(g.state), ""}
	if len(g.records) > 1 {
		cells[0] = fmt.Sprintf("%d %ss%s", len(g.records), g.kind.Kind, ofClusters(g.records))
		cells[1] = survey.RangeText(first.Prefix.Addr(), last.Prefix.Addr())
	}
	if g.state == ipamv1.CoolingState {
		cells[7] = o.nextFree(g, pool)
	}
	if o.format == formatWide {
		cells = slices.Insert(cells, 7, first.Space, "", "")
	}
	return cells
}

func (g *recordGroup) name() string { return survey.ClaimName(g.records[0].Claim) }

// stateText is a record's state for people.
func stateText(state ipamv1.AllocationState) string {
	switch state {
	case ipamv1.ActiveState, ipamv1.ConfirmedState, "":
		return "Held"
	default:
		return string(state)
	}
}

// ofClusters ends a name with the number of Clusters, if there are any.
func ofClusters(records []survey.Record) string {
	names := map[string]bool{}
	for _, r := range records {
		if r.Cluster != "" {
			names[r.Claim.Namespace+"/"+r.Cluster] = true
		}
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return " of Cluster " + records[slices.IndexFunc(records, func(r survey.Record) bool { return r.Cluster != "" })].Cluster
	}
	return fmt.Sprintf(" of %d Clusters", len(names))
}

// since writes for how long the records have been held, or released.
func (o *options) since(g *recordGroup) string {
	oldest, newest := time.Time{}, time.Time{}
	for i := range g.records {
		t := g.records[i].ReleasedAt
		if t.IsZero() {
			t = g.records[i].Created
		}
		if oldest.IsZero() || t.Before(oldest) {
			oldest = t
		}
		if newest.IsZero() || t.After(newest) {
			newest = t
		}
	}
	from, to := duration.HumanDuration(o.now().Sub(oldest)), duration.HumanDuration(o.now().Sub(newest))
	if from == to {
		return "since " + from
	}
	return "since " + from + " to " + to
}

// nextFree writes when the first of what cools down is free.
func (o *options) nextFree(g *recordGroup, pool *survey.Pool) string {
	first := slices.MinFunc(g.records, func(a, b survey.Record) int {
		return cmp.Compare(a.ReleasedAt.UnixNano(), b.ReleasedAt.UnixNano())
	})
	return strings.TrimPrefix(o.until(freeAt(&first, []*survey.Pool{pool})), ", ")
}
