// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/survey"
)

// poolsStateColumn is the column of the state in the table of pools.
const poolsStateColumn = 6

// Pools is what the command pools prints as JSON and YAML.
type Pools struct {
	Header `json:",inline"`
	// Gaps are what the user may not see.
	Gaps []survey.Gap `json:"gaps"`
	// Namespace is the one whose claims are counted; "" means all.
	Namespace string          `json:"namespace,omitempty"`
	Pools     []PoolForClaims `json:"pools"`
}

// PoolForClaims is a pool that claims may name.
type PoolForClaims struct {
	APIGroup  string `json:"apiGroup"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Block     string `json:"block,omitempty"`
	// Available is how many addresses are free, as a decimal number.
	Available               string `json:"available,omitempty"`
	LargestFreePrefixLength *int32 `json:"largestFreePrefixLength,omitempty"`
	// ShortestPrefixLength and LongestPrefixLength bound what a claim may ask for; 0 means no bound.
	ShortestPrefixLength int `json:"shortestPrefixLength,omitempty"`
	LongestPrefixLength  int `json:"longestPrefixLength,omitempty"`
	// ClaimCount is how many claims of the namespace name the pool, WaitingCount how many of these have
	// nothing yet.
	ClaimCount   int `json:"claimCount"`
	WaitingCount int `json:"waitingCount"`
	// State is as in Tree; Gone: a claim names the pool, and it does not exist; NotShown: a claim names it,
	// and the user may not see it.
	State    string `json:"state"`
	Message  string `json:"message,omitempty"`
	External bool   `json:"external,omitempty"`

	pool *survey.UsablePool
}

func poolsCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "pools",
		Short: "Show the pools that claims of a namespace may name, and what they have left",
		Long: "Show the pools that claims of a namespace may name, and what they have left: its own, GlobalIPPools, and those that its claims name.\n" +
			"Exit code 1 means that none of them has anything left.\n\n" + exitCodes,
		Example: "  kubectl weir pools -n team-red\n  kubectl weir pools -A -o wide",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			namespace, _, err := o.contextNamespace()
			if err != nil {
				return err
			}
			scope := survey.Scope{Only: namespace}
			if o.allNamespaces {
				scope, namespace = survey.Scope{Fallback: namespace}, ""
			}
			s, err := o.survey(scope)
			if err != nil {
				return err
			}
			usable, err := s.UsablePools(cmd.Context())
			if err != nil {
				return err
			}
			return o.printPools(pools(usable, s.Gaps().List(), namespace))
		},
	}
}

func pools(usable []*survey.UsablePool, gaps []survey.Gap, namespace string) *Pools {
	p := &Pools{Header: header("Pools"), Gaps: gaps, Namespace: namespace, Pools: []PoolForClaims{}}
	for _, u := range usable {
		p.Pools = append(p.Pools, PoolForClaims{
			APIGroup: u.Ref.GroupKind().Group, Kind: u.Ref.Kind, Namespace: u.Ref.Namespace, Name: u.Ref.Name,
			Block: u.Block, Available: u.Capacity.Available, LargestFreePrefixLength: u.LargestFree,
			ShortestPrefixLength: u.Lengths.Shortest, LongestPrefixLength: u.Lengths.Longest,
			ClaimCount: u.Claimed, WaitingCount: u.Waiting, State: u.State, Message: u.Message, External: u.External, pool: u,
		})
	}
	return p
}

// hasRoom reports whether a pool serves claims, and has something left or may have.
func (p *PoolForClaims) hasRoom() bool {
	return p.State == ipamv1.PoolReadyAvailableReason && p.Available != "0"
}

func (o *options) printPools(p *Pools) error {
	switch {
	case isObject(o.format):
		if err := printObject(o.stdout, o.format, p); err != nil {
			return err
		}
	case o.format == formatName:
		for i := range p.Pools {
			fmt.Fprintf(o.stdout, "%s.%s/%s\n", strings.ToLower(p.Pools[i].Kind), p.Pools[i].APIGroup, p.Pools[i].Name)
		}
	default:
		printGaps(o.stderr, p.Gaps)
		if slices.ContainsFunc(p.Gaps, func(gap survey.Gap) bool { return gap.Resource == "globalippools" }) {
			fmt.Fprintln(o.stderr, "GlobalIPPools are shown to whom the platform binds the ClusterRole weir-system-pool-viewer-role.")
		}
		o.printPoolRows(p)
	}
	switch {
	case slices.ContainsFunc(p.Pools, func(pool PoolForClaims) bool { return pool.hasRoom() }):
		return nil
	case len(p.Gaps) > 0:
		return forbidden("no pool that you may see has anything left; ask for the right to see more")
	}
	return badNews
}

func (o *options) printPoolRows(p *Pools) {
	if len(p.Pools) == 0 {
		if len(p.Gaps) == 0 {
			fmt.Fprintln(o.stderr, "There are no pools for claims of namespace "+cmp.Or(p.Namespace, "any")+".")
		}
		return
	}
	head := []string{"POOL", "BLOCK", "FREE", "LARGEST", "SIZES", "CLAIMS", "STATE", ""}
	rows := make([][]string, 0, len(p.Pools))
	for i := range p.Pools {
		rows = append(rows, o.poolRow(&p.Pools[i]))
	}
	printTable(o.stdout, head, rows, func(column int, text, padded string) string {
		if o.painted && column == poolsStateColumn {
			return colored(stateColor(text), padded)
		}
		return padded
	})
}

func (o *options) poolRow(p *PoolForClaims) []string {
	claims := strconv.Itoa(p.ClaimCount)
	if p.WaitingCount > 0 {
		claims += fmt.Sprintf(" (%d wait)", p.WaitingCount)
	}
	note := ""
	switch {
	case o.format == formatWide:
		note = p.Message
	case p.External:
		note = "floating IPs"
	}
	return []string{
		survey.Name(p.pool.Ref), cmp.Or(p.Block, "-"), cmp.Or(p.Available, "-"), length(p.LargestFreePrefixLength), sizes(p.pool.Lengths),
		claims, p.State, note,
	}
}

// sizes writes the bounds of what may be asked for.
func sizes(l survey.Lengths) string {
	switch {
	case l.Shortest == 0 && l.Longest == 0:
		return "any"
	case l.Shortest == 0:
		return fmt.Sprintf("to /%d", l.Longest)
	case l.Longest == 0:
		return fmt.Sprintf("from /%d", l.Shortest)
	}
	return fmt.Sprintf("/%d to /%d", l.Shortest, l.Longest)
}
