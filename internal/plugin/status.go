// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/survey"
)

// Status is what the command status prints as JSON and YAML.
type Status struct {
	Header `json:",inline"`
	// Gaps are what the user may not see.
	Gaps []survey.Gap `json:"gaps"`
	// WeirNamespace is where managers are looked for, IsWeirMissing whether they should be there and none is.
	WeirNamespace string           `json:"weirNamespace"`
	IsWeirMissing bool             `json:"isWeirMissing"`
	Managers      []StatusManagers `json:"managers"`
	Claims        StatusClaims     `json:"claims"`
	Pools         StatusPools      `json:"pools"`
	Conflicts     []survey.Object  `json:"conflicts"`
	Records       StatusRecords    `json:"records"`
}

// StatusManagers are the managers of one Deployment.
type StatusManagers struct {
	Namespace    string    `json:"namespace"`
	Name         string    `json:"name"`
	Version      string    `json:"version,omitempty"`
	WantedCount  int       `json:"wantedCount"`
	ReadyCount   int       `json:"readyCount"`
	Leader       string    `json:"leader,omitempty"`
	LeaderSince  time.Time `json:"leaderSince,omitzero"`
	LeaseRenewed time.Time `json:"leaseRenewed,omitzero"`
	// LeaseExpired: no manager leads.
	LeaseExpired     bool      `json:"leaseExpired"`
	CertificateUntil time.Time `json:"certificateUntil,omitzero"`
}

// isBad reports whether some of the managers, or all, are not at work. A Deployment that wants none has none at work.
func (m *StatusManagers) isBad() bool {
	return m.ReadyCount == 0 || m.ReadyCount < m.WantedCount || m.LeaseExpired
}

// StatusClaims counts claims.
type StatusClaims struct {
	AnsweredCount int `json:"answeredCount"`
	// WaitingCount is how many have nothing, without those that are being deleted. Waiting counts them
	// by reason and pool, PausedCount are those of them whose reason is Paused.
	WaitingCount int             `json:"waitingCount"`
	PausedCount  int             `json:"pausedCount"`
	Waiting      []StatusWaiting `json:"waiting"`
	// Oldest is the oldest claim that waits and is not paused.
	Oldest      *survey.Object `json:"oldest,omitempty"`
	OldestSince time.Time      `json:"oldestSince,omitzero"`
}

// StatusWaiting counts claims that wait for the same.
type StatusWaiting struct {
	Reason string `json:"reason"`
	Pool   string `json:"pool"`
	Count  int    `json:"count"`
}

// StatusPools counts pools.
type StatusPools struct {
	Count          int          `json:"count"`
	Exhausted      []StatusPool `json:"exhausted"`
	NearlyFull     []StatusPool `json:"nearlyFull"`
	NotReady       []StatusPool `json:"notReady"`
	DelegatedCount int          `json:"delegatedCount"`
}

// StatusPool is a pool that stands out.
type StatusPool struct {
	Name      string `json:"name"`
	State     string `json:"state"`
	Available string `json:"available,omitempty"`
	Total     string `json:"total,omitempty"`
}

// StatusRecords counts records that no claim has.
type StatusRecords struct {
	RetainedCount  int        `json:"retainedCount"`
	CoolingCount   int        `json:"coolingCount"`
	MovedCount     int        `json:"movedCount"`
	OldestRetained *WhoRecord `json:"oldestRetained,omitempty"`
}

func statusCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show on one screen whether all is well: managers, claims that wait, pools, what is kept",
		Long: "Show on one screen whether all is well: managers, claims that wait, pools, what is kept.\n" +
			"Exit code 1 means that something needs attention, 3 that nothing does of what you may see.\n\n" + exitCodes,
		Example: "  kubectl weir status\n  kubectl weir status -n team-red -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			scope, err := o.scope()
			if err != nil {
				return err
			}
			s, err := o.survey(scope)
			if err != nil {
				return err
			}
			status, err := o.readStatus(cmd.Context(), s)
			if err != nil {
				return err
			}
			return o.printStatus(status)
		},
	}
}

func (o *options) readStatus(ctx context.Context, s *survey.Survey) (*Status, error) {
	status := &Status{Header: header("Status"), Managers: []StatusManagers{}, Conflicts: []survey.Object{}}
	pools, _, err := s.Pools(ctx)
	if err != nil {
		return nil, err
	}
	status.countPools(pools)
	waiting := map[StatusWaiting]int{}
	if _, err = s.Claims(ctx, func(c *survey.ListedClaim) { status.countClaim(c, waiting) }); err != nil {
		return nil, err
	}
	status.Claims.Waiting = sortWaiting(waiting)
	slices.SortFunc(status.Conflicts, func(a, b survey.Object) int { return cmp.Compare(a.String(), b.String()) })
	if _, err = s.Records(ctx, "", func(r survey.Record) { status.countRecord(&r) }); err != nil {
		return nil, err
	}
	installed, err := s.Installation(ctx)
	if err != nil {
		return nil, err
	}
	status.WeirNamespace, status.IsWeirMissing = installed.Namespace, installed.IsMissing
	for _, m := range installed.Managers {
		status.Managers = append(status.Managers, StatusManagers{
			Namespace: m.Namespace, Name: m.Name, Version: m.Version, WantedCount: m.Wanted, ReadyCount: m.Ready, Leader: m.Leader,
			LeaderSince: m.LeaderSince, LeaseRenewed: m.Renewed, CertificateUntil: m.CertificateUntil,
			LeaseExpired: m.Leader != "" && o.now().Sub(m.Renewed) > m.LeaseDuration,
		})
	}
	status.Gaps = s.Gaps().List()
	return status, nil
}

func (s *Status) countPools(pools []*survey.Pool) {
	s.Pools = StatusPools{Count: len(pools), Exhausted: []StatusPool{}, NearlyFull: []StatusPool{}, NotReady: []StatusPool{}}
	for _, p := range pools {
		pool := StatusPool{Name: survey.Name(p.Ref), State: p.State, Available: p.Capacity.Available, Total: p.Capacity.Total}
		if p.Member != "" {
			s.Pools.DelegatedCount++
		}
		switch p.State {
		case survey.ExhaustedState:
			s.Pools.Exhausted = append(s.Pools.Exhausted, pool)
		case ipamv1.PoolReadyAvailableReason:
			if p.Percent != nil && *p.Percent >= nearlyFull {
				s.Pools.NearlyFull = append(s.Pools.NearlyFull, pool)
			}
		case ipamv1.PoolReadyDelegatedReason:
		default:
			s.Pools.NotReady = append(s.Pools.NotReady, pool)
		}
	}
}

func (s *Status) countClaim(c *survey.ListedClaim, waiting map[StatusWaiting]int) {
	if c.Reason == ipamv1.ClaimReadyAddressConflictReason {
		s.Conflicts = append(s.Conflicts, c.Object)
	}
	switch {
	case c.IsAnswered:
		s.Claims.AnsweredCount++
		return
	case c.IsDeleting:
		return
	}
	s.Claims.WaitingCount++
	waiting[StatusWaiting{Reason: c.Reason, Pool: survey.Name(c.Pool)}]++
	if c.Reason == ipamv1.PoolReadyPausedReason {
		s.Claims.PausedCount++
		return
	}
	if s.Claims.Oldest == nil || c.Created.Before(s.Claims.OldestSince) {
		s.Claims.Oldest, s.Claims.OldestSince = &c.Object, c.Created
	}
}

// sortWaiting returns the most frequent first.
func sortWaiting(waiting map[StatusWaiting]int) []StatusWaiting {
	all := make([]StatusWaiting, 0, len(waiting))
	for _, w := range slices.SortedFunc(maps.Keys(waiting), func(a, b StatusWaiting) int {
		return cmp.Or(cmp.Compare(waiting[b], waiting[a]), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Pool, b.Pool))
	}) {
		w.Count = waiting[w]
		all = append(all, w)
	}
	return all
}

func (s *Status) countRecord(r *survey.Record) {
	switch r.State {
	case ipamv1.CoolingState:
		s.Records.CoolingCount++
	case ipamv1.MovedState:
		s.Records.MovedCount++
	case ipamv1.RetainedState:
		s.Records.RetainedCount++
		if oldest := s.Records.OldestRetained; oldest == nil || r.ReleasedAt.Before(oldest.ReleasedAt) {
			record := whoRecord(r)
			s.Records.OldestRetained = &record
		}
	default:
	}
}

// needsAttention reports whether something is not as it should be.
func (s *Status) needsAttention() bool {
	return s.IsWeirMissing || slices.ContainsFunc(s.Managers, func(m StatusManagers) bool { return m.isBad() }) || s.Claims.Oldest != nil || len(s.Conflicts) > 0 ||
		len(s.Pools.Exhausted)+len(s.Pools.NotReady) > 0
}
