// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/survey"
)

// nearlyFull is from how many percent on a pool is said to be nearly full.
const nearlyFull = 90

// Tree is what the command tree prints as JSON and YAML.
type Tree struct {
	Header `json:",inline"`
	// Gaps are what the user may not see.
	Gaps []survey.Gap `json:"gaps"`
	// Pools are the roots, and pools whose parent is not shown.
	Pools []*TreePool `json:"pools"`
}

// TreePool is a pool, with those that are carved from it.
type TreePool struct {
	APIGroup  string `json:"apiGroup"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Parent is the pool that this one is carved from. It may be one that is not shown.
	Parent       *ipamv1.PoolReference `json:"parent,omitempty"`
	AddressSpace string                `json:"addressSpace,omitempty"`
	// Addresses are those of the pool, as CIDRs.
	Addresses               []string        `json:"addresses,omitempty"`
	Capacity                ipamv1.Capacity `json:"capacity,omitzero"`
	UtilizationPercent      *int32          `json:"utilizationPercent,omitempty"`
	LargestFreePrefixLength *int32          `json:"largestFreePrefixLength,omitempty"`
	// ClaimCount is the number of records of claims.
	ClaimCount *int32 `json:"claimCount,omitempty"`
	// State is Exhausted, Deleting, Unreported or the reason of the condition Ready.
	State       string `json:"state"`
	Message     string `json:"message,omitempty"`
	ClusterName string `json:"clusterName,omitempty"`
	DelegatedTo string `json:"delegatedTo,omitempty"`
	// External: a cloud chooses the addresses.
	External bool        `json:"external,omitempty"`
	Pools    []*TreePool `json:"pools,omitempty"`
	// Records are those of claims, and blocks of pools that are not shown, by address. They are there
	// with --claims only.
	Records []WhoRecord `json:"records,omitempty"`

	pool   *survey.Pool
	groups []recordGroup
}

func treeCommand(o *options) *cobra.Command {
	var c claimOptions
	cmd := &cobra.Command{
		Use:   "tree [POOL...]",
		Short: "Show pools below those that they are carved from, and how they are used",
		Long: "Show pools below those that they are carved from, and how they are used.\n" +
			"POOL is NAME, NAMESPACE/NAME or KIND/NAME; pools carved from it are shown as well.\n\n" + exitCodes,
		Example: "  kubectl weir tree\n  kubectl weir tree --claims team-red/nodes",
		RunE: func(cmd *cobra.Command, args []string) error {
			scope, err := o.scope()
			if err != nil {
				return err
			}
			s, err := o.survey(scope)
			if err != nil {
				return err
			}
			pools, isAllowed, err := s.Pools(cmd.Context())
			if err != nil {
				return err
			}
			t := &Tree{Header: header("Tree"), Gaps: s.Gaps().List(), Pools: grow(pools)}
			if t.Pools, err = t.choose(args); err != nil {
				return err
			}
			if err = c.read(cmd.Context(), s, t); err != nil {
				return err
			}
			if err = o.printTree(t); err == nil && !isAllowed {
				err = forbidden("you may list no pools; ask for the right to, or choose a --namespace")
			}
			return err
		},
	}
	c.addFlags(cmd)
	return cmd
}

// texts joins the texts of gaps.
func texts(gaps []survey.Gap) string {
	all := make([]string, 0, len(gaps))
	for _, gap := range gaps {
		all = append(all, gap.Text)
	}
	return strings.Join(all, ", ")
}

// grow puts pools below those that they are carved from.
func grow(pools []*survey.Pool) []*TreePool {
	byRef := map[ipamv1.PoolReference]*TreePool{}
	for _, p := range pools {
		byRef[p.Ref] = treePool(p)
	}
	roots := []*TreePool{}
	for _, p := range pools {
		if above := byRef[p.Parent]; above != nil {
			above.Pools = append(above.Pools, byRef[p.Ref])
			continue
		}
		roots = append(roots, byRef[p.Ref])
	}
	return roots
}

func treePool(p *survey.Pool) *TreePool {
	t := &TreePool{
		APIGroup: p.Ref.GroupKind().Group, Kind: p.Ref.Kind, Namespace: p.Ref.Namespace, Name: p.Ref.Name,
		AddressSpace: p.Space, Capacity: p.Capacity, UtilizationPercent: p.Percent, LargestFreePrefixLength: p.LargestFree,
		ClaimCount: p.Claims, State: p.State, Message: p.Message, ClusterName: p.Cluster, DelegatedTo: p.Member, External: p.External,
		pool: p,
	}
	if p.Parent != (ipamv1.PoolReference{}) {
		t.Parent = &p.Parent
	}
	if p.Addresses != nil {
		for _, prefix := range p.Addresses.Prefixes() {
			t.Addresses = append(t.Addresses, prefix.String())
		}
	}
	return t
}

// choose returns the pools that arguments name; without arguments the roots.
func (t *Tree) choose(args []string) ([]*TreePool, error) {
	if len(args) == 0 {
		return t.Pools, nil
	}
	var chosen []*TreePool
	for _, arg := range args {
		found := slices.Collect(each(t.Pools, func(p *TreePool) bool { return p.isNamed(arg) }))
		switch {
		case len(found) > 0:
			chosen = append(chosen, found...)
		case len(t.Gaps) > 0:
			return nil, forbidden("pool %s is not among those that you may see: %s", arg, texts(t.Gaps))
		default:
			return nil, fmt.Errorf("there is no pool %s; kubectl weir tree shows all", arg)
		}
	}
	return chosen, nil
}

// each returns the pools of trees that match.
func each(pools []*TreePool, matches func(*TreePool) bool) iter.Seq[*TreePool] {
	return func(yield func(*TreePool) bool) {
		for _, p := range pools {
			if matches(p) && !yield(p) {
				return
			}
			for below := range each(p.Pools, matches) {
				if !yield(below) {
					return
				}
			}
		}
	}
}

// isNamed reports whether an argument names the pool: NAME, NAMESPACE/NAME or KIND/NAME.
func (p *TreePool) isNamed(arg string) bool {
	before, name, hasSlash := strings.Cut(arg, "/")
	if !hasSlash {
		return p.Name == arg
	}
	kind := strings.ToLower(p.Kind)
	kinds := []string{"pool", kind, kind + "s", kind + "." + p.APIGroup, kind + "s." + p.APIGroup}
	return p.Name == name && (p.Namespace == before || slices.Contains(kinds, strings.ToLower(before)))
}

func (o *options) printTree(t *Tree) error {
	if isObject(o.format) {
		return printObject(o.stdout, o.format, t)
	}
	printGaps(o.stderr, t.Gaps)
	if o.format == formatName {
		for p := range each(t.Pools, func(*TreePool) bool { return true }) {
			fmt.Fprintf(o.stdout, "%s.%s/%s\n", strings.ToLower(p.Kind), p.APIGroup, p.Name)
		}
		return nil
	}
	if len(t.Pools) == 0 {
		if len(t.Gaps) == 0 {
			fmt.Fprintln(o.stderr, "There are no pools"+o.where()+".")
		}
		return nil
	}
	head := []string{"POOL", "BLOCK", "USE", "USED", "FREE", "CLAIMS", "STATE", ""}
	if o.format == formatWide {
		head = append(head[:len(head)-1], "SPACE", "TOTAL", "LARGEST", "")
	}
	nodes := make([]*Node, 0, len(t.Pools))
	for _, p := range t.Pools {
		nodes = append(nodes, o.node(t, p))
	}
	printTable(o.stdout, head, Draw(nodes, o.glyphs()), o.paintTree)
	o.printLegend()
	return nil
}
