// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	stdcmp "cmp"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/demand"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/rehearsal"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/survey"
)

// TestVerdicts: what is needed, against what a pool has.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	const available = ipamv1.PoolReadyAvailableReason
	for name, tc := range map[string]struct {
		now, forGood        int
		atMost, waiting     int
		state, free, unseen string
		verdict, missing    string
		code                int
	}{
		"enough":                                           {atMost: 3, state: available, free: "3", verdict: EnoughVerdict},
		"one is missing":                                   {atMost: 4, state: available, free: "3", verdict: MissingVerdict, missing: "1", code: ExitBadNews},
		"claims that wait come first":                      {atMost: 3, waiting: 2, state: available, free: "3", verdict: MissingVerdict, missing: "2", code: ExitBadNews},
		"more than an int has":                             {atMost: 4, state: available, free: "18446744073709551616", verdict: EnoughVerdict},
		"exhausted":                                        {atMost: 4, state: survey.ExhaustedState, free: "0", verdict: MissingVerdict, missing: "4", code: ExitBadNews},
		"nothing is needed":                                {state: survey.ExhaustedState, free: "0", verdict: EnoughVerdict},
		"a pool that hands out no more":                    {atMost: 1, state: "Draining", free: "9", verdict: NotServingVerdict, code: ExitBadNews},
		"a pool that is not there":                         {atMost: 1, state: survey.GoneState, verdict: NotServingVerdict, code: ExitBadNews},
		"a pool that is not shown":                         {atMost: 1, state: survey.HiddenState, verdict: UnknownVerdict, code: ExitForbidden},
		"a cloud's pool without limit":                     {atMost: 1, state: available, verdict: UnknownVerdict, code: ExitForbidden},
		"machines are replaced one by one in a full pool":  {now: 10, state: survey.ExhaustedState, free: "0", verdict: EnoughVerdict},
		"they are in a pool that hands out no more":        {now: 10, state: "Draining", free: "9", verdict: NotServingVerdict, code: ExitBadNews},
		"they are in a pool that is not there":             {now: 10, state: survey.GoneState, verdict: NotServingVerdict, code: ExitBadNews},
		"they are in a pool that is not shown":             {now: 10, state: survey.HiddenState, verdict: UnknownVerdict, code: ExitForbidden},
		"they leave a pool that hands out no more":         {now: 10, forGood: -10, state: "Draining", verdict: EnoughVerdict},
		"there are no machines, and claims of others wait": {waiting: 12, state: survey.ExhaustedState, free: "0", verdict: EnoughVerdict},
		"their claims wait already":                        {now: 12, waiting: 12, state: survey.ExhaustedState, free: "0", verdict: MissingVerdict, missing: "12", code: ExitBadNews},
		"the claims that wait find room":                   {now: 12, waiting: 2, state: available, free: "2", verdict: EnoughVerdict},
		"there are fewer machines, whose claims wait":      {now: 10, forGood: -8, waiting: 3, state: survey.ExhaustedState, free: "0", verdict: MissingVerdict, missing: "3", code: ExitBadNews},
		"claims wait for a pool that is left":              {now: 10, forGood: -10, waiting: 12, state: survey.ExhaustedState, free: "0", verdict: EnoughVerdict},
		"a template that is not shown":                     {atMost: 1, state: available, free: "3", unseen: "VSphereMachineTemplate v", verdict: EnoughVerdict, code: ExitForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ref := ipamv1.PoolReference{Kind: ipamv1.IPPoolKind, Namespace: "ns", Name: "nodes"}
			answer := &demand.Answer{Needs: []demand.Need{{Pool: ref, Amount: demand.Amount{Now: tc.now, ForGood: tc.forGood, AtMost: tc.atMost}, Renewed: tc.now + tc.forGood}}}
			if tc.unseen != "" {
				answer.Unseen = []string{tc.unseen}
			}
			pool := &survey.UsablePool{Pool: &survey.Pool{Ref: ref, State: tc.state}, Waiting: tc.waiting}
			pool.Capacity.Available = tc.free
			p := plan(answer, map[ipamv1.PoolReference]*survey.UsablePool{ref: pool}, nil, nil, "ns")
			code, _ := codeOf(p.exit())
			if got := p.Pools[0]; got.Verdict != tc.verdict || got.Missing != tc.missing || code != tc.code {
				t.Errorf("verdict %s, missing %q, code %d", got.Verdict, got.Missing, code)
			}
		})
	}
}

func TestPlanIsPrinted(t *testing.T) {
	t.Parallel()
	nodes := ipamv1.PoolReference{Kind: ipamv1.IPPoolKind, Namespace: "ns", Name: "nodes"}
	object := func(kind, name string) survey.Object { return survey.Object{Kind: kind, Namespace: "ns", Name: name} }
	answer := &demand.Answer{
		Sets: []demand.Set{
			{Object: object("KubeadmControlPlane", "cp"), Now: 3, Wanted: 3, Surge: 1, AtMost: 4, Each: []ipamv1.PoolReference{nodes}},
			{Object: object("MachineDeployment", "md"), Now: 10, Wanted: 12, Surge: 3, AtMost: 15, Each: []ipamv1.PoolReference{nodes}},
			{Object: object("MachineDeployment", "dhcp"), Now: 1, Wanted: 1, AtMost: 1},
		},
		Needs:       []demand.Need{{Pool: nodes, Amount: demand.Amount{Now: 13, ForGood: 2, AtMost: 6}}},
		NotLookedAt: []string{"patches of ClusterClass quick"}, Unseen: []string{"Metal3DataTemplate d"},
	}
	pool := &survey.UsablePool{Pool: &survey.Pool{Ref: nodes, State: survey.ExhaustedState, Cooldown: 10 * time.Minute}, Waiting: 2}
	pool.Capacity = ipamv1.Capacity{Available: "0", Cooling: "10"}
	var stdout, stderr bytes.Buffer
	p := &planning{options: &options{stdout: &stdout, stderr: &stderr}}
	shown := plan(answer, map[ipamv1.PoolReference]*survey.UsablePool{nodes: pool}, nil, []survey.Gap{{Text: "you may not see"}}, "ns")
	if code, _ := codeOf(p.print(shown)); code != ExitBadNews || stderr.String() != "not shown: you may not see\n" {
		t.Errorf("code %d, stderr %q", code, stderr.String())
	}
	want := "SET                     MACHINES  AT MOST       ADDRESSES OF EACH\n" +
		"KubeadmControlPlane cp  3         4 (surge 1)   IPPool ns/nodes\n" +
		"MachineDeployment md    10 to 12  15 (surge 3)  IPPool ns/nodes\n" +
		"MachineDeployment dhcp  1         1             none of Weir's\n" +
		"POOL             ITS NOW  FOR GOOD  AT MOST  FREE                                    VERDICT\n" +
		"IPPool ns/nodes  13       +2        +6       0, 10 cool (600 s each), 2 claims wait  8 MISSING\n" +
		"Not looked at: patches of ClusterClass quick\n" +
		"Not looked at: Metal3DataTemplate d, which you may not see\n"
	if diff := cmp.Diff(want, stdout.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestVerdictsOfARehearsal: what the allocator found comes before sums.
func TestVerdictsOfARehearsal(t *testing.T) {
	t.Parallel()
	type room = rehearsal.Room
	for name, tc := range map[string]struct {
		room                   room
		state                  string
		verdict, text, missing string
		isRehearsed            bool
		code                   int
	}{
		"room for all":                      {verdict: EnoughVerdict, text: "enough", isRehearsed: true},
		"room for all of an exhausted pool": {state: survey.ExhaustedState, verdict: EnoughVerdict, text: "enough", isRehearsed: true},
		"addresses are missing":             {room: room{Missing: map[int]int{0: 2}}, verdict: MissingVerdict, text: "2 MISSING", missing: "2", isRehearsed: true, code: ExitBadNews},
		"prefixes are missing":              {room: room{Missing: map[int]int{26: 1}}, verdict: MissingVerdict, text: "1 /26 MISSING", isRehearsed: true, code: ExitBadNews},
		"both are missing":                  {room: room{Missing: map[int]int{0: 2, 26: 1}}, verdict: MissingVerdict, text: "2, 1 /26 MISSING", missing: "2", isRehearsed: true, code: ExitBadNews},
		"in one order only":                 {room: room{DependsOnOrder: true}, verdict: OrderVerdict, text: "only if large prefixes come first", isRehearsed: true, code: ExitBadNews},
		"a claim is refused":                {room: room{Refused: []string{"IPClaim a: no"}}, verdict: RefusedVerdict, text: "1 REFUSED", isRehearsed: true, code: ExitBadNews},
		"records are not shown":             {room: room{Unknown: errors.New("forbidden")}, verdict: UnknownVerdict, text: "not known", code: ExitForbidden},
		"the pool hands out nothing":        {state: "Draining", verdict: NotServingVerdict, text: "Draining", code: ExitBadNews},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ref := ipamv1.PoolReference{Kind: ipamv1.IPPoolKind, Namespace: "ns", Name: "nodes"}
			need := demand.Need{Pool: ref, Amount: demand.Amount{AtMost: 3}, Prefixes: map[int]demand.Amount{26: {ForGood: 1, AtMost: 1}}}
			pool := &survey.UsablePool{Pool: &survey.Pool{Ref: ref, State: stdcmp.Or(tc.state, ipamv1.PoolReadyAvailableReason)}}
			pool.Capacity.Available = "64"
			p := &Plan{Pools: []PlanPool{planPool(need, pool, &tc.room)}}
			code, _ := codeOf(p.exit())
			got := p.Pools[0]
			if got.Verdict != tc.verdict || got.verdict() != tc.text || got.Missing != tc.missing || got.IsRehearsed != tc.isRehearsed || code != tc.code {
				t.Errorf("verdict %s, %q, missing %q, rehearsed %v, code %d", got.Verdict, got.verdict(), got.Missing, got.IsRehearsed, code)
			}
		})
	}
}
