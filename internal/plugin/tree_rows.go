// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/survey"
)

// Columns of the table that are painted.
const (
	useColumn   = 2
	stateColumn = 6
)

// node returns the line of a pool, with those below it.
func (o *options) node(t *Tree, p *TreePool) *Node {
	n := &Node{Cells: o.cells(t, p)}
	for _, child := range p.Pools {
		n.Below = append(n.Below, o.node(t, child))
	}
	for _, g := range p.groups {
		n.Below = append(n.Below, &Node{Cells: o.groupCells(&g, p.pool)})
	}
	return n
}

func (o *options) cells(t *Tree, p *TreePool) []string {
	cells := []string{
		survey.Name(p.pool.Ref), cmp.Or(p.pool.Block, "-"), cmp.Or(bar(p.Capacity, o.glyphs()), "-"), percent(p.UtilizationPercent),
		cmp.Or(p.Capacity.Available, "-"), number(p.ClaimCount), p.State,
	}
	if o.format == formatWide {
		cells = append(cells, cmp.Or(p.AddressSpace, "-"), cmp.Or(p.Capacity.Total, "-"), length(p.LargestFreePrefixLength))
		return append(cells, cmp.Or(p.Message, t.note(p)))
	}
	return append(cells, t.note(p))
}

func percent(n *int32) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprintf("%3d%%", *n)
}

func number(n *int32) string {
	if n == nil {
		return "-"
	}
	return strconv.Itoa(int(*n))
}

func length(n *int32) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprintf("/%d", *n)
}

// note is what matters most of what the columns do not show.
func (t *Tree) note(p *TreePool) string {
	switch {
	case p.DelegatedTo != "":
		return "for " + p.DelegatedTo
	case p.Parent != nil && t.isCutOff(p):
		return "carved from " + survey.Name(*p.Parent)
	case p.UtilizationPercent != nil && *p.UtilizationPercent >= nearlyFull && p.State == ipamv1.PoolReadyAvailableReason:
		return "nearly full"
	case p.ClusterName != "":
		return "Cluster " + p.ClusterName
	case p.External:
		return "floating IPs"
	}
	return ""
}

// isCutOff reports whether a pool is shown without its parent.
func (t *Tree) isCutOff(p *TreePool) bool { return slices.Contains(t.Pools, p) }

// paintTree colours bars and states.
func (o *options) paintTree(column int, text, padded string) string {
	if !o.painted {
		return padded
	}
	switch {
	case column == useColumn && !strings.HasPrefix(text, "since "):
		return colored(green, padded)
	case column == stateColumn && text != "":
		return colored(stateColor(text), padded)
	}
	return padded
}

func stateColor(state string) string {
	switch state {
	case ipamv1.PoolReadyAvailableReason, stateText(ipamv1.ActiveState):
		return green
	case ipamv1.PoolReadyDelegatedReason, string(ipamv1.CoolingState), string(ipamv1.RetainedState), string(ipamv1.MovedState):
		return yellow
	}
	return red
}

// where ends a sentence about what was looked at.
func (o *options) where() string {
	namespace, isGiven, err := o.contextNamespace()
	if err != nil || !isGiven || o.allNamespaces {
		return ""
	}
	return " in namespace " + namespace
}

func (o *options) printLegend() {
	g := o.glyphs()
	fmt.Fprintf(o.stdout, "%s held  %s carved for pools  %s cooling, retained, excluded  %s free\n", g.held, g.carved, g.kept, g.free)
}
