// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework_test

import (
	"net/netip"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/fsck"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

func (w *world) remove(kind, name string) {
	w.t.Helper()
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("ipam.cluster.x-k8s.io/v1beta2")
	u.SetKind(kind)
	u.SetNamespace("default")
	u.SetName(name)
	if err := w.Delete(w.t.Context(), u); err != nil {
		w.t.Fatal(err)
	}
}

// give makes a claim with record and answer.
func (w *world) give(name, address string) {
	w.t.Helper()
	uid := w.claim(name, "root", "")
	w.record(name, "IPAddressClaim", name, uid, "root", address+"/32")
	w.answer(name, uid, "root", address)
}

func follow(t *testing.T, url string) *framework.History {
	t.Helper()
	history, err := framework.FollowHistory(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(history.Stop)
	return history
}

func now(t *testing.T, history *framework.History) *framework.Moment {
	t.Helper()
	moment, err := history.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return moment
}

// TestHistory plants faults that lists do not show: each is over before anybody
// looks. One part of the past is missed.
func TestHistory(t *testing.T) {
	cp := startControlPlane(t, framework.Options{})
	w := newWorld(t, cp.Config())
	w.pool("root", "cidr: 10.0.0.0/16")
	w.give("before", "10.0.0.7")
	proxy, err := framework.NewConnectionProxy(strings.TrimPrefix(cp.EtcdURL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	history := follow(t, "http://"+proxy.Address())
	w.give("right", "10.0.0.8")
	if moment := now(t, history); len(moment.Findings) != 0 || moment.Account.Holdings != 2 {
		t.Fatalf("findings %q; %s", moment.Findings, moment.Account)
	}

	w.give("short", "10.0.0.7")
	w.remove("IPAddress", "short")
	w.remove("IPAddressClaim", "short")
	held := fsck.Held{Space: "default", CIDR: netip.MustParsePrefix("10.0.0.8/31"), UID: "stranger"}
	if err = history.Hold(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	if err = history.Release(t.Context(), held.UID); err != nil {
		t.Fatal(err)
	}
	moment := now(t, history)
	expectFinding(t, moment.Findings, "default/before", "default/short")
	expectFinding(t, moment.Findings, "default/right", "stranger")
	if len(moment.Findings) != 2 || moment.Account.Gaps != 0 {
		t.Errorf("findings %q; %s", moment.Findings, moment.Account)
	}

	proxy.Down()
	w.give("missed", "10.0.0.7")
	w.remove("IPAddress", "missed")
	w.remove("IPAddressClaim", "missed")
	w.give("stays", "10.0.0.8")
	if err = cp.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	proxy.Up()
	moment = now(t, history)
	expectFinding(t, moment.Findings, "default/right", "default/stays")
	if len(moment.Findings) != 3 || moment.Account.Gaps != 1 {
		t.Errorf("findings %q; %s", moment.Findings, moment.Account)
	}
}

// TestUnion takes two clusters together, which only knows what one has beside
// the other.
func TestUnion(t *testing.T) {
	worlds, histories := make([]*world, 2), make([]*framework.History, 2)
	for i := range worlds {
		cp := startControlPlane(t, framework.Options{})
		worlds[i] = newWorld(t, cp.Config())
		worlds[i].pool("root", "cidr: 10.0.0.0/16")
		worlds[i].give("moving", "10.0.0.7")
		histories[i] = follow(t, cp.EtcdURL())
	}
	union := func() []string {
		t.Helper()
		findings, compared, err := framework.Union(t.Context(), histories[0], histories[1])
		if err != nil || compared < 2 {
			t.Fatalf("compared %d: %v", compared, err)
		}
		return findings
	}
	if findings := union(); len(findings) != 0 {
		t.Errorf("findings %q", findings)
	}
	worlds[0].give("here", "10.0.0.8")
	worlds[1].give("there", "10.0.0.8")
	worlds[0].give("both", "10.0.0.9")
	worlds[1].give("both", "10.0.0.10")
	findings := union()
	expectFinding(t, findings, "default/here", "default/there")
	expectFinding(t, findings, "two prefixes", "default/both")
	if len(findings) != 2 {
		t.Errorf("findings %q", findings)
	}
}
