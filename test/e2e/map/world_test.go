// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"go4.org/netipx"
	"k8s.io/utils/ptr"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/atlas"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/survey"
)

var taken = time.Date(2026, 11, 27, 18, 2, 11, 0, time.UTC)

// hostile is the name of a claim that no page may take for more than text.
const hostile = `</script><img src=x onerror="document.title='broken'"><script>document.title='broken'</script>`

// world is a site in the making.
type world struct{ atlas.Input }

// pool adds a pool of a block.
func (w *world) pool(parent *survey.Pool, namespace, name, block string) *survey.Pool {
	prefix := netip.MustParsePrefix(block)
	var b netipx.IPSetBuilder
	b.AddPrefix(prefix)
	set, err := b.IPSet()
	if err != nil {
		panic(err)
	}
	p := &survey.Pool{
		Ref: ipamv1.PoolReference{Kind: ipamv1.GlobalIPPoolKind, Name: name}, Space: "default", Addresses: set, Block: block,
		State: ipamv1.PoolReadyAvailableReason,
	}
	if namespace != "" {
		p.Ref.Kind, p.Ref.Namespace = ipamv1.IPPoolKind, namespace
	}
	w.Pools = append(w.Pools, p)
	if parent != nil {
		p.Parent, p.Space = parent.Ref, parent.Space
		r := w.record(parent, prefix, ipamv1.ConfirmedState, name)
		r.Purpose = ipamv1.PoolBlockPurpose
		r.Claim = ipamv1.ClaimReference{APIGroup: ipamv1.GroupVersion.Group, Kind: p.Ref.Kind, Namespace: namespace, Name: name}
	}
	return p
}

// record adds one of a claim.
func (w *world) record(p *survey.Pool, prefix netip.Prefix, state ipamv1.AllocationState, claim string) *survey.Record {
	w.Records = append(w.Records, survey.Record{
		Name: claim, Prefix: prefix, Space: p.Space, Pool: p.Ref, Purpose: ipamv1.ClaimPurpose, State: state, Cluster: "prod-eu",
		Claim: ipamv1.ClaimReference{
			APIGroup: "ipam.cluster.x-k8s.io", Kind: "IPAddressClaim", Namespace: p.Ref.Namespace, Name: claim,
		},
		Created: taken.Add(-4 * 24 * time.Hour),
	})
	return &w.Records[len(w.Records)-1]
}

// fleet is a tree of pools of a fleet with what can be the matter with addresses.
func fleet() atlas.Input {
	w := &world{atlas.Input{
		Revision: "812345", Taken: taken, MachineOf: machineOf, Gaps: []survey.Gap{{Text: "you may not list ipaddressclaims.ipam.cluster.x-k8s.io of namespace infra"}},
	}}
	root := w.pool(nil, "", "fleet", "10.0.0.0/8")
	east := w.pool(root, "", "east", "10.0.0.0/12")
	west := w.pool(root, "", "west", "10.16.0.0/12")
	west.State, west.Member = ipamv1.PoolReadyDelegatedReason, "edge-1"
	prod := w.pool(east, "team-red", "prod-eu", "10.0.0.0/16")
	nodes := w.pool(prod, "team-red", "nodes", "10.0.0.0/24")
	nodes.Percent, nodes.State = ptr.To[int32](96), survey.ExhaustedState
	nodes.Withheld.Gateways = []netip.Addr{netip.MustParseAddr("10.0.0.1")}
	nodes.Withheld.Kept = []survey.Kept{{Prefix: netip.MustParsePrefix("10.0.0.250/32"), For: "team-red/db"}}
	a := netip.MustParseAddr("10.0.0.4")
	for i := range 240 {
		state := ipamv1.ActiveState
		switch {
		case i%40 == 14:
			state = ipamv1.CoolingState
		case i%90 == 36:
			state = ipamv1.RetainedState
		}
		w.record(nodes, netip.PrefixFrom(a, 32), state, fmt.Sprintf("prod-eu-md-0-x7k2p-%d", i))
		a = a.Next()
	}
	w.Records[len(w.Records)-1].Claim.Name = hostile
	vips := w.pool(prod, "team-red", "vips", "10.0.1.0/28")
	for i := range 5 {
		w.record(vips, netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 1, byte(i)}), 32), ipamv1.ActiveState, fmt.Sprintf("vip-%d", i))
	}
	w.record(vips, netip.MustParsePrefix("10.0.1.4/32"), ipamv1.ActiveState, "vip-again") // a conflict
	w.record(prod, netip.MustParsePrefix("10.0.64.0/26"), ipamv1.ActiveState, "pods")
	for i := range 12 {
		w.pool(east, "team-green", fmt.Sprintf("cluster-%02d", i), fmt.Sprintf("10.%d.0.0/20", i+1))
	}
	w.pool(nil, "team-blue", "fleet-v6", "2001:db8::/48")
	lab := w.pool(nil, "team-blue", "lab", "10.0.0.0/24")
	lab.Space = "lab"
	return w.Input
}

// machineOf returns the Machine of all claims that are named after it.
func machineOf(claim ipamv1.ClaimReference) string {
	const machine = "prod-eu-md-0-x7k2p"
	if claim.Name == hostile || strings.HasPrefix(claim.Name, machine) {
		return machine
	}
	return ""
}

// crowd is a pool of which every second address is held.
func crowd(n int) atlas.Input {
	w := &world{atlas.Input{Taken: taken, Revision: "9"}}
	big := w.pool(nil, "team-blue", "big", "172.16.0.0/14")
	a := netip.MustParseAddr("172.16.0.0")
	for i := range n {
		w.record(big, netip.PrefixFrom(a, 32), ipamv1.ActiveState, fmt.Sprintf("many-%d", i))
		a = a.Next().Next()
	}
	return w.Input
}
