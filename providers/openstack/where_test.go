// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack/fake"
)

// TestWhereAPoolIs is what its source names, until it is known; then its network is named by id
// alone. It costs one list of networks.
func TestWhereAPoolIs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	public := b.pool.Network
	where := external.Identity{Project: b.member.Project(), Network: public}
	for sentence, test := range map[string]struct {
		known, project string
		by             ipamv1.FloatingNetwork
		reason, words  string
	}{
		"by name":                    {by: ipamv1.FloatingNetwork{Name: openstack.Public}},
		"by id":                      {by: ipamv1.FloatingNetwork{ID: public}},
		"by both":                    {by: ipamv1.FloatingNetwork{ID: public, Name: openstack.Public}},
		"by two that do not match":   {by: ipamv1.FloatingNetwork{ID: public, Name: openstack.Tiny}, reason: ipamv1.PoolReadyNetworkNotFoundReason, words: "no external network of id " + public + ", name " + openstack.Tiny},
		"by tags that none has":      {by: ipamv1.FloatingNetwork{Tags: []string{"blue"}}, reason: ipamv1.PoolReadyNetworkNotFoundReason, words: "tags blue is visible"},
		"by nothing, which many are": {reason: ipamv1.PoolReadyNetworkNotFoundReason, words: "choose one by id"},
		"known":                      {known: public, project: where.Project, by: ipamv1.FloatingNetwork{Name: "renamed since"}},
		"known, and gone":            {known: "0b7c", by: ipamv1.FloatingNetwork{Name: openstack.Public}, reason: ipamv1.PoolReadyNetworkNotFoundReason, words: "no external network of id 0b7c"},
		"of another project":         {known: public, project: "07aa", reason: ipamv1.PoolReadyAuthenticationFailedReason, words: "the pool's floating IPs are in project 07aa"},
	} {
		pool := b.pool
		source := *pool.Source
		source.FloatingNetwork = test.by
		pool.Network, pool.Project, pool.Source = test.known, test.project, &source
		b.Reset()
		got, err := b.Identify(b.ctx(), pool)
		var fault *external.FaultError
		switch {
		case test.reason == "" && (err != nil || got.Project != where.Project || got.Network != where.Network || len(got.Doubts) > 0):
			t.Errorf("%s: %+v, %v", sentence, got, err)
		case test.reason != "" && (!errors.As(err, &fault) || fault.Reason != test.reason || fault.After < retry || !strings.HasPrefix(fault.Message, "spec.openStack: ") || !strings.Contains(fault.Message, test.words)):
			t.Errorf("%s: %v", sentence, err)
		}
		if err != nil {
			b.say(err.Error())
		}
		if calls := len(b.Calls()); calls > 3 { // the first one logs in
			t.Errorf("%s: %d calls", sentence, calls)
		}
	}
}

// TestWhyAPoolCannotBeAsked is told to the pool in the server's words, but for what is secret.
func TestWhyAPoolCannotBeAsked(t *testing.T) {
	t.Parallel()
	refused := func(code int) *fake.Fault {
		body := fmt.Sprintf(`{"NeutronError": {"type": "X", "message": "%s %s", "detail": ""}}`, serverWords, openstack.Password(openstack.Member))
		return &fake.Fault{Call: "ListNetworks", Effect: fake.Refuse, Code: code, Body: body}
	}
	for sentence, test := range map[string]struct {
		clouds        string
		fault         *fake.Fault
		reason, words string
	}{
		"no entry":       {clouds: "clouds: {}", reason: ipamv1.PoolReadyAuthenticationFailedReason, words: "clouds.member: is missing"},
		"wrong password": {clouds: "wrong", reason: ipamv1.PoolReadyAuthenticationFailedReason, words: "LogIn: Unauthorized"},
		"refused URL":    {clouds: "elsewhere", reason: ipamv1.PoolReadyCloudUnavailableReason, words: "--openstack-endpoint-allow"},
		"out of order":   {clouds: "good", fault: refused(http.StatusBadGateway), reason: ipamv1.PoolReadyCloudUnavailableReason, words: serverWords},
		"forbidden":      {clouds: "good", fault: refused(http.StatusForbidden), reason: ipamv1.PoolReadyAuthenticationFailedReason, words: serverWords},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.secrets.set(b.cloudsOf(test.clouds), "", nil)
			if test.fault != nil {
				b.Inject(*test.fault)
			}
			_, err := b.Identify(b.ctx(), b.pool)
			var fault *external.FaultError
			if !errors.As(err, &fault) || fault.Reason != test.reason || !strings.Contains(fault.Message, test.words) {
				t.Errorf("%v", err)
			}
			b.say(err.Error())
			b.secrets.set(b.cloudsOf("good"), "", nil)
			b.clock.Step(shortestClosure)
			if _, err = b.Identify(b.ctx(), b.pool); err != nil {
				t.Errorf("when it is put right: %v", err)
			}
		})
	}
}

// TestABusyCloudSaysNothingOfAPool: it is asked again at once.
func TestABusyCloudSaysNothingOfAPool(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.cloudOf(accountOf(b.pool))
	for c.calls.take() {
	}
	if _, err := b.Identify(b.ctx(), b.pool); !errors.Is(err, ledger.ErrBusy) {
		t.Error(err)
	}
}
