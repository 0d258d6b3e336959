// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/yaml"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/plugin"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

//go:embed tree.yaml
var treeManifests string

// tooMany is a claim for which the pool has no room.
const tooMany = `
apiVersion: ipam.weir.dev/v1alpha1
kind: IPClaim
metadata: {name: one-too-many, namespace: team-red}
spec:
  poolRef: {kind: IPPool, name: vips}
`

// manifest is what the demo has to know of one.
type manifest struct {
	Kind     string
	Metadata struct{ Namespace, Name string }
	Spec     struct {
		CIDR         string
		PrefixLength int
		ParentRef    struct{ Name string }
		PoolRef      struct{ Name string }
	}
}

// growTree has a root divided into regions, clusters, and prefixes for machines, each in one call.
func (p *play) growTree(ctx context.Context) error {
	p.say("A pool may be carved from another one, to any depth. A pool without a block and an IPClaim without a prefix have theirs "+
		"when the call that creates them returns. So each line below is one call, and what it printed: %s", createCommand)
	var rows [][]string
	for text := range strings.SplitSeq(treeManifests, "---\n") {
		row, err := p.createInOneCall(ctx, text)
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	p.table([]string{"KIND", "NAME", "ASKS FOR", "PRINTED", "IN"}, rows)
	answers, err := p.claimAll(ctx, []*ipamv1beta2.IPAddressClaim{claimFor(red, "node-0", ipamv1.IPPoolKind, "nodes")})
	if err != nil {
		return err
	}
	p.say("Cluster API's claims may name such pools as well:")
	p.showAnswers(answers)
	if err := p.awaitCounts(ctx); err != nil {
		return err
	}
	p.say("The tree:")
	if err := p.showTree(ctx); err != nil {
		return err
	}
	return p.refuseInTree(ctx)
}

const createCommand = "kubectl create -f FILE -o jsonpath={.spec.cidr}"

// createInOneCall creates an object and returns what there is to tell.
func (p *play) createInOneCall(ctx context.Context, text string) ([]string, error) {
	var m manifest
	if err := yaml.Unmarshal([]byte(text), &m); err != nil {
		return nil, fmt.Errorf("reading a manifest: %w", err)
	}
	begin := time.Now()
	printed, err := p.kubectl(ctx, text, "create", "-f", "-", "-o", "jsonpath={.spec.cidr}")
	if err != nil {
		return nil, fmt.Errorf("creating %s %s: %w", m.Kind, m.Metadata.Name, err)
	}
	took := round(time.Since(begin)).String()
	cidr, err := netip.ParsePrefix(printed)
	if err != nil || m.Spec.PrefixLength != 0 && cidr.Bits() != m.Spec.PrefixLength {
		return nil, fmt.Errorf("%s %s asked for a /%d, and the call printed %q", m.Kind, m.Metadata.Name, m.Spec.PrefixLength, printed)
	}
	name := strings.TrimPrefix(m.Metadata.Namespace+"/"+m.Metadata.Name, "/")
	return []string{m.Kind, name, m.asks(), printed, took}, nil
}

// asks says what a manifest asks for.
func (m *manifest) asks() string {
	switch {
	case m.Spec.CIDR != "":
		return m.Spec.CIDR
	case m.Spec.PrefixLength != 0:
		return fmt.Sprintf("a /%d of %s", m.Spec.PrefixLength, cmp.Or(m.Spec.ParentRef.Name, m.Spec.PoolRef.Name))
	}
	return "an address of " + m.Spec.PoolRef.Name
}

// kubectl runs it on the demo's cluster, as administrator.
func (p *play) kubectl(ctx context.Context, stdin string, args ...string) (string, error) {
	path, err := framework.Binary("kubectl")
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+p.site.KubeconfigPath())
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", errors.New(cmp.Or(strings.TrimSpace(stderr.String()), err.Error()))
	}
	return stdout.String(), nil
}

// refuseInTree tries what must not be possible.
func (p *play) refuseInTree(ctx context.Context) error {
	for _, try := range []struct {
		what, mention string
		do            func() (string, error)
	}{
		{"a claim for which the pool has no room (507)", "vips", func() (string, error) {
			return p.kubectl(ctx, tooMany, "create", "-f", "-")
		}},
		{"the deletion of a pool that others are carved from", red + "/cluster-a", func() (string, error) {
			return p.kubectl(ctx, "", "delete", "globalippools.ipam.weir.dev", "east")
		}},
	} {
		_, refused := try.do()
		if refused == nil {
			return fmt.Errorf("%s was admitted", try.what)
		}
		p.say("Refused: %s.", try.what)
		if err := p.quoteMention(refused.Error(), try.mention); err != nil {
			return err
		}
	}
	return nil
}

// leaf is a claim of either kind.
type leaf struct {
	kind, name, cidr, ready string
	pool                    ipamv1.PoolReference
}

// leaves returns what has been handed out to claims.
func (p *play) leaves(ctx context.Context) ([]leaf, error) {
	own, claims, addresses := &ipamv1.IPClaimList{}, &ipamv1beta2.IPAddressClaimList{}, &ipamv1beta2.IPAddressList{}
	if err := errors.Join(p.client.List(ctx, own), p.client.List(ctx, claims), p.client.List(ctx, addresses)); err != nil {
		return nil, fmt.Errorf("listing claims: %w", err)
	}
	leaves := make([]leaf, 0, len(own.Items)+len(claims.Items))
	for _, c := range own.Items {
		leaves = append(leaves, leaf{
			"IPClaim", c.Namespace + "/" + c.Name, c.Status.AllocatedCIDR, conditions.GetReason(&c, ipamv1.ReadyCondition), poolOfIPClaim(&c),
		})
	}
	given := map[string]string{}
	for _, a := range addresses.Items {
		given[a.Namespace+"/"+a.Name] = a.Spec.Address
	}
	for _, c := range claims.Items {
		leaves = append(leaves, leaf{
			"IPAddressClaim", c.Namespace + "/" + c.Name, given[c.Namespace+"/"+c.Status.AddressRef.Name],
			conditions.GetReason(&c, ipamv1beta2.IPAddressClaimReadyCondition), referenceOf(&c),
		})
	}
	return slices.DeleteFunc(leaves, func(l leaf) bool { return l.cidr == "" }), nil
}

func poolOfIPClaim(c *ipamv1.IPClaim) ipamv1.PoolReference {
	if c.Spec.PoolRef == nil {
		return ipamv1.PoolReference{}
	}
	ref := ipamv1.PoolReference{Kind: c.Spec.PoolRef.Kind, Name: c.Spec.PoolRef.Name}
	if ref.Kind == ipamv1.IPPoolKind {
		ref.Namespace = c.Namespace
	}
	return ref
}

// parentOf returns the pool that another one is carved from; nothing for a root.
func parentOf(child pool) ipamv1.PoolReference {
	parent := child.PoolSpec().ParentRef
	if parent == nil {
		return ipamv1.PoolReference{}
	}
	ref := ipamv1.PoolReference{Kind: parent.Kind, Name: parent.Name}
	if ref.Kind == ipamv1.IPPoolKind {
		ref.Namespace = cmp.Or(parent.Namespace, child.GetNamespace())
	}
	return ref
}

// showTree prints the pools that are carved from others below these, and the claims below their pools.
func (p *play) showTree(ctx context.Context) error {
	pools, err := p.pools(ctx)
	if err != nil {
		return err
	}
	leaves, err := p.leaves(ctx)
	if err != nil {
		return err
	}
	t := &tree{pools: pools, leaves: leaves}
	var roots []*plugin.Node
	for _, root := range pools {
		if root.PoolSpec().ParentRef == nil && len(t.children(root)) > 0 {
			roots = append(roots, t.node(root))
		}
	}
	p.table([]string{"", "BLOCK", "DELEGATED", "ALLOCATED", "AVAILABLE", "READY"}, plugin.Draw(roots, plugin.Unicode))
	return nil
}

type tree struct {
	pools  []pool
	leaves []leaf
}

// children returns the pools carved from one, by their blocks.
func (t *tree) children(parent pool) []pool {
	children := slices.DeleteFunc(slices.Clone(t.pools), func(c pool) bool { return parentOf(c) != parent.PoolReference() })
	slices.SortFunc(children, func(a, b pool) int { return compareCIDRs(a.PoolSpec().CIDR, b.PoolSpec().CIDR) })
	return children
}

func (t *tree) claims(parent pool) []leaf {
	claims := slices.DeleteFunc(slices.Clone(t.leaves), func(l leaf) bool { return l.pool != parent.PoolReference() })
	slices.SortFunc(claims, func(a, b leaf) int { return compareCIDRs(a.cidr, b.cidr) })
	return claims
}

// compareCIDRs orders by the first address; an address without a length is one, too.
func compareCIDRs(a, b string) int {
	first := func(text string) netip.Addr {
		text, _, _ = strings.Cut(text, "/")
		address, _ := netip.ParseAddr(text)
		return address
	}
	return first(a).Compare(first(b))
}

// node returns the line of a pool, with everything below it.
func (t *tree) node(p pool) *plugin.Node {
	c, name := p.PoolStatus().Capacity, referenceText(p.PoolReference())
	n := &plugin.Node{Cells: []string{
		p.PoolReference().Kind + " " + name, p.PoolSpec().CIDR, c.Delegated, c.Allocated, c.Available,
		conditions.GetReason(p, ipamv1.ReadyCondition),
	}}
	for _, child := range t.children(p) {
		n.Below = append(n.Below, t.node(child))
	}
	for _, l := range t.claims(p) {
		n.Below = append(n.Below, &plugin.Node{Cells: []string{l.kind + " " + l.name, l.cidr, "", "", "", l.ready}})
	}
	return n
}
